/* dtype.h - questions about element types beyond those in plumb.h. */
#ifndef PLUMB_MODEL_DTYPE_H
#define PLUMB_MODEL_DTYPE_H

#include "plumb.h"

bool plumb_dtype_is_integer(enum plumb_dtype dtype); /* i8 ... u64; bool is not */
bool plumb_dtype_is_signed(enum plumb_dtype dtype);  /* of an integer type */
/* The type of one part: f32 for c64, f64 for c128, else the type itself. */
enum plumb_dtype plumb_dtype_part(enum plumb_dtype dtype);
/* Values an element counts as in statistics and comparisons: 2 if complex, else 1. */
int plumb_dtype_parts(enum plumb_dtype dtype);

/* Of floating-point types and the parts of complex ones; otherwise 0. */
int plumb_dtype_precision(enum plumb_dtype dtype);        /* significand bits, hidden one too */
double plumb_dtype_unit_roundoff(enum plumb_dtype dtype); /* 2^-precision */
double plumb_dtype_max(enum plumb_dtype dtype);           /* largest finite; integers too */
double plumb_dtype_min_normal(enum plumb_dtype dtype);

/* Of two types the one with fewer significand bits; `a` if neither is coarser. */
enum plumb_dtype plumb_dtype_coarser(enum plumb_dtype a, enum plumb_dtype b);

/* An integer of any type, or a bool. */
struct plumb_integer {
    uint64_t magnitude;
    bool negative;
};
struct plumb_integer plumb_integer_load(enum plumb_dtype dtype, const void *from);

/* The bits of `value` rounded to the floating-point type `dtype`. */
uint64_t plumb_round_to_bits(enum plumb_dtype dtype, double value, enum plumb_round round);
/* `value` rounded to an integer, as a double; NaN and infinities stay. */
double plumb_round_to_integer(double value, enum plumb_round round);
/* The integer `magnitude` (negated if `negative`) as a double. */
double plumb_round_from_integer(uint64_t magnitude, bool negative, enum plumb_round round);

#endif
