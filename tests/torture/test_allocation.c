/*
 * test_allocation.c - every allocation fails once.
 *
 * For each sample: open, summarize, compare with itself and convert, while the n-th allocation
 * and all after it fail, for n = 1, 2, ... until none had to. Every time the answer is
 * PLUMB_NO_MEMORY (or success, where one could do without); leaks and crashes are found by the
 * sanitizers.
 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/memory.h"
#include "plumb.h"
#include "property/samples.h"

/* Above it every step is larger by one per cent: the interesting ones are the early ones. */
enum { ALL_UP_TO = 400 };

static bool discard(void *context, const char *bytes, size_t size)
{
    (void)context;
    (void)bytes;
    (void)size;
    return true;
}

static enum plumb_status report(struct plumb_file *file, const struct plumb_diff *diff,
                                struct plumb_error *err)
{
    const struct plumb_sink sink = {discard, NULL};
    const struct plumb_show_options show = {.stats = true, .json = true, .scan.threads = 1};
    const struct plumb_diff_report_options options = {.form = PLUMB_REPORT_JSON};
    const enum plumb_status status = plumb_report_file(file, &show, &sink, err);
    return status ? status : plumb_report_diff(diff, &options, &sink, err);
}

static enum plumb_status work(const char *path, struct plumb_error *err)
{
    struct plumb_file *a = NULL, *b = NULL;
    struct plumb_diff *diff = NULL;
    const struct plumb_diff_options options = {.compare.scan.threads = 1};
    const struct plumb_convert_options convert = {.framework = "mindspore"};
    const char *out = "build/tmp/torture.npz";
    struct plumb_convert_result result;
    enum plumb_status status = plumb_file_open(path, NULL, &a, err);
    if (!status)
        status = plumb_file_open(path, NULL, &b, err);
    if (!status)
        status = plumb_diff_new(a, b, &options, &diff, err);
    if (!status)
        status = report(a, diff, err);
    if (!status)
        status = plumb_convert(a, out, &convert, &result, err);
    plumb_diff_free(diff);
    plumb_file_close(b);
    plumb_file_close(a);
    (void)unlink(out);
    return status;
}

static void torture(const char *path)
{
    struct plumb_error err = {0};
    const enum plumb_status unhurt = work(path, &err);
    for (size_t n = 1;; n += n < ALL_UP_TO ? 1 : n / 100) {
        err = (struct plumb_error){0};
        plumb_memory_fail_at(n);
        const enum plumb_status status = work(path, &err);
        const size_t asked = plumb_memory_fail_at(0);
        if (asked < n) {
            assert_int_equal(status, unhurt);
            return;
        }
        if (status != PLUMB_OK && status != PLUMB_NO_MEMORY)
            fail_msg("%s, allocation %zu: %s: %s", path, n, plumb_status_name(status),
                     err.message);
        if (status != err.status)
            fail_msg("%s, allocation %zu: no report", path, n);
    }
}

static void every_sample(void **state)
{
    struct samples *samples = calloc(1, sizeof *samples);
    assert_non_null(samples);
    samples_add(samples, *state);
    assert_true(samples->count > 0);
    for (size_t i = 0; i < samples->count; i++)
        torture(samples->paths[i]);
    free(samples);
}

static void directories(void **state)
{
    (void)state;
    torture("tests/interop/dcp/single");
    torture("tests/interop/sharded");
    torture("tests/interop/npy");
}

#define FOLDER(path)                                                                           \
    {                                                                                          \
        path, every_sample, NULL, NULL, (void *)(uintptr_t)path                                \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        FOLDER("tests/interop/npy"),         FOLDER("tests/interop/npz"),
        FOLDER("tests/interop/torch"),       FOLDER("tests/interop/ckpt"),
        FOLDER("tests/interop/safetensors"), FOLDER("tests/interop/sharded"),
        FOLDER("tests/interop/onnx"),        FOLDER("build/fixtures/small"),
        cmocka_unit_test(directories),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
