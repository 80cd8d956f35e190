/*
 * random.h - random numbers that depend on what they are for, not on when they are drawn.
 *
 * Every stream starts from a key made of the seed and the place it is used at (parameter name,
 * step, sample), so results do not depend on threads, ranks or the order of calls.
 */
#ifndef LAB_RANDOM_H
#define LAB_RANDOM_H

#include <stdint.h>

struct lab_random {
    uint64_t state;
};

struct lab_random lab_random_key(uint64_t seed, uint64_t purpose, uint64_t a, uint64_t b);
uint64_t lab_random_bits(struct lab_random *random);
double lab_random_uniform(struct lab_random *random); /* [0, 1) */
double lab_random_normal(struct lab_random *random);
uint64_t lab_random_below(struct lab_random *random, uint64_t limit);
uint64_t lab_random_name(const char *name); /* a purpose from a name */

#endif
