/*
 * record_feed.h - where a reader of records hands over what it finds, row by row.
 *
 * Nothing is kept: a dump of any size passes through. Each function returns false to stop; NULL
 * means that nobody wants such rows, which lets a reader skip making them.
 */
#ifndef PLUMB_MODEL_RECORD_FEED_H
#define PLUMB_MODEL_RECORD_FEED_H

#include "plumb.h"

struct plumb_record_feed {
    void *context;
    int rank;        /* that the rows are of */
    bool count_only; /* records need no statistics that have to be computed */
    bool (*record)(void *context, const struct plumb_tensor_record *record);
    bool (*collective)(void *context, const struct plumb_rank_collective *collective);
    bool (*series)(void *context, const char *name, int64_t step, double value);
    bool (*config)(void *context, const char *key, const char *json);
    /* A piece that was left out, and where; `cut`: because the file ends too early. */
    bool (*warn)(void *context, bool cut, const char *text);
};

#endif
