/* run_text.c - a run for people: ranks, series, configuration, ops of the last step, the end. */
#include "report/run_report.h"

#include "report/table_text.h"
#include "report/words.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_SERIES = 40, MOST_OPS = 40, LAST_OPERATIONS = 8 };

bool plumb_run_steps(const struct plumb_run *run, int64_t *first, int64_t *last)
{
    bool any = false;
    for (size_t i = 0; i < plumb_run_rank_count(run); i++) {
        const struct plumb_run_rank *rank = plumb_run_rank(run, i);
        if (rank->first_step > rank->last_step)
            continue;
        *first = any && *first < rank->first_step ? *first : rank->first_step;
        *last = any && *last > rank->last_step ? *last : rank->last_step;
        any = true;
    }
    return any;
}

static void write_more(size_t count, size_t most, const char *what, struct plumb_buffer *to)
{
    if (count > most)
        plumb_buffer_printf(to, "  and %zu more %s\n", count - most, what);
}

static void write_note(const struct plumb_note *note, struct plumb_buffer *to)
{
    plumb_buffer_printf(to, "  %s: ", note->key);
    plumb_setting_text(note->json, to);
    plumb_buffer_text(to, "\n");
}

static void write_head(const struct plumb_run *run, struct plumb_buffer *to)
{
    int64_t first = 0, last = 0;
    const size_t ranks = plumb_run_rank_count(run);
    const char *format = plumb_run_format(run);
    if (strcmp(format, "plumb") == 0)
        plumb_buffer_printf(to, "%s: a run, %s", plumb_run_path(run),
                            plumb_ended_name(plumb_run_ended(run)));
    else
        plumb_buffer_printf(to, "%s: records of %s", plumb_run_path(run), format);
    plumb_buffer_printf(to, "; %zu rank%s", ranks, ranks == 1 ? "" : "s");
    if (plumb_run_steps(run, &first, &last))
        plumb_buffer_printf(to, ", steps %lld to %lld", (long long)first, (long long)last);
    plumb_buffer_text(to, "\n");
    for (size_t i = 0; i < plumb_run_note_count(run); i++) {
        const struct plumb_note *note = plumb_run_note(run, i);
        if (strcmp(note->key, "command_line") == 0 || strcmp(note->key, "framework") == 0)
            write_note(note, to);
    }
}

static void write_ranks(const struct plumb_run *run, int width, struct plumb_buffer *to)
{
    static const char *const titles[] = {"rank",  "ended",    "steps", "records",
                                         "spans", "counters", "saved", "dropped"};
    struct plumb_table_text table;
    char word[WORD_SIZE];
    plumb_table_text_init(&table);
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++)
        plumb_table_text_column(&table, titles[i], i != 1);
    for (size_t i = 0; i < plumb_run_rank_count(run); i++) {
        const struct plumb_run_rank *rank = plumb_run_rank(run, i);
        const struct plumb_dropped *dropped = &rank->dropped;
        plumb_table_text_cell(&table, "%d", rank->rank);
        plumb_table_text_cell(&table, "%s", plumb_ended_name(rank->ended));
        const uint64_t counts[] = {
            rank->steps,
            rank->records,
            rank->spans,
            rank->counters,
            rank->saved,
            dropped->values + dropped->tensors + dropped->spans + dropped->counters};
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
            plumb_table_text_cell(&table, "%s", plumb_word_count(counts[c], word));
    }
    plumb_buffer_text(to, "\n");
    plumb_table_text_write(&table, width, to);
    plumb_table_text_release(&table);
    for (size_t i = 0; i < plumb_run_rank_count(run); i++)
        if (plumb_run_rank(run, i)->ended == PLUMB_ENDED_STOPPED ||
            (*plumb_run_rank(run, i)->how && strcmp(plumb_run_rank(run, i)->how, "closed")))
            plumb_buffer_printf(to, "  rank %d: %s\n", plumb_run_rank(run, i)->rank,
                                plumb_run_rank(run, i)->how);
}

/* A log has nothing but series: its loss says more than a table of ranks. */
static bool is_log(const struct plumb_run *run)
{
    for (size_t i = 0; i < plumb_run_rank_count(run); i++) {
        const struct plumb_run_rank *rank = plumb_run_rank(run, i);
        if (rank->steps || rank->records || rank->ended != PLUMB_ENDED_CLOSED)
            return false;
    }
    return strcmp(plumb_run_format(run), "plumb") != 0 && plumb_run_series_count(run);
}

static void write_loss(const struct plumb_run *run, int width, struct plumb_buffer *to)
{
    const struct plumb_series *loss = plumb_run_find_series(run, "loss", -1);
    for (size_t i = 0; i < plumb_run_series_count(run) && !loss; i++)
        if (strstr(plumb_run_series(run, i)->name, "loss"))
            loss = plumb_run_series(run, i);
    plumb_buffer_text(to, "\n");
    plumb_series_chart(loss ? loss : plumb_run_series(run, 0), width, to);
}

