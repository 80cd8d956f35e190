/*
 * test_hostile_pickles.c - pickles that would run something, grow without end or lie about sizes.
 *
 * Each is tried as the data.pkl of a PyTorch archive and bare. Nothing may be executed, and
 * every one must come to an end: refused, or opened with what is not a tensor listed.
 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>
#include <cmocka.h>

#include "property/craft.h"
#include "property/exercise.h"

enum { SECONDS_ALLOWED = 20 };
#define MARKER "build/tmp/executed"

static void try_file(const char *name, struct craft *craft)
{
    unsigned char *exact = malloc(craft->size);
    assert_non_null(exact);
    memcpy(exact, craft->bytes, craft->size);
    alarm(SECONDS_ALLOWED);
    const char *complaint = exercise(name, exact, craft->size, NULL);
    alarm(0);
    if (complaint)
        fail_msg("%s: %s", name, complaint);
    assert_int_not_equal(access(MARKER, F_OK), 0);
    free(exact);
    craft_free(craft);
}

/* As an archive and bare; frees `pickle`. */
static void try_pickle(const char *name, struct craft *pickle)
{
    struct craft copy = {0}, version = {0}, storage = {0};
    craft_add(&copy, pickle->bytes, pickle->size);
    craft_text(&version, "3\n");
    for (int i = 0; i < 64; i++)
        craft_number(&storage, 0, 1);
    struct craft_member members[] = {
        {.name = "archive/data.pkl", .content = *pickle},
        {.name = "archive/data/0", .content = storage},
        {.name = "archive/version", .content = version},
    };
    *pickle = (struct craft){0};
    struct craft zip = craft_zip(members, 3);
    try_file(name, &zip);
    try_file(name, &copy);
}

static void try_text(const char *name, const char *bytes, size_t size)
{
    struct craft pickle = {0};
    craft_add(&pickle, bytes, size);
    try_pickle(name, &pickle);
}
#define TRY(name, bytes) try_text(name, bytes, sizeof(bytes) - 1)

static void commands_are_not_run(void **state)
{
    (void)state;
    (void)unlink(MARKER);
    TRY("reduce.pt", "\x80\x02"
                     "cos\nsystem\nX\x18\x00\x00\x00touch build/tmp/executed\x85R.");
    TRY("stack_global.pt", "\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\x18"
                           "touch build/tmp/executed\x85R.");
    TRY("inst.pt", "(S'touch build/tmp/executed'\nios\nsystem\n.");
    TRY("obj.pt", "\x80\x02(cos\nsystem\nX\x18\x00\x00\x00touch build/tmp/executedo.");
    TRY("newobj.pt", "\x80\x02"
                     "csubprocess\nPopen\nX\x18\x00\x00\x00touch build/tmp/executed\x85\x81.");
    TRY("build.pt", "\x80\x02"
                    "cbuiltins\neval\n(X\x05\x00\x00\x00"
                    "1+1+1tR}b.");
}

static void broken_opcodes(void **state)
{
    (void)state;
    TRY("underflow.pt", "\x80\x02R.");
    TRY("no_mark.pt", "\x80\x02t.");
    TRY("unset_memo.pt", "\x80\x02h\x05.");
    TRY("big_memo.pt", "\x80\x02]r\xff\xff\xff\xff.");
    TRY("long4.pt", "\x80\x02\x8b\xff\xff\xff\x7f.");
    TRY("negative_long4.pt", "\x80\x02\x8b\xff\xff\xff\xff.");
    TRY("unicode8.pt", "\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\x7f.");
    TRY("bytes8.pt", "\x80\x04\x8e\xf0\xff\xff\xff\xff\xff\xff\xff.");
    TRY("frame.pt", "\x80\x04\x95\xff\xff\xff\xff\xff\xff\xff\xff.");
    TRY("protocol.pt", "\x80\xff.");
    TRY("no_stop.pt", "\x80\x02}");
    TRY("empty.pt", "\x80\x02.");
    TRY("unhashable.pt", "\x80\x02}]K\x01s.");
    TRY("extension.pt", "\x80\x02\x82\x01.");
    TRY("text_long.pt", "\x80\x02L99999999999999999999999999999L\n.");
}

