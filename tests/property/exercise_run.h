/*
 * exercise_run.h - does with a directory or file that may be a run everything a user could, and checks
 * what is promised: an error has a sentence, text can be printed, JSON is JSON, a run equals itself.
 */
#ifndef PLUMB_TESTS_EXERCISE_RUN_H
#define PLUMB_TESTS_EXERCISE_RUN_H

#include "property/exercise.h"

enum { EXERCISE_LONGEST_NAME = 1 << 20 };

static inline bool exercise_take_record(void *context, const struct plumb_tensor_record *record)
{
    ++*(size_t *)context;
    return record->label && record->slot && strlen(record->module) < EXERCISE_LONGEST_NAME;
}

static inline bool exercise_take_flight(void *context, int64_t step, int64_t time_ns,
                                        const char *what)
{
    (void)step;
    (void)time_ns;
    ++*(size_t *)context;
    return *what != '\0';
}

/* NULL, or what is wrong with a report; frees it. A table holds cells as they are. */
static inline const char *exercise_text(struct exercise_text *text, enum plumb_status status,
                                        enum plumb_report_form form)
{
    const char *complaint = NULL;
    if (status == PLUMB_OK && text->size) {
        if (form == PLUMB_REPORT_JSON && !json_is_valid(text->bytes, text->size))
            complaint = "the JSON is not valid";
        else if (form == PLUMB_REPORT_TEXT && !exercise_is_printable(text->bytes, text->size))
            complaint = "the text is not printable";
    }
    free(text->bytes);
    *text = (struct exercise_text){0};
    return complaint;
}

static inline const char *exercise_show(struct plumb_run *run)
{
    const char *complaint = NULL;
    for (int json = 0; json < 2 && !complaint; json++) {
        struct exercise_text text = {0};
        const struct plumb_sink sink = {exercise_keep, &text};
        const struct plumb_run_report_options options = {.json = json, .rank = -1, .op = "*"};
        complaint = exercise_text(&text, plumb_report_run(run, &options, &sink, NULL),
                                  json ? PLUMB_REPORT_JSON : PLUMB_REPORT_TEXT);
    }
    return complaint;
}

static const enum plumb_report_form exercise_forms[] = {PLUMB_REPORT_TEXT, PLUMB_REPORT_JSON,
                                                        PLUMB_REPORT_CSV, PLUMB_REPORT_HTML};
enum { EXERCISE_FORMS = sizeof exercise_forms / sizeof *exercise_forms };

static inline const char *exercise_nan(struct plumb_run *run)
{
    struct plumb_nan *nan = NULL;
    if (plumb_nan_find(run, &nan, NULL))
        return NULL;
    const char *complaint = NULL;
    for (int i = 0; i < EXERCISE_FORMS && !complaint; i++) {
        struct exercise_text text = {0};
        const struct plumb_sink sink = {exercise_keep, &text};
        complaint = exercise_text(&text, plumb_report_nan(nan, exercise_forms[i], &sink, NULL),
                                  exercise_forms[i]);
    }
    plumb_nan_free(nan);
    return complaint;
}

static inline const char *exercise_self_diff(struct plumb_run *run)
{
    struct plumb_run_diff *diff = NULL;
    const struct plumb_run_diff_options options = {.everything = true};
    if (plumb_run_diff_new(run, run, &options, &diff, NULL))
        return NULL;
    const char *complaint =
        plumb_run_diff_verdict(diff) == PLUMB_DIFFERENT
            ? exercise_about("a run differs from itself", plumb_run_diff_summary(diff))
            : NULL;
    for (int i = 0; i < EXERCISE_FORMS && !complaint; i++) {
        struct exercise_text text = {0};
        const struct plumb_sink sink = {exercise_keep, &text};
        const struct plumb_run_diff_report_options how = {.form = exercise_forms[i],
                                                          .all = true};
        complaint = exercise_text(&text, plumb_report_run_diff(diff, &how, &sink, NULL),
                                  exercise_forms[i]);
    }
    plumb_run_diff_free(diff);
    return complaint;
}

/* Aborts with a sentence if a promise is broken. */
static inline void exercise_run(const char *path)
{
    struct plumb_run *run = NULL;
    struct plumb_error error = {0};
    size_t seen = 0;
    if (plumb_run_open(path, &run, &error)) {
        if (!error.message[0])
            abort();
        return;
    }
    (void)plumb_run_visit_records(run, NULL, exercise_take_record, &seen, NULL);
    (void)plumb_run_visit_flight(run, 0, exercise_take_flight, &seen, NULL);
    const char *complaint = exercise_show(run);
    if (!complaint)
        complaint = exercise_nan(run);
    if (!complaint)
        complaint = exercise_self_diff(run);
    plumb_run_close(run);
    if (complaint) {
        fprintf(stderr, "broken promise: %s\n", complaint);
        abort();
    }
}

#endif