static void write_series(const struct plumb_run *run, int width, struct plumb_buffer *to)
{
    static const char *const titles[] = {"series", "rank", "count", "first",
                                         "last",   "min",  "max"};
    struct plumb_table_text table;
    const size_t count = plumb_run_series_count(run);
    if (!count)
        return;
    plumb_table_text_init(&table);
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++)
        plumb_table_text_column(&table, titles[i], i > 0);
    for (size_t i = 0; i < count && i < MOST_SERIES; i++) {
        const struct plumb_series *series = plumb_run_series(run, i);
        char words[4][WORD_SIZE];
        double low = (double)NAN, high = (double)NAN;
        for (size_t k = 0; k < series->count; k++) {
            low = fmin(low, series->values[k]);
            high = fmax(high, series->values[k]);
        }
        const double numbers[] = {
            series->count ? series->values[0] : (double)NAN,
            series->count ? series->values[series->count - 1] : (double)NAN, low, high};
        plumb_table_text_cell(&table, "%s", series->name);
        plumb_table_text_cell(&table, "%d", series->rank);
        plumb_table_text_cell(&table, "%zu", series->count);
        for (size_t k = 0; k < 4; k++)
            plumb_table_text_cell(&table, "%s",
                                  isnan(numbers[k]) ? "nan"
                                                    : plumb_word_number(numbers[k], words[k]));
    }
    plumb_buffer_text(to, "\n");
    plumb_table_text_write(&table, width, to);
    plumb_table_text_release(&table);
    write_more(count, MOST_SERIES, "series", to);
}

/* The last step at which any rank has tensor records, and how many. */
struct last_step {
    int64_t step;
    size_t records;
    bool stats; /* more than fingerprints */
};

static bool keep_step(void *context, const struct plumb_tensor_record *record)
{
    struct last_step *last = context;
    if (record->step > last->step)
        *last = (struct last_step){.step = record->step};
    last->records += record->step == last->step;
    last->stats |= record->step == last->step && record->has_stats;
    return true;
}

static enum plumb_status write_ops(struct plumb_run *run, int width, struct plumb_buffer *to,
                                   struct plumb_error *err)
{
    const struct plumb_run_rank *rank = plumb_run_rank(run, 0);
    struct last_step last = {.step = INT64_MIN};
    /* Records come in order: those of the last steps tell. */
    struct plumb_run_query query = {.rank = -1, .some_steps = true};
    if (!rank || !rank->records)
        return PLUMB_OK;
    enum plumb_status status = PLUMB_OK;
    for (int64_t back = 1; last.step == INT64_MIN && !status && back < INT64_MAX / 4;
         back *= 4) {
        query.last_step = rank->last_step;
        query.first_step = rank->last_step - back;
        status = plumb_run_visit_records(run, &query, keep_step, &last, err);
        if (query.first_step < -1)
            break;
    }
    if (status || last.step == INT64_MIN)
        return status;
    const long long step = last.step;
    if (!last.stats) {
        plumb_buffer_printf(
            to,
            "\n  %zu fingerprints of tensors at step %lld; `plumb show %s --step "
            "%lld` lists them\n",
            last.records, step, plumb_run_path(run), step);
        return PLUMB_OK;
    }
    query = (struct plumb_run_query){
        .rank = rank->rank, .some_steps = true, .first_step = step, .last_step = step};
    plumb_buffer_printf(to, "\n  tensor records of rank %d at step %lld\n", rank->rank, step);
    return plumb_records_text(run, &query, MOST_OPS, width, to, err);
}

/* ---- how it ended --------------------------------------------------------------------------- */

struct tail {
    char lines[LAST_OPERATIONS][256];
    size_t count;
};

static bool keep_line(void *context, int64_t step, int64_t time_ns, const char *what)
{
    struct tail *tail = context;
    (void)time_ns;
    (void)snprintf(tail->lines[tail->count++ % LAST_OPERATIONS], sizeof tail->lines[0],
                   "step %lld: %.200s", (long long)step, what);
    return true;
}

static void write_last_operations(struct plumb_run *run, struct plumb_buffer *to)
{
    for (size_t i = 0; i < plumb_run_rank_count(run); i++) {
        const struct plumb_run_rank *rank = plumb_run_rank(run, i);
        struct tail tail = {.count = 0};
        if (rank->ended != PLUMB_ENDED_KILLED ||
            plumb_run_visit_flight(run, rank->rank, keep_line, &tail, NULL) || !tail.count)
            continue;
        plumb_buffer_printf(to, "\n  the last operations of rank %d, which nobody closed\n",
                            rank->rank);
        const size_t shown = tail.count < LAST_OPERATIONS ? tail.count : LAST_OPERATIONS;
        for (size_t k = tail.count - shown; k < tail.count; k++)
            plumb_buffer_printf(to, "    %s\n", tail.lines[k % LAST_OPERATIONS]);
    }
}

void plumb_run_warnings_text(const struct plumb_run *run, struct plumb_buffer *to)
{
    if (plumb_run_warning_count(run))
        plumb_buffer_text(to, "\n");
    for (size_t i = 0; i < plumb_run_warning_count(run); i++)
        plumb_buffer_printf(to, "  warning: %s\n", plumb_run_warning(run, i));
}

enum plumb_status plumb_run_text(struct plumb_run *run,
                                 const struct plumb_run_report_options *options,
                                 struct plumb_buffer *to, struct plumb_error *err)
{
    write_head(run, to);
    if (is_log(run))
        write_loss(run, options->width, to);
    else
        write_ranks(run, options->width, to);
    write_series(run, options->width, to);
    plumb_run_config_text(run, to);
    const enum plumb_status status = write_ops(run, options->width, to, err);
    write_last_operations(run, to);
    plumb_run_warnings_text(run, to);
    return status;
}