static void nesting_and_laughs(void **state)
{
    (void)state;
    struct craft pickle = {0};
    craft_text(&pickle, "\x80\x02");
    craft_repeat(&pickle, "]", 300000); /* lists on the stack ... */
    craft_repeat(&pickle, "a", 299999); /* ... each put into the one before */
    craft_text(&pickle, ".");
    try_pickle("deep.pt", &pickle);

    craft_text(&pickle, "\x80\x02");
    craft_repeat(&pickle, "(", 500000);
    craft_text(&pickle, ".");
    try_pickle("marks.pt", &pickle);

    /* x = [x', x'] fifty times: 2^50 leaves in 400 bytes. */
    craft_text(&pickle, "\x80\x02]K\x01"
                        "a");
    for (int i = 0; i < 50; i++)
        craft_text(&pickle, "2\x86");
    craft_text(&pickle, ".");
    try_pickle("laughs.pt", &pickle);

    TRY("cycle.pt", "\x80\x02]q\x01h\x01"
                    "a.");
    TRY("dict_cycle.pt", "\x80\x02}q\x01X\x01\x00\x00\x00kh\x01s.");
}

/* {"w": tensor(storage of `elements` floats, offset, size, stride)} in a PyTorch archive. */
static void try_tensor(const char *name, const char *elements, const char *offset,
                       const char *size, const char *stride)
{
    struct craft pickle = {0};
    craft_text(&pickle, "\x80\x02}X\x01");
    craft_number(&pickle, 0, 3);
    craft_text(&pickle, "wctorch._utils\n_rebuild_tensor_v2\n((X\x07");
    craft_number(&pickle, 0, 3);
    craft_text(&pickle, "storagectorch\nFloatStorage\nX\x01");
    craft_number(&pickle, 0, 3);
    craft_text(&pickle, "0X\x03");
    craft_number(&pickle, 0, 3);
    craft_text(&pickle, "cpu");
    craft_text(&pickle, elements);
    craft_text(&pickle, "tQ");
    craft_text(&pickle, offset);
    craft_text(&pickle, size);
    craft_text(&pickle, stride);
    craft_text(&pickle, "\x89}tRs.");
    try_pickle(name, &pickle);
}

static void tensors_that_cannot_be(void **state)
{
    (void)state;
    const char *sixteen = "L16L\n", *zero = "L0L\n";
    try_tensor("sound.pt", sixteen, zero, "(L4L\nL4L\nt", "(L4L\nL1L\nt");
    try_tensor("offset.pt", sixteen, "L13L\n", "(L4L\nt", "(L1L\nt");
    try_tensor("far.pt", sixteen, "L4611686018427387904L\n", "(L4L\nt", "(L1L\nt");
    try_tensor("minus.pt", sixteen, "L-4L\n", "(L4L\nt", "(L1L\nt");
    try_tensor("size.pt", sixteen, zero, "(L4611686018427387904L\nL4L\nt", "(L4L\nL1L\nt");
    try_tensor("negative.pt", sixteen, zero, "(L-4L\nt", "(L1L\nt");
    try_tensor("stride.pt", sixteen, zero, "(L4L\nt", "(L9223372036854775807L\nt");
    try_tensor("stride_sum.pt", sixteen, zero, "(L2L\nL2L\nt",
               "(L9223372036854775807L\nL9223372036854775807L\nt");
    try_tensor("broadcast.pt", sixteen, zero, "(L1099511627776L\nt", "(L0L\nt");
    try_tensor("ranks.pt", sixteen, zero, "(L4L\nt", "(L1L\nL1L\nt");
    try_tensor("storage.pt", "L4611686018427387904L\n", zero, "(L4L\nt", "(L1L\nt");
    try_tensor("short.pt", "L17L\n", zero, "(L17L\nt", "(L1L\nt");
    try_tensor("not_numbers.pt", sixteen, zero, "N", "}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commands_are_not_run),
        cmocka_unit_test(broken_opcodes),
        cmocka_unit_test(nesting_and_laughs),
        cmocka_unit_test(tensors_that_cannot_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
