/* grid.c - steps, rounding and parity on the grids of the floating-point types. */
#include "compare/grid.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct plumb_grid grids[PLUMB_DTYPE_COUNT] = {
    [PLUMB_F64] = {"f64", 53, -1022, 1.7976931348623157e308, false},
    [PLUMB_F32] = {"f32", 24, -126, 3.4028234663852886e38, false},
    [PLUMB_F16] = {"f16", 11, -14, 65504, false},
    [PLUMB_BF16] = {"bf16", 8, -126, 3.3895313892515355e38, false},
    [PLUMB_F8E4M3] = {"f8e4m3", 4, -6, 448, false},
    [PLUMB_F8E5M2] = {"f8e5m2", 3, -14, 57344, false},
    [PLUMB_HIF8] = {"hif8", 4, -22, 32768, true},
};

/* What tensor cores keep of an f32: never a dtype, but seen in values stored as f32. */
static const struct plumb_grid tf32 = {"tf32", 11, -126, 3.4011621342146535e38, false};

const struct plumb_grid *plumb_grid_of(enum plumb_dtype dtype)
{
    return plumb_dtype_is_float(dtype) ? &grids[dtype] : NULL;
}

/* hif8 has 3, 2 or 1 fraction bits for exponents of magnitude up to 3, 7 and 15, and none in
 * its subnormal values, which are powers of two. */
static int bits_at(const struct plumb_grid *grid, int exponent)
{
    if (!grid->tapered)
        return grid->bits;
    const int magnitude = abs(exponent);
    if (magnitude <= 3)
        return 4;
    if (magnitude <= 7)
        return 3;
    return magnitude <= 15 ? 2 : 1;
}

/* frexp() and ldexp() take most of the time of a judgement, so: the bits of the double. */
static int exponent_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (int)(bits >> 52 & 0x7ff) - 1023;
}

static double power_of_two(int exponent)
{
    if (exponent < -1022)
        return ldexp(1, exponent);
    const uint64_t bits = (uint64_t)(exponent + 1023) << 52;
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

double plumb_grid_step(const struct plumb_grid *grid, double x)
{
    int exponent = exponent_of(x);
    if (exponent < grid->min_exponent || exponent > 1023)
        exponent = grid->min_exponent;
    return power_of_two(exponent - bits_at(grid, exponent) + 1);
}

static bool is_odd(double whole)
{
    const double half = whole * 0.5;
    return half != floor(half);
}

/* The whole number nearest to `steps` in the wanted direction; steps is not negative. */
static double round_steps(double steps, bool negative, enum plumb_round round)
{
    const double below = floor(steps);
    if (below == steps)
        return steps;
    const bool odd = is_odd(below);
    const double rest = steps - below;
    bool outward = false;
    switch (round) {
    case PLUMB_ROUND_NEAREST_EVEN:
        outward = rest > 0.5 || (rest == 0.5 && odd);
        break;
    case PLUMB_ROUND_NEAREST_AWAY:
        outward = rest >= 0.5;
        break;
    case PLUMB_ROUND_TO_ODD:
        outward = !odd;
        break;
    case PLUMB_ROUND_UP:
        outward = !negative;
        break;
    case PLUMB_ROUND_DOWN:
        outward = negative;
        break;
    case PLUMB_ROUND_TO_ZERO:
    case PLUMB_ROUND_COUNT:
        break;
    }
    return outward ? below + 1 : below;
}

double plumb_grid_round(const struct plumb_grid *grid, double x, enum plumb_round round)
{
    if (x == 0 || !isfinite(x))
        return x;
    const double step = plumb_grid_step(grid, x);
    const double rounded = step * round_steps(fabs(x) / step, x < 0, round);
    return copysign(rounded > grid->largest ? HUGE_VAL : rounded, x);
}

bool plumb_grid_is_odd(const struct plumb_grid *grid, double x)
{
    return isfinite(x) && is_odd(fabs(x) / plumb_grid_step(grid, x));
}

static bool holds_all(const struct plumb_grid *grid, const double *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (isfinite(values[i]) &&
            plumb_grid_round(grid, values[i], PLUMB_ROUND_TO_ZERO) != values[i])
            return false;
    return true;
}

/* A narrow grid shows itself only in values that use its bits: fractions, and many of them. */
static bool tells_its_grid(const double *values, size_t count)
{
    size_t fractions = 0, changes = 0;
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(values[i]))
            continue;
        fractions += values[i] != trunc(values[i]);
        changes += i > 0 && values[i] != values[i - 1];
    }
    return fractions >= 16 && changes >= 16;
}

const struct plumb_grid *plumb_grid_find(const struct plumb_grid *own, const double *values,
                                         size_t count)
{
    const struct plumb_grid *const candidates[] = {&grids[PLUMB_BF16], &grids[PLUMB_F16], &tf32,
                                                   &grids[PLUMB_F32]};
    if (own->bits <= 11 || !tells_its_grid(values, count))
        return own;
    for (size_t i = 0; i < sizeof candidates / sizeof *candidates; i++)
        if (candidates[i]->bits < own->bits && holds_all(candidates[i], values, count))
            return candidates[i];
    return own;
}
