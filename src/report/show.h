/* show.h - what both forms of a report about a file are made from. */
#ifndef PLUMB_REPORT_SHOW_H
#define PLUMB_REPORT_SHOW_H

#include "base/json_write.h"
#include "model/file.h"

enum { REPORT_LIMIT = 1 << 30 }; /* bytes of one report */

struct plumb_show {
    struct plumb_file *file;
    const struct plumb_show_options *options;
    const struct plumb_tensor **tensors; /* the chosen ones */
    size_t count;
    struct plumb_summary *summaries; /* of `tensors`; NULL if not asked for */
    size_t *tied_to;                 /* index of the first tensor with the same data, or own */
    bool single;                     /* one tensor, by name, as text */
    uint64_t parameters, bytes;      /* of the chosen ones, tied ones once */
};

void plumb_show_text(const struct plumb_show *show, struct plumb_buffer *to);
void plumb_show_json(const struct plumb_show *show, struct plumb_buffer *to);
/* One tensor: its statistics, first values and a histogram of magnitudes. */
enum plumb_status plumb_show_one(const struct plumb_show *show, struct plumb_buffer *to,
                                 struct plumb_error *err);

/* The key "stats" and its object. */
void plumb_stats_json(struct plumb_json_writer *json, const struct plumb_stats *stats);

/* Passes a finished report on. */
enum plumb_status plumb_report_send(const struct plumb_buffer *report,
                                    const struct plumb_sink *sink, struct plumb_error *err);

#endif
