/* show_run.c - see show_run.h. */
#include "show_run.h"

#include "command.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* For people six digits; in JSON as many as read back the same, and a string if not finite. */
static void print_value(double value, bool json)
{
    const char *quote = json && !isfinite(value) ? "\"" : "";
    char text[64];
    int digits = json ? 15 : 6;
    do
        (void)snprintf(text, sizeof text, "%.*g", digits, value);
    while (json && isfinite(value) && strtod(text, NULL) != value && digits++ < 17);
    (void)printf("%s%s%s", quote, isnan(value) ? "nan" : text, quote);
}

static void print_name(const char *name)
{
    for (; *name; name++)
        (void)putchar((unsigned char)*name < ' ' || *name == '"' || *name == '\\' ? '?'
                                                                                  : *name);
}

/* One line with every series of the rank that has a value at that step. */
static void print_step(const struct plumb_run *run, int rank, int64_t step, bool json)
{
    bool first = true;
    (void)printf(json ? "{\"rank\":%d,\"step\":%lld,\"series\":{" : "rank %d step %lld", rank,
                 (long long)step);
    for (size_t i = 0; i < plumb_run_series_count(run); i++) {
        const struct plumb_series *series = plumb_run_series(run, i);
        size_t at = series->count;
        while (at && series->steps[at - 1] > step)
            at--;
        if (series->rank != rank || !at || series->steps[at - 1] != step)
            continue;
        (void)printf(json ? (first ? "\"" : ",\"") : "  ");
        print_name(series->name);
        (void)printf(json ? "\":" : " ");
        print_value(series->values[at - 1], json);
        first = false;
    }
    (void)printf(json ? "}}\n" : "\n");
}

/* Steps after `shown` that the first series of the rank has; returns the last one. */
static int64_t print_news(const struct plumb_run *run, int rank, int64_t shown, bool json)
{
    const struct plumb_series *lead = NULL;
    for (size_t i = 0; i < plumb_run_series_count(run) && !lead; i++)
        if (plumb_run_series(run, i)->rank == rank)
            lead = plumb_run_series(run, i);
    for (size_t i = 0; lead && i < lead->count; i++)
        if (lead->steps[i] > shown) {
            shown = lead->steps[i];
            print_step(run, rank, shown, json);
        }
    return shown;
}

static int follow_run(struct plumb_run *run, const struct plumb_run_report_options *options)
{
    const struct timespec pause = {.tv_nsec = 200 * 1000 * 1000};
    const struct plumb_run_rank *first = plumb_run_rank(run, 0);
    const int rank = options->rank >= 0 ? options->rank : first ? first->rank : 0;
    int64_t shown = INT64_MIN;
    struct plumb_error error;
    for (;;) {
        const bool ended =
            plumb_run_ended(run) != PLUMB_ENDED_RUNNING && plumb_run_rank_count(run) > 0;
        shown = print_news(run, rank, shown, options->json);
        if (fflush(stdout) != 0)
            return EXIT_TROUBLE;
        if (ended)
            break;
        (void)nanosleep(&pause, NULL);
        if (plumb_run_refresh(run, &error))
            return fail(&error);
    }
    if (!options->json)
        (void)printf("the run is %s\n", plumb_ended_name(plumb_run_ended(run)));
    return EXIT_ALIKE;
}

int show_run(const char *path, const struct plumb_run_report_options *options, bool follow)
{
    struct plumb_run *run = NULL;
    struct plumb_error error;
    if (plumb_run_open(path, &run, &error))
        return fail(&error);
    int code = EXIT_ALIKE;
    if (follow)
        code = follow_run(run, options);
    else if (plumb_report_run(run, options, &standard_output, &error))
        code = fail(&error);
    plumb_run_close(run);
    return code;
}
