/*
 * run_rows.h - tensor records of one rank and some steps, held in memory with numbers for names.
 *
 * Both sides share one set of names, so that equal names are equal numbers.
 */
#ifndef PLUMB_COMPARE_RUN_ROWS_H
#define PLUMB_COMPARE_RUN_ROWS_H

#include "base/arena.h"
#include "base/table.h"

#define PLUMB_NO_NAME UINT32_MAX

enum plumb_row_role {
    PLUMB_ROW_IN,    /* what an op takes */
    PLUMB_ROW_PARAM, /* a parameter it takes */
    PLUMB_ROW_OUT,   /* what it makes */
};

struct plumb_row {
    uint32_t label, op, slot; /* names */
    uint32_t match;           /* the label that B has for it, if a map says so */
    uint32_t match_slot; /* the slot, likewise; PLUMB_NO_NAME: no map speaks of this op's */
    uint32_t place;      /* label, phase and slot as one number */
    int64_t step;
    int64_t count;        /* of elements */
    uint64_t shape;       /* as a number: equal shapes are equal */
    uint64_t fingerprint; /* 0: not known */
    struct plumb_stats stats;
    int64_t element;
    uint32_t value_name; /* of its saved values, or PLUMB_NO_NAME */
    unsigned char phase, dtype, role;
    unsigned char fingerprint_kind;
    bool has_stats, has_values, is_module;
};

struct plumb_rows {
    struct plumb_row *rows;
    size_t count, capacity;
};

/* Texts as numbers. A zeroed struct is empty. */
struct plumb_names {
    struct plumb_arena arena;
    struct plumb_table table;
    const char **texts;
    size_t count, capacity;
};

void plumb_names_release(struct plumb_names *names);
/* UINT32_MAX when out of memory. */
uint32_t plumb_names_number(struct plumb_names *names, const char *text);

/* All of a row but its names. */
struct plumb_row plumb_row_of(const struct plumb_tensor_record *record);
/* And its names; false when out of memory. */
bool plumb_row_name(struct plumb_names *names, const struct plumb_tensor_record *record,
                    struct plumb_row *row);

void plumb_rows_release(struct plumb_rows *rows);
/* Replaces `rows` by the records of one rank from `first` to `last`, in the order of execution. */
enum plumb_status plumb_rows_load(struct plumb_rows *rows, struct plumb_names *names,
                                  struct plumb_run *run, int rank, int64_t first, int64_t last,
                                  struct plumb_error *err);
/* Is the row of a whole module, and what is called `label` in that? */
bool plumb_row_is_module_of(const struct plumb_row *row, const struct plumb_names *names,
                            uint32_t label);
/* May it be a weight? Dumps of single operations have them among the arguments, after the data. */
bool plumb_row_may_be_weight(const struct plumb_row *row, const struct plumb_names *names);
/* How many rows from `from` on belong to the same step. */
size_t plumb_rows_step_end(const struct plumb_rows *rows, size_t from);

#endif
