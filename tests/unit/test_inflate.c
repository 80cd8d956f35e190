/* test_inflate.c - deflated data, whole and piece by piece, sound and damaged. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/inflate.h"

/* "plumb" twenty times. */
static const unsigned char packed[] = {0x2b, 0xc8, 0x29, 0xcd, 0x4d,
                                       0x2a, 0xa0, 0x2d, 0x01, 0x00};
enum { CONTENT = 100 };

static enum plumb_status inflate_pieces(const unsigned char *bytes, size_t size, size_t piece,
                                        unsigned char *memory, size_t memory_size,
                                        struct plumb_error *err)
{
    struct plumb_inflater *inflater = NULL;
    enum plumb_status status =
        plumb_inflater_new(memory, memory_size, "member", &inflater, err);
    for (size_t at = 0; status == PLUMB_OK && at < size; at += piece)
        status = plumb_inflater_feed(inflater, bytes + at,
                                     size - at < piece ? size - at : piece, err);
    if (status == PLUMB_OK)
        status = plumb_inflater_finish(inflater, err);
    plumb_inflater_free(inflater);
    return status;
}

static void content_is_the_same_for_every_piece_size(void **state)
{
    (void)state;
    for (size_t piece = 1; piece <= sizeof packed; piece++) {
        unsigned char memory[CONTENT];
        struct plumb_error err;
        assert_int_equal(
            inflate_pieces(packed, sizeof packed, piece, memory, sizeof memory, &err),
            PLUMB_OK);
        for (size_t i = 0; i < sizeof memory; i++)
            assert_int_equal(memory[i], "plumb"[i % 5]);
    }
}

static void wrong_sizes_are_damage(void **state)
{
    (void)state;
    unsigned char memory[CONTENT + 1];
    struct plumb_error err;
    for (size_t piece = 1; piece <= sizeof packed; piece += 3) {
        for (size_t size = 0; size < sizeof packed; size++)
            assert_int_equal(inflate_pieces(packed, size, piece, memory, CONTENT, &err),
                             PLUMB_DAMAGED);
        assert_int_equal(
            inflate_pieces(packed, sizeof packed, piece, memory, CONTENT - 1, &err),
            PLUMB_DAMAGED);
        assert_non_null(strstr(err.message, "more than the 99 bytes"));
        assert_int_equal(
            inflate_pieces(packed, sizeof packed, piece, memory, CONTENT + 1, &err),
            PLUMB_DAMAGED);
        assert_non_null(strstr(err.message, "ends after 100 of 101 bytes"));
    }
}

static void bytes_after_the_end_are_damage(void **state)
{
    (void)state;
    unsigned char longer[sizeof packed + 20] = {0};
    memcpy(longer, packed, sizeof packed);
    unsigned char memory[CONTENT];
    for (size_t more = 1; more <= 20; more++) {
        for (size_t piece = 1; piece <= sizeof longer; piece += 4) {
            struct plumb_error err;
            assert_int_equal(inflate_pieces(longer, sizeof packed + more, piece, memory,
                                            sizeof memory, &err),
                             PLUMB_DAMAGED);
            assert_non_null(strstr(err.message, "follow the end"));
        }
    }
}

static void noise_is_damage(void **state)
{
    (void)state;
    const unsigned char noise[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    unsigned char memory[CONTENT];
    struct plumb_error err;
    assert_int_equal(
        inflate_pieces(noise, sizeof noise, sizeof noise, memory, sizeof memory, &err),
        PLUMB_DAMAGED);
}

static void empty_content(void **state)
{
    (void)state;
    const unsigned char nothing[] = {0x03, 0x00};
    unsigned char memory[1];
    struct plumb_error err;
    assert_int_equal(inflate_pieces(nothing, sizeof nothing, 1, memory, 0, &err), PLUMB_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(content_is_the_same_for_every_piece_size),
        cmocka_unit_test(wrong_sizes_are_damage),
        cmocka_unit_test(bytes_after_the_end_are_damage),
        cmocka_unit_test(noise_is_damage),
        cmocka_unit_test(empty_content),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
