/*
 * kernel_quick.h - sums of a block in single precision over short groups, its extremes and its fingerprint,
 * in one pass: what a recording does with nearly every byte that it looks at. One text for vectors of any width;
 * only the files of such a width include it, once they have said what a vector is:
 *
 *   QUICK                    what stands before a function that becomes part of the loop
 *   floats, words, choice    of f32, of their bits, of yes and no: a vector of each
 *   doubles                  eight sums
 *   WIDTH                    elements of a vector: 8 or 16
 *
 * and what is done with them:
 *
 *   load, spread, load_words              from memory; from one value
 *   minus, plus, plus_square              x - y, x + y, x * x + y
 *   lesser, greater, lesser_words         y where they do not compare
 *   size_of, words_of                     |x|, its bits
 *   pass_zeros, passing_zeros             the least bits but those of 0, which are counted; before the first
 *   below, only, either                   x < y; x where chosen, else 0; x where chosen, else y
 *   count_nan, count_equal
 *   no_doubles, add_group, fold_doubles   sixteen sums of a group to eight of the block, to one
 *   fold_min, fold_max, fold_least
 *   print, fold_print                     of a fingerprint's words
 */
#include "kernel_lanes.h"

enum {
    VECTORS = 2 * SUM_LANES / WIDTH, /* that sixteen elements take */
    /* Pieces at a time; for two there are too few narrow registers. */
    STREAMS = WIDTH > 8 ? 2 : 1,
    /* Bytes between what is read and what is fetched. */
    AHEAD = STREAMS * 4 * PLUMB_FINGERPRINT_WORDS,
};

/* What a group adds up to. */
struct group_registers {
    floats sum[VECTORS], square[VECTORS], absolute[VECTORS];
};

/* Of a block. The smallest magnitude is found among bits, which are in the order of magnitudes without their
 * sign. */
struct quick_registers {
    doubles sum, square, absolute;
    floats min, max;
    words least;
    uint64_t zeros, nan, pos_inf, neg_inf; /* not in vectors, of which there are too few */
};

/* What the loop is built for; constants wherever it is used. */
struct quick_wish {
    bool prints, pivots, zeros, gaps;
};

/* Where elements are not finite: their size and distance become 0, which leaves sums as they are. */
QUICK choice take_gaps_out(struct quick_registers *r, floats v, floats *d, floats *size)
{
    const choice kept = below(*size, spread((float)INFINITY));
    r->nan += count_nan(v);
    r->pos_inf += count_equal(v, spread((float)INFINITY));
    r->neg_inf += count_equal(v, spread(-(float)INFINITY));
    *d = only(kept, *d);
    *size = only(kept, *size);
    return kept;
}

QUICK void look_at_vector(struct quick_registers *r, struct group_registers *g, int part,
                          struct quick_wish wish, floats v, floats pivot)
{
    floats d = wish.pivots ? minus(v, pivot) : v, size = size_of(v);
    const words code = words_of(size);
    if (wish.gaps) { /* they are larger than every smallest magnitude as they are */
        const choice kept = take_gaps_out(r, v, &d, &size);
        r->min = either(kept, lesser(v, r->min), r->min);
        r->max = either(kept, greater(v, r->max), r->max);
    } else {
        r->min = lesser(v, r->min);
        r->max = greater(v, r->max);
    }
    g->sum[part] = plus(g->sum[part], d);
    g->square[part] = plus_square(d, g->square[part]);
    g->absolute[part] = plus(g->absolute[part], size);
    if (wish.zeros)
        r->least = pass_zeros(code, r->least, &r->zeros);
    else
        r->least = lesser_words(code, r->least);
}

/* `place`: that of the element in its piece. Without prints there are no keys. */
QUICK void look_at_part(struct quick_registers *r, struct group_registers *g, int part,
                        words *sum, struct quick_wish wish, const unsigned char *piece,
                        size_t place, floats pivot, const uint32_t *keys)
{
    place += (size_t)(WIDTH * part);
    look_at_vector(r, g, part, wish, load(piece + 4 * place), pivot);
    if (wish.prints)
        *sum = print(*sum, load_words(piece + 4 * place), keys + place);
}

QUICK struct group_registers clear_group(void)
{
    struct group_registers g;
    g.sum[0] = g.square[0] = g.absolute[0] = spread(0);
    g.sum[VECTORS - 1] = g.square[VECTORS - 1] = g.absolute[VECTORS - 1] = spread(0);
    return g;
}

QUICK void add_registers(struct quick_registers *r, const struct group_registers *g)
{
    r->sum = add_group(r->sum, g->sum);
    r->square = add_group(r->square, g->square);
    r->absolute = add_group(r->absolute, g->absolute);
}

/* Sixteen elements. While these words are at hand, those further on are on their way: what an operator wrote is what
 * the next one reads, and finds nearer then. No loop over the parts: compilers would leave their registers in
 * memory. */
QUICK void look_at_parts(struct quick_registers *r, struct group_registers *g, words *sum,
                         struct quick_wish wish, const unsigned char *piece, size_t place,
                         floats pivot, const uint32_t *keys)
{
    _mm_prefetch((const char *)piece + 4 * place + AHEAD, _MM_HINT_T0);
    look_at_part(r, g, 0, sum, wish, piece, place, pivot, keys);
    if (VECTORS > 1)
        look_at_part(r, g, VECTORS - 1, sum, wish, piece, place, pivot, keys);
}

