/*
 * msprobe_dump.h - one dump.json (or debug.json) of msprobe, operation by operation.
 *
 * Slots are called as Plumb calls them: input_args[0] is input0, a list inside it input0.1, the
 * keyword argument x input:x, the parameter w param:w and its gradient grad:w. Numbers given as
 * arguments are records of one element. What a tensor that was hashed only has is a fingerprint.
 */
#ifndef PLUMB_FORMAT_MSPROBE_DUMP_H
#define PLUMB_FORMAT_MSPROBE_DUMP_H

#include "base/json_pull.h"
#include "format/msprobe_names.h"
#include "format/record_format.h"

enum { PLUMB_MSPROBE_MOST_PEERS = 64 };

/* One tensor or number of an operation. */
struct plumb_msprobe_leaf {
    size_t slot, data_name; /* in `text`; data_name SIZE_MAX: no values were saved */
    enum plumb_dtype dtype;
    int dims;
    int64_t shape[PLUMB_MAX_RANK];
    bool is_tensor, has_stats;
    struct plumb_stats stats;
    uint64_t fingerprint;
    enum plumb_fingerprint_kind fingerprint_kind;
};

/* A message of batch_isend_irecv. */
struct plumb_msprobe_peer {
    bool sends;
    int64_t rank;
};

/* The operation that is being read. */
struct plumb_msprobe_op {
    struct plumb_buffer name;
    struct plumb_buffer text; /* of its leaves, each ended by NUL */
    struct plumb_buffer slot; /* being built while descending */
    struct plumb_msprobe_leaf *leaves;
    size_t count, capacity;
    struct plumb_buffer group; /* "0,1,2,3"; empty: all ranks */
    struct plumb_msprobe_peer peers[PLUMB_MSPROBE_MOST_PEERS];
    size_t peer_count;
    bool overflowed;        /* is_nan */
    size_t unknown_dtypes;  /* in the whole file */
    char unknown_dtype[64]; /* the first of them */
    bool is_mindspore;      /* whose crc of bf16 is one of f32 */
    char last_dtype_name[64];
    enum plumb_dtype last_dtype;
    bool count_only; /* nobody looks at the numbers */
    bool failed;     /* out of memory */
};

/* msprobe_value.c: reads the value of an operation, whose first token is `token`. False: the text is
 * broken, or op->failed. */
bool plumb_msprobe_op_read(struct plumb_msprobe_op *op, struct plumb_json_pull *pull,
                           enum plumb_json_token token, const struct plumb_msprobe_name *name);
void plumb_msprobe_op_clear(struct plumb_msprobe_op *op);
void plumb_msprobe_op_release(struct plumb_msprobe_op *op);

/* msprobe_dump.c */
enum plumb_status plumb_msprobe_dump_read(const struct plumb_record_part *part,
                                          const char *dump_path,
                                          const struct plumb_record_feed *feed,
                                          struct plumb_error *err);

#endif
