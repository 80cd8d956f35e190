/*
 * test_damage.c - every sample file cut at every byte and with every byte changed.
 *
 * One test a folder of tests/interop (files that the real libraries wrote) and one for the
 * files of our own writers in build/fixtures. What must hold is in exercise.h.
 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "property/exercise.h"
#include "property/samples.h"

/* Below this size every byte is changed in each way, above it every byte in one way. */
enum { SMALL = 1024 };

static void try_bytes(const char *path, const char *what, size_t at, const unsigned char *bytes,
                      size_t size)
{
    const char *complaint = exercise(path, bytes, size, NULL);
    if (complaint)
        fail_msg("%s, %s at byte %zu: %s", path, what, at, complaint);
}

static void cut_everywhere(const char *path, const unsigned char *bytes, size_t size)
{
    for (size_t cut = 0; cut < size; cut++) {
        unsigned char *part = malloc(cut ? cut : 1);
        assert_non_null(part);
        memcpy(part, bytes, cut);
        try_bytes(path, "cut", cut, part, cut);
        free(part);
    }
}

static void change_everywhere(const char *path, unsigned char *bytes, size_t size)
{
    static const unsigned char masks[] = {0xff, 0x01, 0x80, 0x20};
    for (size_t at = 0; at < size; at++) {
        const size_t ways = size <= SMALL ? sizeof masks : 1;
        for (size_t k = 0; k < ways; k++) {
            const unsigned char mask = masks[(k + at) % sizeof masks];
            bytes[at] ^= mask;
            try_bytes(path, "changed", at, bytes, size);
            bytes[at] ^= mask;
        }
    }
}

/* Some samples are parts that say nothing alone. */
static bool is_whole(const char *path)
{
    static const char *const parts[] = {".data", ".metadata", ".distcp", ".index.json"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strstr(path, parts[i]))
            return false;
    return true;
}

static void damage_folder(void **state)
{
    const char *folder = *state;
    struct samples *samples = calloc(1, sizeof *samples);
    assert_non_null(samples);
    samples_add(samples, folder);
    assert_true(samples->count > 0);
    for (size_t i = 0; i < samples->count; i++) {
        const char *path = samples->paths[i];
        size_t size = 0;
        unsigned char *bytes = exercise_load(path, &size);
        assert_non_null(bytes);
        bool opened = false;
        const char *complaint = exercise(path, bytes, size, &opened);
        if (complaint || opened != is_whole(path))
            fail_msg("%s, unchanged: %s", path,
                     complaint ? complaint : "opened, or not, against expectation");
        cut_everywhere(path, bytes, size);
        change_everywhere(path, bytes, size);
        free(bytes);
    }
    free(samples);
}

#define FOLDER(path)                                                                           \
    {                                                                                          \
        path, damage_folder, NULL, NULL, (void *)(uintptr_t)path                               \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        FOLDER("tests/interop/npy"),     FOLDER("tests/interop/npz"),
        FOLDER("tests/interop/torch"),   FOLDER("tests/interop/dcp"),
        FOLDER("tests/interop/ckpt"),    FOLDER("tests/interop/safetensors"),
        FOLDER("tests/interop/sharded"), FOLDER("tests/interop/onnx"),
        FOLDER("build/fixtures/small"),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
