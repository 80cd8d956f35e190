/* fingerprint.c - see fingerprint.h for what is computed. */
#include "fingerprint.h"

#include "kernel.h"

#include <pthread.h>
#include <string.h>

static const uint64_t seed = UINT64_C(0x706c756d62);
static const uint64_t power = UINT64_C(0xd1342543de82ef95); /* P: 5 modulo 8 */
static const uint64_t mix_count = UINT64_C(0x9e3779b97f4a7c15);
static const uint64_t mix_last = UINT64_C(0xff51afd7ed558ccd);

static struct plumb_print_keys keys;
static pthread_once_t filled = PTHREAD_ONCE_INIT;

static void fill_keys(void)
{
    uint64_t state = seed;
    for (size_t i = 0; i < PLUMB_FINGERPRINT_WORDS; i++) {
        state += UINT64_C(0x9e3779b97f4a7c15);
        uint64_t z = state;
        z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
        keys.word[i] = (uint32_t)((z ^ (z >> 31)) >> 32);
    }
}

static uint64_t power_of(uint64_t exponent)
{
    uint64_t result = 1;
    for (uint64_t base = power; exponent; exponent >>= 1, base *= base)
        if (exponent & 1)
            result *= base;
    return result;
}

struct plumb_fingerprint_state plumb_fingerprint_begin(uint64_t position)
{
    pthread_once(&filled, fill_keys);
    return (struct plumb_fingerprint_state){0, power_of(position / PLUMB_FINGERPRINT_BLOCK)};
}

const struct plumb_print_keys *
plumb_fingerprint_keys(const struct plumb_fingerprint_state *state)
{
    (void)state; /* whoever has one began with plumb_fingerprint_begin(), which fills them */
    return &keys;
}

void plumb_fingerprint_join(struct plumb_fingerprint_state *state, uint64_t block)
{
    state->sum += block * state->factor;
    state->factor *= power;
}

void plumb_fingerprint_add(struct plumb_fingerprint_state *state, const void *bytes,
                           size_t size)
{
    const struct plumb_kernel *kernel = plumb_kernel();
    const unsigned char *from = bytes;
    for (; size >= PLUMB_FINGERPRINT_BLOCK; size -= PLUMB_FINGERPRINT_BLOCK) {
        plumb_fingerprint_join(state,
                               kernel->fingerprint(from, PLUMB_FINGERPRINT_WORDS, &keys, 0));
        from += PLUMB_FINGERPRINT_BLOCK;
    }
    if (size) {
        const size_t pairs = size / 8, rest = size % 8;
        unsigned char last[8] = {0};
        memcpy(last, from + 8 * pairs, rest);
        plumb_fingerprint_join(state,
                               kernel->fingerprint(from, 2 * pairs, &keys, 0) +
                                   kernel->fingerprint(last, rest ? 2 : 0, &keys, 2 * pairs));
    }
}

uint64_t plumb_fingerprint_part(uint64_t position, const void *bytes, size_t size)
{
    struct plumb_fingerprint_state state = plumb_fingerprint_begin(position);
    plumb_fingerprint_add(&state, bytes, size);
    return state.sum;
}

uint64_t plumb_fingerprint_finish(uint64_t parts, uint64_t byte_count)
{
    uint64_t h = parts ^ (byte_count * mix_count);
    h ^= h >> 32;
    h *= mix_last;
    return h ^ (h >> 29);
}
