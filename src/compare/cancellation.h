/*
 * cancellation.h - what is left of sums whose result is zero.
 *
 * The gradient of a bias before a batch norm is zero in theory; in fp32 it is a handful of
 * last places of the partial sums, and twice computed it has nothing in common with itself.
 * Such values give themselves away: they are small multiples of steps, the last places of sums
 * that were millions of times larger. Values of a narrow type have few bits as well, but their
 * last bit moves along with their size, and a leftover's does not.
 */
#ifndef PLUMB_COMPARE_CANCELLATION_H
#define PLUMB_COMPARE_CANCELLATION_H

#include "compare/evidence.h"

struct plumb_cancellation {
    double step;    /* that half of the values of one side are multiples of */
    double largest; /* |value| of either side, in steps */
    double worst;   /* |b - a|, in steps */
    double allowed; /* in steps: what sums of up to 65536 terms may be off */
};

bool plumb_cancellation_find(const struct plumb_evidence *evidence,
                             struct plumb_cancellation *found);

#endif
