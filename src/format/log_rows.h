/*
 * log_rows.h - what logs and tables of losses have in common: a row has a step and named numbers.
 *
 * The usual names of a thing become one ("lm loss", "loss"; "learning rate", "lr"), so that logs of
 * two frameworks can be laid side by side. Where steps begin again in every epoch they go on here.
 */
#ifndef PLUMB_FORMAT_LOG_ROWS_H
#define PLUMB_FORMAT_LOG_ROWS_H

#include "format/record_format.h"

enum { PLUMB_LOG_MOST_VALUES = 64, PLUMB_LOG_NAME = 96, PLUMB_LOG_LONGEST_LINE = 1 << 16 };

struct plumb_log_value {
    char name[PLUMB_LOG_NAME];
    double value;
};

struct plumb_log_row {
    bool has_step, has_epoch;
    int64_t step;
    double epoch;
    int64_t steps_of_epoch; /* 0: the row does not say */
    size_t count;
    struct plumb_log_value values[PLUMB_LOG_MOST_VALUES];
};

/* Takes one named number: the step, the epoch, or a value under its usual name. */
void plumb_log_row_add(struct plumb_log_row *row, const char *name, size_t length,
                       double value);
/* Does it have a value of that name? */
bool plumb_log_row_has(const struct plumb_log_row *row, const char *name);
/* Does a column of this name count the steps? */
bool plumb_log_is_step(const char *name, size_t length);

/* The name under which a thing is known whoever logs it: "lm loss" and "train/loss" are "loss". */
void plumb_log_usual_name(const char *name, char usual[PLUMB_LOG_NAME]);

/* Where a log has got to. */
struct plumb_log_clock {
    int64_t rows;           /* steps of rows that have none */
    int64_t offset;         /* of the epoch */
    int64_t last, smallest; /* as written, in this epoch */
    double epoch;
    bool begun;
};

/* Hands the row over under its step; PLUMB_STOPPED if the feed wants no more. */
enum plumb_status plumb_log_emit(struct plumb_log_clock *clock, const struct plumb_log_row *row,
                                 const struct plumb_record_feed *feed, struct plumb_error *err);

/* The next line of a text, at a newline or carriage return; false at the end. The last one is
 * *torn if nothing ends it. */
bool plumb_log_next_line(const struct plumb_map *map, size_t *at, const char **line,
                         size_t *length, bool *torn);
/* What to do with a last line that nothing ends: its last number may have had more digits. True:
 * nobody writes the file any more, so it is whole. Else the feed is told that it is left out. */
bool plumb_log_is_finished(const char *path, const struct plumb_record_feed *feed,
                           enum plumb_status *status, struct plumb_error *err);

/* A number at `text`, among them nan, inf, True and False; returns its length, 0 if there is none. */
size_t plumb_log_number(const char *text, size_t length, double *value);

/* Text logs: a function that turns a line into a row, or says that it is none. */
typedef bool plumb_log_parse(const char *line, size_t length, struct plumb_log_row *row);

/* LIKELY if some line among the first megabytes is one. */
enum plumb_probe plumb_log_probe(const struct plumb_map *map, plumb_log_parse *parse);
enum plumb_status plumb_log_read(const struct plumb_record_part *part,
                                 const struct plumb_record_feed *feed, plumb_log_parse *parse,
                                 struct plumb_error *err);

/* Every "name: number", "name=number", "name number" and "name is number" of a line. A field between
 * commas may have a name of several words; of [2/100] the first number is taken. */
void plumb_log_pairs(const char *line, size_t length, struct plumb_log_row *row);

#endif
