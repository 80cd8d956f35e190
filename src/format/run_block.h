/*
 * run_block.h - the blocks that records.plumb is made of; docs/format.md has it byte by byte.
 *
 *     0   8   "PLUMBBLK"
 *     8   u16 version       1
 *     10  u16 kind          enum plumb_block_kind
 *     12  u32 header crc    crc32 of these 64 bytes with this field 0
 *     16  u64 body size     bytes after the header, a multiple of 8
 *     24  u32 body crc      crc32 of the body
 *     28  u32 rows
 *     32  i64 first step    of the rows; both 0 if the kind has no steps
 *     40  i64 last step
 *     48  u64 number        of the block in its file, from 0: a gap is a loss
 *     56  i64 time          when it was written, nanoseconds since 1970
 *     64  body: u32 columns, u32 0, then 40 bytes a column
 *             0   16  name, padded with 0
 *             16  u32 type          enum plumb_column_type
 *             20  u32 0
 *             24  u64 offset        in the body, a multiple of 8
 *             32  u64 size          bytes
 *         then the columns, each padded with 0 to a multiple of 8; all little endian
 *
 * A row is the same struct for the writer and the reader. Text is a byte offset into the column
 * "text", where strings end in 0. Readers skip columns and kinds they do not know, and take
 * columns that are not there as 0: that is how the format grows.
 */
#ifndef PLUMB_FORMAT_RUN_BLOCK_H
#define PLUMB_FORMAT_RUN_BLOCK_H

#include "base/buffer.h"

enum {
    PLUMB_BLOCK_VERSION = 1,
    PLUMB_BLOCK_HEADER = 64,
    PLUMB_BLOCK_MOST_COLUMNS = 64,
    PLUMB_BLOCK_MOST_ROWS = 1 << 20,
    PLUMB_BLOCK_LARGEST = 64 << 20, /* bytes of a body */
};

enum plumb_block_kind {
    PLUMB_BLOCK_RANK = 1,     /* struct plumb_block_pair: what the file is; the first block */
    PLUMB_BLOCK_CONFIG = 2,   /* struct plumb_block_pair */
    PLUMB_BLOCK_STEPS = 3,    /* struct plumb_block_step */
    PLUMB_BLOCK_SERIES = 4,   /* struct plumb_block_series */
    PLUMB_BLOCK_TENSORS = 5,  /* struct plumb_block_tensor */
    PLUMB_BLOCK_SPANS = 6,    /* struct plumb_block_span */
    PLUMB_BLOCK_COUNTERS = 7, /* struct plumb_block_counter */
    PLUMB_BLOCK_COLLECTIVES = 8, /* struct plumb_block_collective */
    PLUMB_BLOCK_END = 9,         /* struct plumb_block_pair: how it ended; the last block */
    PLUMB_BLOCK_STACKS = 10,     /* struct plumb_block_stack: where ops are called */
    PLUMB_BLOCK_KINDS
};

enum plumb_column_type {
    PLUMB_COLUMN_TEXT = 1, /* bytes */
    PLUMB_COLUMN_U8 = 2,
    PLUMB_COLUMN_U32 = 3,
    PLUMB_COLUMN_I32 = 4,
    PLUMB_COLUMN_U64 = 5,
    PLUMB_COLUMN_I64 = 6,
    PLUMB_COLUMN_F64 = 7,
};

struct plumb_block_pair {
    uint32_t key, json;
};

struct plumb_block_step {
    int64_t step, begin_ns, end_ns;
};

struct plumb_block_series {
    int64_t step;
    double value;
    uint32_t name;
};

enum {
    PLUMB_TENSOR_HAS_STATS = 1,
    PLUMB_TENSOR_HAS_VALUES = 2, /* in the step's npz */
};

struct plumb_block_tensor {
    int64_t step, time_ns;
    uint32_t module, op;
    int32_t call;
    uint8_t phase; /* enum plumb_phase */
    uint8_t flags;
    uint32_t slot, dtype, shape; /* shape: "64,3,7,7"; "" for a scalar */
    uint32_t stack;              /* its number; 0: not known */
    uint64_t fingerprint;
    int64_t element; /* first that is not finite, else first at the type's largest; or -1 */
    struct plumb_stats stats;
};

struct plumb_block_span {
    int64_t step, begin_ns, end_ns;
    uint32_t track, name;
};

struct plumb_block_counter {
    int64_t step, time_ns;
    double value;
    uint32_t name;
};

struct plumb_block_collective {
    int64_t step, sequence, begin_ns, end_ns;
    uint64_t bytes;
    uint32_t group, name;
};

struct plumb_block_stack {
    uint32_t number, lines; /* from 1; "train.py:57 forward\n..." */
};

/* Where a column lies in the struct of its kind. */
struct plumb_column {
    char name[16];
    enum plumb_column_type type;
    size_t offset; /* in the struct */
};

struct plumb_block_layout {
    const char *name; /* "tensors" */
    const struct plumb_column *columns;
    size_t count;
    size_t row_size; /* of the struct */
    bool has_steps;  /* the struct begins with its step */
};

/* NULL for a kind this version does not know. */
const struct plumb_block_layout *plumb_block_layout(unsigned kind);
size_t plumb_column_size(enum plumb_column_type type); /* of an element; 0 if unknown */

struct plumb_block_header {
    unsigned kind, version;
    uint64_t body_size;
    uint32_t body_crc, rows;
    int64_t first_step, last_step;
    uint64_t number;
    int64_t time_ns;
};

extern const char plumb_block_magic[8];

/* Appends a whole block; sizes and crcs are filled in. `rows` are `header.rows` structs of the
 * kind. */
void plumb_block_write(struct plumb_buffer *to, struct plumb_block_header header,
                       const void *rows, const char *text, size_t text_size);

/* False if these PLUMB_BLOCK_HEADER bytes are not the header of a block. */
bool plumb_block_header_parse(const void *bytes, struct plumb_block_header *header);

/* A body whose columns have been found. */
struct plumb_block {
    const struct plumb_block_layout *layout;
    size_t rows;
    const unsigned char *columns[PLUMB_BLOCK_MOST_COLUMNS]; /* of the layout; NULL: not there */
    const char *text;
    size_t text_size;
};

/* NULL if the body is sound, else what is wrong with it. `body` must stay. */
const char *plumb_block_parse(const struct plumb_block_header *header, const void *body,
                              struct plumb_block *block);
/* Row `i` as its struct; columns that are not there are 0. */
void plumb_block_row(const struct plumb_block *block, size_t i, void *row);
/* "" if the offset is outside. */
const char *plumb_block_text(const struct plumb_block *block, uint32_t offset);

#endif
