/*
 * matmul.h - the one matrix product all operators use.
 */
#ifndef LAB_MATMUL_H
#define LAB_MATMUL_H

#include "precision.h"

/* A rectangle of numbers: element (i, j) is at data[i * row + j * column]. */
struct lab_matrix {
    real *data;
    size_t row, column;
};

/* C += A B, with A m x k, B k x n, C m x n; rows of B and C are contiguous (column == 1).
 * Sums run over k in the order asked for, ascending unless told otherwise, in the accumulation
 * type. */
void lab_matmul(const struct lab_precision *precision, size_t m, size_t n, size_t k,
                struct lab_matrix a, struct lab_matrix b, struct lab_matrix c);
/* out (columns x rows) = in (rows x columns, row-major) */
void lab_transpose(const real *in, size_t rows, size_t columns, real *out);

#endif