/* A piece of PLUMB_FINGERPRINT_WORDS: two groups. */
QUICK words look_at_piece(struct quick_registers *r, struct quick_wish wish,
                          const unsigned char *piece, floats pivot, const uint32_t *keys)
{
    words sum = words_of(spread(0));
    for (size_t first = 0; first < PLUMB_FINGERPRINT_WORDS; first += PLUMB_QUICK_GROUP) {
        struct group_registers g = clear_group();
        for (size_t i = first; i < first + PLUMB_QUICK_GROUP; i += 2 * SUM_LANES)
            look_at_parts(r, &g, &sum, wish, piece, i, pivot, keys);
        add_registers(r, &g);
    }
    return sum;
}

/* The same group of two pieces, which lie in two pages of memory: the processor fetches what follows in both, where
 * in one page it would wait at its end. */
QUICK void look_at_twins(struct quick_registers *r, struct group_registers *a,
                         struct group_registers *b, words *sums, struct quick_wish wish,
                         const unsigned char *pieces, size_t first, floats pivot,
                         const uint32_t *keys)
{
    *a = *b = clear_group();
    for (size_t i = first; i < first + PLUMB_QUICK_GROUP; i += 2 * SUM_LANES) {
        look_at_parts(r, a, &sums[0], wish, pieces, i, pivot, keys);
        look_at_parts(r, b, &sums[1], wish, pieces + 4 * PLUMB_FINGERPRINT_WORDS, i, pivot,
                      keys);
    }
}

/* Two pieces; their groups are added up in order. */
QUICK void look_at_two(struct quick_registers *r, words *sums, struct quick_wish wish,
                       const unsigned char *pieces, floats pivot, const uint32_t *keys)
{
    struct group_registers a, b, later;
    sums[0] = sums[1] = words_of(spread(0));
    look_at_twins(r, &a, &later, sums, wish, pieces, 0, pivot, keys);
    add_registers(r, &a);
    look_at_twins(r, &a, &b, sums, wish, pieces, PLUMB_QUICK_GROUP, pivot, keys);
    add_registers(r, &a);
    add_registers(r, &later);
    add_registers(r, &b);
}

QUICK void look_at_block(struct quick_registers *r, struct quick_wish wish,
                         const unsigned char *from, size_t n, float pivot_value,
                         const struct plumb_print_keys *keys, uint64_t *prints)
{
    const floats pivot = spread(pivot_value);
    const uint32_t *key = wish.prints ? keys->word : NULL;
    words sums[2];
    size_t at = 0;
    for (; STREAMS > 1 && at + 2 * PLUMB_FINGERPRINT_WORDS <= n;
         at += 2 * PLUMB_FINGERPRINT_WORDS) {
        look_at_two(r, sums, wish, from + 4 * at, pivot, key);
        if (wish.prints) {
            *prints++ = fold_print(sums[0]);
            *prints++ = fold_print(sums[1]);
        }
    }
    for (; at < n; at += PLUMB_FINGERPRINT_WORDS) {
        sums[0] = look_at_piece(r, wish, from + 4 * at, pivot, key);
        if (wish.prints)
            *prints++ = fold_print(sums[0]);
    }
}

QUICK struct quick_registers clear_block(bool zeros)
{
    const floats top = spread((float)INFINITY);
    return (struct quick_registers){.sum = no_doubles(),
                                    .square = no_doubles(),
                                    .absolute = no_doubles(),
                                    .min = top,
                                    .max = spread(-(float)INFINITY),
                                    .least =
                                        zeros ? passing_zeros(words_of(top)) : words_of(top)};
}

QUICK struct plumb_block_sums fold_block(const struct quick_registers *r, bool zeros)
{
    return (struct plumb_block_sums){
        .sum = fold_doubles(r->sum),
        .square = fold_doubles(r->square),
        .absolute = fold_doubles(r->absolute),
        .min = (double)fold_min(r->min) + 0.0,
        .max = (double)fold_max(r->max) + 0.0,
        .min_absolute = (double)fold_least(r->least, zeros),
    };
}

QUICK void quick_sums(const void *x, size_t n, float pivot, const struct plumb_print_keys *keys,
                      struct plumb_block_sums *result, uint64_t *prints, uint64_t *zero)
{
    const struct quick_wish plain = {.prints = true}, pivots = {.prints = true, .pivots = true};
    const struct quick_wish all = {.prints = true, .pivots = true, .zeros = true};
    const struct quick_wish zeros = {.prints = true, .zeros = true};
    const struct quick_wish sums = {.pivots = true}, counts = {.pivots = true, .zeros = true};
    struct quick_registers r = clear_block(zero);
    if (!keys && zero)
        look_at_block(&r, counts, x, n, pivot, NULL, NULL);
    else if (!keys)
        look_at_block(&r, sums, x, n, pivot, NULL, NULL);
    else if (zero && pivot != 0)
        look_at_block(&r, all, x, n, pivot, keys, prints);
    else if (zero)
        look_at_block(&r, zeros, x, n, pivot, keys, prints);
    else if (pivot != 0)
        look_at_block(&r, pivots, x, n, pivot, keys, prints);
    else
        look_at_block(&r, plain, x, n, pivot, keys, prints);
    *result = fold_block(&r, zero);
    if (zero)
        *zero = r.zeros;
}

QUICK void quick_finite_sums(const void *x, size_t n, float pivot,
                             const struct plumb_print_keys *keys,
                             struct plumb_block_sums *result, uint64_t *prints,
                             struct plumb_block_special *special)
{
    const struct quick_wish sums = {.pivots = true, .gaps = true};
    const struct quick_wish all = {.prints = true, .pivots = true, .gaps = true};
    struct quick_registers r = clear_block(false);
    if (keys)
        look_at_block(&r, all, x, n, pivot, keys, prints);
    else
        look_at_block(&r, sums, x, n, pivot, NULL, NULL);
    *result = fold_block(&r, false);
    special->nan = r.nan;
    special->pos_inf = r.pos_inf;
    special->neg_inf = r.neg_inf;
}
