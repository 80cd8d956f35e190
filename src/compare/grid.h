/*
 * grid.h - the values a floating-point type can hold, seen as a grid on the real line.
 *
 * A tensor stored as f32 may hold values of a narrower type: the grid of the values, not the
 * dtype of the file, decides what its rounding errors look like.
 */
#ifndef PLUMB_COMPARE_GRID_H
#define PLUMB_COMPARE_GRID_H

#include "plumb.h"

struct plumb_grid {
    const char *name;
    int bits;         /* of precision, with the hidden one */
    int min_exponent; /* of the smallest normal value */
    double largest;
    bool tapered; /* hif8: loses bits away from 1 */
};

/* NULL unless `dtype` is a real floating-point type. */
const struct plumb_grid *plumb_grid_of(enum plumb_dtype dtype);
/* The coarsest of bf16, f16, tf32 and f32 that holds all values and is coarser than `own`, else
 * `own`. Zeros and non-finite values fit any grid; values that are all integers, or too few
 * or too alike to tell, give `own`. */
const struct plumb_grid *plumb_grid_find(const struct plumb_grid *own, const double *values,
                                         size_t count);

/* The distance from |x| to its neighbour further out. */
double plumb_grid_step(const struct plumb_grid *grid, double x);
double plumb_grid_round(const struct plumb_grid *grid, double x, enum plumb_round round);
/* Whether the last bit of x, which is on the grid, is set. */
bool plumb_grid_is_odd(const struct plumb_grid *grid, double x);

#endif
