/*
 * random.c - splitmix64 from a key; normal values by Box and Muller.
 */
#include "random.h"

#include <math.h>

static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

struct lab_random lab_random_key(uint64_t seed, uint64_t purpose, uint64_t a, uint64_t b)
{
    return (struct lab_random){mix(mix(mix(mix(seed) ^ purpose) ^ a) ^ b)};
}

uint64_t lab_random_bits(struct lab_random *random)
{
    random->state += 0x9e3779b97f4a7c15u;
    return mix(random->state);
}

double lab_random_uniform(struct lab_random *random)
{
    return (double)(lab_random_bits(random) >> 11) * 0x1p-53;
}

double lab_random_normal(struct lab_random *random)
{
    double radius = sqrt(-2.0 * log(1.0 - lab_random_uniform(random)));
    return radius * cos(2.0 * 3.14159265358979323846 * lab_random_uniform(random));
}

uint64_t lab_random_below(struct lab_random *random, uint64_t limit)
{
    return lab_random_bits(random) % limit;
}

uint64_t lab_random_name(const char *name)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 0x100000001b3u;
    return hash;
}
