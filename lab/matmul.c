/*
 * matmul.c - rows of C grow by multiples of rows of B: contiguous, vectorisable, and with an
 * order of additions that anybody can repeat.
 */
#include "matmul.h"

/* Row c[0..n) += sum over k of a[k] * b[k][0..n), four k at a time. */
static void add_rows(size_t n, size_t k, const real *a, size_t a_step, const real *b,
                     size_t b_row, real *restrict c)
{
    size_t p = 0;
    for (; p + 4 <= k; p += 4) {
        real a0 = a[p * a_step], a1 = a[(p + 1) * a_step];
        real a2 = a[(p + 2) * a_step], a3 = a[(p + 3) * a_step];
        const real *b0 = b + p * b_row, *b1 = b0 + b_row, *b2 = b1 + b_row, *b3 = b2 + b_row;
        for (size_t j = 0; j < n; j++)
            c[j] = (((c[j] + a0 * b0[j]) + a1 * b1[j]) + a2 * b2[j]) + a3 * b3[j];
    }
    for (; p < k; p++) {
        real factor = a[p * a_step];
        const real *row = b + p * b_row;
        for (size_t j = 0; j < n; j++)
            c[j] += factor * row[j];
    }
}

/* The same with the last k first. */
static void add_rows_descending(size_t n, size_t k, const real *a, size_t a_step, const real *b,
                                size_t b_row, real *restrict c)
{
    for (size_t p = k; p-- > 0;) {
        real factor = a[p * a_step];
        const real *row = b + p * b_row;
        for (size_t j = 0; j < n; j++)
            c[j] += factor * row[j];
    }
}

enum { BLOCK = 8 };

/* The same in blocks, each summed on its own, as parallel hardware does. */
static void add_rows_in_blocks(size_t n, size_t k, const real *a, size_t a_step, const real *b,
                               size_t b_row, real *restrict c)
{
    for (size_t first = 0; first < k; first += BLOCK) {
        size_t end = first + BLOCK < k ? first + BLOCK : k;
        for (size_t j = 0; j < n; j++) {
            real sum = 0;
            for (size_t p = first; p < end; p++)
                sum += a[p * a_step] * b[p * b_row + j];
            c[j] += sum;
        }
    }
}

/* The same with the partial sums rounded after every addition. */
static void add_rows_rounded(const struct lab_precision *precision, size_t n, size_t k,
                             const real *a, size_t a_step, const real *b, size_t b_row, real *c)
{
    for (size_t p = 0; p < k; p++) {
        real factor = a[p * a_step];
        const real *row = b + p * b_row;
        for (size_t j = 0; j < n; j++)
            c[j] += factor * row[j];
        lab_round_values(c, n, precision->accumulate, precision->round, precision->saturate);
    }
}

void lab_matmul(const struct lab_precision *precision, size_t m, size_t n, size_t k,
                struct lab_matrix a, struct lab_matrix b, struct lab_matrix c)
{
    static void (*const add[LAB_SUMS_COUNT])(size_t, size_t, const real *, size_t, const real *,
                                             size_t, real *restrict) = {
        [LAB_SUMS_ASCENDING] = add_rows,
        [LAB_SUMS_DESCENDING] = add_rows_descending,
        [LAB_SUMS_BLOCKS] = add_rows_in_blocks};
    bool exact = lab_precision_is_exact(precision->accumulate);
    for (size_t i = 0; i < m; i++) {
        const real *a_row = a.data + i * a.row;
        real *c_row = c.data + i * c.row;
        if (exact)
            add[precision->sums](n, k, a_row, a.column, b.data, b.row, c_row);
        else
            add_rows_rounded(precision, n, k, a_row, a.column, b.data, b.row, c_row);
    }
}

void lab_transpose(const real *in, size_t rows, size_t columns, real *out)
{
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++)
            out[j * rows + i] = in[i * columns + j];
}
