/*
 * real.h - the number the lab computes with.
 *
 * float in the program. The gradient check compiles the same operators with double, where
 * finite differences are exact enough to tell a wrong term from rounding.
 */
#ifndef LAB_REAL_H
#define LAB_REAL_H

#include <math.h>

#include "plumb.h"

#ifdef LAB_REAL_IS_DOUBLE
typedef double real;
#define LAB_REAL_DTYPE PLUMB_F64
#define real_exp exp
#define real_log log
#define real_sqrt sqrt
#define real_erf erf
#define real_tanh tanh
#define real_abs fabs
#else
typedef float real;
#define LAB_REAL_DTYPE PLUMB_F32
#define real_exp expf
#define real_log logf
#define real_sqrt sqrtf
#define real_erf erff
#define real_tanh tanhf
#define real_abs fabsf
#endif

#endif
