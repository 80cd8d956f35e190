/* widen.h - elements of any real type as doubles. */
#ifndef PLUMB_KERNEL_WIDEN_H
#define PLUMB_KERNEL_WIDEN_H

#include "plumb.h"

/* Exact, but for i64 and u64 beyond 2^53, which are rounded to nearest even. `from` need not
 * be aligned. Complex types have no single value: pass their parts' type. */
void plumb_widen(enum plumb_dtype dtype, const void *from, size_t count, double *to);
float plumb_widen_f16(uint16_t half);
/* To nearest even, as the hardware does it. */
uint16_t plumb_narrow_f16(float value);

#endif
