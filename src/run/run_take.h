/* run_take.h - what reading one part of another tool's records found. */
#ifndef PLUMB_RUN_RUN_TAKE_H
#define PLUMB_RUN_RUN_TAKE_H

#include "run/run.h"

enum plumb_said_kind {
    PLUMB_SAID_POINT,   /* of the series `key` */
    PLUMB_SAID_CONFIG,  /* `key`, and `text` is JSON */
    PLUMB_SAID_WARNING, /* `text` */
    PLUMB_SAID_FAILURE, /* `text`: the part could not be read to its end */
};

struct plumb_said {
    enum plumb_said_kind kind;
    const char *key, *text;
    int64_t step;
    double value;
};

/* Begins with its `part`, the rest zero. */
struct plumb_taking {
    const struct plumb_record_part *part;
    struct plumb_run_rank facts; /* records, collectives, first and last step */
    struct plumb_arena arena;
    struct plumb_said *said; /* in order */
    size_t count, capacity;
    bool cut;    /* a file ends too early */
    bool failed; /* out of memory */
};

enum plumb_status plumb_taking_read(struct plumb_taking *taking,
                                    const struct plumb_record_format *format,
                                    struct plumb_error *err);
/* False when out of memory. */
bool plumb_taking_put(struct plumb_run *run, const struct plumb_taking *taking);
void plumb_taking_release(struct plumb_taking *taking);

#endif
