/*
 * npy_header.h - the header of numpy's .npy, read and written; .npy and .npz share it.
 *
 *     0    93 'N' 'U' 'M' 'P' 'Y'
 *     6    major, minor            1.0, 2.0 or 3.0
 *     8    header length n         u16 in version 1, u32 in 2 and 3, little endian
 *     10   n bytes                 a Python dictionary, padded with spaces, then '\n'; latin1, in
 *     (12)                         version 3 UTF-8
 *          { 'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
 *     data
 *
 * numpy has no bf16 and no 8-bit floats. Programs save them as their bits, as void types: |V2
 * is taken as bf16, |V1 as u8, both with a warning, because the file does not tell.
 */
#ifndef PLUMB_FORMAT_NPY_HEADER_H
#define PLUMB_FORMAT_NPY_HEADER_H

#include "base/buffer.h"
#include "model/file.h"

enum {
    PLUMB_NPY_MAX_HEADER = 1 << 20, /* bytes before the data that are ever needed */
    PLUMB_NPY_MAGIC_SIZE = 6,
};

struct plumb_npy_header {
    enum plumb_dtype dtype;
    int rank;
    int64_t shape[PLUMB_MAX_RANK];
    bool fortran;
    bool big_endian;
    uint64_t data_offset; /* of the first element */
    uint64_t data_size;   /* bytes that the shape asks for */
    const char *warning;  /* what the reader had to assume; NULL: nothing */
};

bool plumb_npy_has_magic(const void *bytes, size_t size);
/* `bytes` is the whole file or its first PLUMB_NPY_MAX_HEADER bytes. Whether the data is there is
 * for the caller to see, or for plumb_npy_add_tensor(). */
enum plumb_status plumb_npy_header_parse(const void *bytes, size_t size, const char *path,
                                         struct plumb_npy_header *header,
                                         struct plumb_error *err);
/* Adds the array whose data starts `offset` bytes into `storage` (the storage gets the byte
 * order). Too little data is PLUMB_DAMAGED; too much and assumptions are warnings, which name
 * the tensor. */
enum plumb_status plumb_npy_add_tensor(struct plumb_file *file, struct plumb_storage *storage,
                                       uint64_t offset, const struct plumb_npy_header *header,
                                       const char *name, struct plumb_error *err);
/* Appends magic, version, header and padding, so that the data starts at a multiple of 64. Types
 * that numpy lacks are written as void types of their size. */
void plumb_npy_header_write(enum plumb_dtype dtype, int rank, const int64_t *shape,
                            struct plumb_buffer *buffer);

#endif
