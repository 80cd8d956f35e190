/*
 * crc32_fold.c - 128 bytes at a time with VPCLMULQDQ, twice as fast as by halves.
 *
 * A message is a polynomial, and only its remainder modulo P matters. What stands D bits before
 * the end of a range may be replaced by itself times x^D mod P: a register of 128 bits is
 * multiplied, its two halves by x^(D+32) and x^(D-32), and added (xor) to the one D bits further
 * on. Bits are reversed, so a product of two 64-bit halves comes out one bit low, which is why
 * the constants are the reversed remainders shifted up by one.
 */
#include "base/crc32_fold.h"

#if defined(__x86_64__)

#include <immintrin.h>

#define WIDE __attribute__((target("avx2,pclmul,vpclmulqdq")))
#define WIDE_INLINE                                                                            \
    static inline __attribute__((target("avx2,pclmul,vpclmulqdq"), always_inline))

/* x^(D+32) and x^(D-32) for the distances of four registers, one register, half a register. */
struct multipliers {
    uint64_t low, high;
};
static const struct multipliers over_1024 = {UINT64_C(0x1e88ef372), UINT64_C(0x14a7fe880)};
static const struct multipliers over_256 = {UINT64_C(0x0f1da05aa), UINT64_C(0x15a546366)};
static const struct multipliers over_128 = {UINT64_C(0x1751997d0), UINT64_C(0x0ccaa009e)};

bool plumb_crc32_can_fold(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("vpclmulqdq");
}

WIDE_INLINE __m256i both_lanes(struct multipliers m)
{
    return _mm256_set_epi64x((int64_t)m.high, (int64_t)m.low, (int64_t)m.high, (int64_t)m.low);
}

WIDE_INLINE __m256i load(const unsigned char *from)
{
    const __m256i *at = (const void *)from;
    return _mm256_loadu_si256(at);
}

WIDE_INLINE __m256i fold(__m256i x, __m256i multiplier, __m256i next)
{
    const __m256i low = _mm256_clmulepi64_epi128(x, multiplier, 0x00);
    const __m256i high = _mm256_clmulepi64_epi128(x, multiplier, 0x11);
    return _mm256_xor_si256(_mm256_xor_si256(low, next), high);
}

WIDE void plumb_crc32_fold(uint32_t state, const void *bytes, size_t size,
                           unsigned char rest[16])
{
    const unsigned char *from = bytes, *end = from + size;
    const __m256i far = both_lanes(over_1024), near = both_lanes(over_256);
    __m256i a = _mm256_xor_si256(load(from), _mm256_set_epi64x(0, 0, 0, state));
    __m256i b = load(from + 32), c = load(from + 64), d = load(from + 96);
    for (from += PLUMB_CRC32_FOLD; from < end; from += PLUMB_CRC32_FOLD) {
        a = fold(a, far, load(from));
        b = fold(b, far, load(from + 32));
        c = fold(c, far, load(from + 64));
        d = fold(d, far, load(from + 96));
    }
    const __m256i whole = fold(fold(fold(a, near, b), near, c), near, d);
    const __m128i first = _mm256_castsi256_si128(whole);
    const __m128i second = _mm256_extracti128_si256(whole, 1);
    const __m128i multiplier = _mm_set_epi64x((int64_t)over_128.high, (int64_t)over_128.low);
    const __m128i low = _mm_clmulepi64_si128(first, multiplier, 0x00);
    const __m128i high = _mm_clmulepi64_si128(first, multiplier, 0x11);
    __m128i *to = (void *)rest;
    _mm_storeu_si128(to, _mm_xor_si128(_mm_xor_si128(low, second), high));
}

#else

bool plumb_crc32_can_fold(void)
{
    return false;
}

void plumb_crc32_fold(uint32_t state, const void *bytes, size_t size, unsigned char rest[16])
{
    (void)state, (void)bytes, (void)size, (void)rest;
}

#endif
