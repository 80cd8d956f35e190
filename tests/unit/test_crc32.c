/* test_crc32.c - zlib's checksum and the joining of two. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/crc32.h"

static const struct {
    const char *text;
    uint32_t crc;
} known[] = {
    {"", 0},
    {"a", 0xe8b7be43},
    {"123456789", 0xcbf43926},
    {"The quick brown fox jumps over the lazy dog", 0x414fa339},
};

static void known_values(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        assert_int_equal(plumb_crc32(0, known[i].text, strlen(known[i].text)), known[i].crc);
}

static void fill(unsigned char *bytes, size_t size)
{
    uint32_t random = 1;
    for (size_t i = 0; i < size; i++) {
        random = random * 1664525 + 1013904223;
        bytes[i] = (unsigned char)(random >> 24);
    }
}

/* One bit after the other, as the definition says. */
static uint32_t crc_by_bits(uint32_t crc, const unsigned char *bytes, size_t size)
{
    uint32_t state = ~crc;
    for (size_t i = 0; i < size; i++) {
        state ^= bytes[i];
        for (int bit = 0; bit < 8; bit++)
            state = state >> 1 ^ (state & 1 ? 0xedb88320 : 0);
    }
    return ~state;
}

static void every_length_and_alignment_as_by_bits(void **state)
{
    (void)state;
    unsigned char bytes[1200];
    fill(bytes, sizeof bytes);
    for (size_t size = 0; size <= 1100; size++) {
        const unsigned char *from = bytes + size % 37;
        assert_int_equal(plumb_crc32(0, from, size), crc_by_bits(0, from, size));
        assert_int_equal(plumb_crc32(0x89abcdef, from, size),
                         crc_by_bits(0x89abcdef, from, size));
    }
}

static void continued_and_combined_agree_with_whole(void **state)
{
    (void)state;
    unsigned char bytes[5000];
    fill(bytes, sizeof bytes);
    const uint32_t whole = plumb_crc32(0, bytes, sizeof bytes);
    for (size_t cut = 0; cut <= sizeof bytes; cut += 239) {
        const uint32_t a = plumb_crc32(0, bytes, cut);
        const uint32_t b = plumb_crc32(0, bytes + cut, sizeof bytes - cut);
        assert_int_equal(plumb_crc32(a, bytes + cut, sizeof bytes - cut), whole);
        assert_int_equal(plumb_crc32_combine(a, b, sizeof bytes - cut), whole);
    }
}

/* Zeros appended in five steps of 1 GiB are zeros appended at once. */
static void combines_over_lengths_beyond_32_bits(void **state)
{
    (void)state;
    uint32_t crc = 0xdeadbeef;
    for (int i = 0; i < 5; i++)
        crc = plumb_crc32_combine(crc, 0, UINT64_C(1) << 30);
    assert_int_equal(plumb_crc32_combine(0xdeadbeef, 0x12345678, UINT64_C(5) << 30),
                     crc ^ 0x12345678);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_values),
        cmocka_unit_test(every_length_and_alignment_as_by_bits),
        cmocka_unit_test(continued_and_combined_agree_with_whole),
        cmocka_unit_test(combines_over_lengths_beyond_32_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
