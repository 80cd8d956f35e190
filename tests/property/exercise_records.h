/*
 * exercise_records.h - opens some bytes as a log, table or dump of records and does with them what a
 * user could: they must be refused with one line, or open and be reported.
 */
#ifndef PLUMB_TESTS_EXERCISE_RECORDS_H
#define PLUMB_TESTS_EXERCISE_RECORDS_H

#include "property/exercise.h"

#include <sys/mman.h>
#include <unistd.h>

/* What was found; a longer file tells no less of what it has. */
struct exercise_found {
    bool opened;
    size_t records, points, warnings;
};

static inline bool exercise_see_record(void *context, const struct plumb_tensor_record *record)
{
    ++*(size_t *)context;
    return record->label && record->slot && record->dims >= 0 && record->dims <= PLUMB_MAX_RANK;
}

static inline const char *exercise_run_reports(struct plumb_run *run, const char *path)
{
    const char *complaint = NULL;
    for (int json = 0; json < 2 && !complaint; json++) {
        struct exercise_text text = {0};
        const struct plumb_sink sink = {exercise_keep, &text};
        struct plumb_error err = {0};
        const struct plumb_run_report_options options = {.json = json, .rank = -1};
        const enum plumb_status status = plumb_report_run(run, &options, &sink, &err);
        if (status)
            complaint = exercise_error(status, &err, path);
        else if (json ? !json_is_valid(text.bytes, text.size)
                      : !exercise_is_printable(text.bytes, text.size))
            complaint = "the report is not what it should be";
        free(text.bytes);
    }
    return complaint;
}

/* NULL if all promises hold, else what is wrong. */
static inline const char *exercise_run_at(const char *path, bool report,
                                          struct exercise_found *found)
{
    struct plumb_run *run = NULL;
    struct plumb_error err = {0};
    *found = (struct exercise_found){.opened = false};
    const bool is_run = plumb_run_is(path);
    const enum plumb_status status = plumb_run_open(path, &run, &err);
    if (status)
        return is_run ? exercise_about("it is a run and does not open", err.message)
                      : exercise_error(status, &err, path);
    found->opened = true;
    const char *complaint = NULL;
    if (plumb_run_visit_records(run, NULL, exercise_see_record, &found->records, &err))
        complaint = exercise_error(err.status, &err, path);
    uint64_t counted = 0;
    for (size_t i = 0; i < plumb_run_rank_count(run); i++)
        counted += plumb_run_rank(run, i)->records;
    if (counted != found->records)
        complaint = "other records are visited than counted";
    for (size_t i = 0; i < plumb_run_series_count(run); i++)
        found->points += plumb_run_series(run, i)->count;
    found->warnings = plumb_run_warning_count(run);
    if (!complaint && report)
        complaint = exercise_run_reports(run, path);
    plumb_run_close(run);
    return complaint;
}

static inline const char *exercise_records(const void *bytes, size_t size, bool report,
                                           struct exercise_found *found)
{
    char path[64];
    const int fd = memfd_create("records", 0);
    if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
        return "the test cannot make a file";
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    const char *complaint = exercise_run_at(path, report, found);
    (void)close(fd);
    return complaint;
}

#endif
