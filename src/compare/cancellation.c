/* cancellation.c - recognises noise left by sums that cancelled. */
#include "compare/cancellation.h"

#include <math.h>
#include <string.h>

enum { LEAST_VALUES = 8, LEAST_FOR_SLOPE = 16, EXPONENTS = 2200 };
/* Values of more steps than this have digits of their own. */
static const double MOST_STEPS = 640;
/* The step of sums of size up to 256. Larger ones are rather numbers that are coarse by
 * nature: counts, halves, quantised values. */
static const double LARGEST_STEP = 0x1p-15;
/* Six deviations of 0.43 sqrt(65536) steps. */
static const double ALLOWED_STEPS = 6 * 0.43 * 256;
/* Of the last bit's place over the value's exponent: 1 on the grid of a type. */
static const double STEEPEST = 0.7;

/* The exponents of a value and of its last bit that is set. */
static void places_of(double x, int *exponent, int *last)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    const uint64_t significand = (bits & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1) << 52;
    *exponent = (int)(bits >> 52 & 0x7ff) - 1023;
    *last = *exponent - 52 + __builtin_ctzll(significand);
}

/* Sums for a line through (exponent, last bit), and how often each last bit occurs. */
struct last_bits {
    size_t count;
    double x, y, xx, xy;
    uint32_t places[EXPONENTS]; /* from 2^-1100 on */
};

static void count_last_bits(const double *values, size_t count, struct last_bits *n)
{
    *n = (struct last_bits){.count = 0};
    for (size_t i = 0; i < count; i++) {
        int exponent, last;
        if (values[i] == 0 || !isnormal(values[i]))
            continue;
        places_of(values[i], &exponent, &last);
        n->count++;
        n->x += exponent;
        n->y += last;
        n->xx += (double)exponent * exponent;
        n->xy += (double)exponent * last;
        n->places[last + 1100]++;
    }
}

/* The median of the last bits; 0 if the values are too few or rather of a narrow type. */
static double typical_step(const double *values, size_t count)
{
    struct last_bits n;
    count_last_bits(values, count, &n);
    if (n.count < LEAST_VALUES)
        return 0;
    const double m = (double)n.count;
    const double spread = n.xx - n.x * n.x / m;
    if (n.count >= LEAST_FOR_SLOPE && n.xy - n.x * n.y / m > STEEPEST * spread)
        return 0;
    size_t below = 0;
    int place = 0;
    while (place < EXPONENTS - 1 && 2 * (below + n.places[place]) < n.count)
        below += n.places[place++];
    return ldexp(1, place - 1100);
}

static double largest_magnitude(const double *values, size_t count)
{
    double largest = 0;
    for (size_t i = 0; i < count; i++)
        if (isfinite(values[i]))
            largest = fmax(largest, fabs(values[i]));
    return largest;
}

static bool is_leftover(const struct plumb_evidence *e, double step,
                        struct plumb_cancellation *found)
{
    const struct plumb_sample *s = &e->sample;
    if (!(step > 0) || step > LARGEST_STEP)
        return false;
    *found = (struct plumb_cancellation){.step = step, .allowed = ALLOWED_STEPS};
    found->largest =
        fmax(largest_magnitude(s->a, s->count), largest_magnitude(s->b, s->count)) / step;
    found->worst = e->comparison->max_abs / step;
    return found->largest <= MOST_STEPS && found->worst <= ALLOWED_STEPS;
}

bool plumb_cancellation_find(const struct plumb_evidence *e, struct plumb_cancellation *found)
{
    const struct plumb_sample *s = &e->sample;
    const struct plumb_grid *own = plumb_grid_of(e->a->dtype);
    /* A trained weight is no sum; 16-bit results do not show the steps of their sums. */
    if (!e->grid || e->a->weight || own->bits < 24 || e->b->dtype != e->a->dtype)
        return false;
    return is_leftover(e, typical_step(s->a, s->count), found) ||
           is_leftover(e, typical_step(s->b, s->count), found);
}
