/*
 * value_records.h - records of a dump that is nothing but files of values: .npy, named after the
 * operation. Statistics are computed when they are asked for, of all values.
 */
#ifndef PLUMB_FORMAT_VALUE_RECORDS_H
#define PLUMB_FORMAT_VALUE_RECORDS_H

#include "format/record_format.h"

/* What the name of one file says. Text lives in the arena of the list. */
struct plumb_value_file {
    const char *file; /* its name in the directory */
    const char *module, *op, *slot;
    int call;
    enum plumb_phase phase;
    int64_t order; /* of the operation among the others; then inputs before outputs */
};

struct plumb_value_files {
    struct plumb_arena arena;
    struct plumb_value_file *items;
    size_t count, capacity;
};

/* False when out of memory. Texts are copied. */
bool plumb_value_files_add(struct plumb_value_files *files,
                           const struct plumb_value_file *file);
/* By order, then by slot. */
void plumb_value_files_sort(struct plumb_value_files *files);
/* Hands all of them over; a file that cannot be opened is told and left out. */
enum plumb_status plumb_value_files_emit(const struct plumb_value_files *files,
                                         const struct plumb_record_part *part,
                                         const struct plumb_record_feed *feed,
                                         struct plumb_error *err);
void plumb_value_files_release(struct plumb_value_files *files);

#endif
