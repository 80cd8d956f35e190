/* mindspore_dump.h - the scopes of a MindSpore kernel dump, and its statistic.csv. */
#ifndef PLUMB_FORMAT_MINDSPORE_DUMP_H
#define PLUMB_FORMAT_MINDSPORE_DUMP_H

#include "format/value_records.h"

/* What the csv of execution_order and mapping.csv say about the names of files. */
struct plumb_mindspore_scopes {
    struct plumb_arena arena;
    struct plumb_table order; /* "Default_network_conv-Conv2d_Conv2D-op0" to its line */
    const char **lines;       /* the scopes with their slashes */
    size_t count, capacity;
    struct plumb_table long_names; /* name of a file to its line in `names` */
    const char **names;            /* what the file would be called */
    size_t name_count, name_capacity;
    struct plumb_table first_seen; /* without a csv: a kernel's earliest time */
};

struct plumb_mindspore_place {
    char module[1024], op[1024];
    int call;
    enum plumb_phase phase;
    int64_t order;
};

enum plumb_status plumb_mindspore_scopes_read(struct plumb_mindspore_scopes *scopes,
                                              const char *iteration_path,
                                              struct plumb_error *err);
void plumb_mindspore_scopes_release(struct plumb_mindspore_scopes *scopes);
/* The file's name, unless mapping.csv has a longer one for it. */
const char *plumb_mindspore_real_name(const struct plumb_mindspore_scopes *scopes,
                                      const char *file);
/* Module, op and order of a kernel; `scope` with slashes or underscores. False: out of memory. */
bool plumb_mindspore_place_of(struct plumb_mindspore_scopes *scopes, const char *type,
                              const char *scope, int64_t time,
                              struct plumb_mindspore_place *place);

/* mindspore_statistics.c: the rows of statistic.csv, if there is one. */
enum plumb_status plumb_mindspore_statistics_read(const struct plumb_record_part *part,
                                                  struct plumb_mindspore_scopes *scopes,
                                                  const struct plumb_record_feed *feed,
                                                  struct plumb_error *err);

#endif
