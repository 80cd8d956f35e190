/* log_rows.c - see log_rows.h. */
#include "format/log_rows.h"

#include "base/error.h"
#include "base/number.h"
#include "base/settled.h"
#include "base/text.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { PROBED = 4 << 20, PROBED_LINES = 20000 };

/* ---- names -------------------------------------------------------------------------------------- */

static const struct {
    const char *name, *usual;
} names[] = {
    {"lm_loss", "loss"},
    {"train_batch_loss", "loss"},
    {"batch_loss", "loss"},
    {"loss/train", "loss"},
    {"loss/lm_loss", "loss"},
    {"loss/loss", "loss"},
    {"learningrate", "lr"},
    {"lr/group_0", "lr"},
    {"lr_group_0", "lr"},
    {"current_lr", "lr"},
    {"learning_rate", "lr"},
    {"gradient_norm", "grad_norm"},
    {"gnorm", "grad_norm"},
    {"global_norm", "grad_norm"},
    {"global_grad_norm", "grad_norm"},
    {"total_norm", "grad_norm"},
    {"gradnorm", "grad_norm"},
    {"grad_norm/global", "grad_norm"},
    {"grad_norm/all", "grad_norm"},
    {"params_norm", "param_norm"},
    {"parameter_norm", "param_norm"},
    {"weight_norm", "param_norm"},
    {"scaling_sens", "loss_scale"},
    {"scale", "loss_scale"},
    {"loss_scaler", "loss_scale"},
    {"overflow_cond", "overflow"},
    {"number_of_skipped_iterations", "skipped"},
    {"number_of_nan_iterations", "nan_iterations"},
    {"elapsed_time_per_iteration_ms", "step_ms"},
    {"per_step_time", "step_ms"},
    {"throughput_per_gpu_tflop/s/gpu", "tflops"},
};

static const char step_names[] =
    "step steps iter iters iteration iterations global_step "
    "global_steps iter_num step_num _step train_step trainer/global_step "
    "train/global_step";

/* "grad norm" and "Grad-Norm" are grad_norm. */
static void tidy(const char *name, size_t length, char out[PLUMB_LOG_NAME])
{
    size_t used = 0;
    for (size_t i = 0; i < length && used < PLUMB_LOG_NAME - 1; i++) {
        const unsigned char c = (unsigned char)name[i];
        const bool kept = isalnum(c) || c == '/' || c == '.' || c == '_' || c >= 0x80;
        if (kept)
            out[used++] = (char)(c < 0x80 ? tolower(c) : c);
        else if (used && out[used - 1] != '_')
            out[used++] = '_';
    }
    while (used && out[used - 1] == '_')
        used--;
    out[used] = '\0';
}

static bool is_step_name(const char *tidied)
{
    return plumb_text_has_word(step_names, tidied);
}

bool plumb_log_is_step(const char *name, size_t length)
{
    char tidied[PLUMB_LOG_NAME];
    tidy(name, length, tidied);
    return is_step_name(tidied);
}

static const char *find_usual(const char *tidied)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(tidied, names[i].name) == 0)
            return names[i].usual;
    return tidied;
}

void plumb_log_usual_name(const char *name, char usual[PLUMB_LOG_NAME])
{
    static const char *const heads[] = {"train/",     "train_", "training/", "train.",
                                        "optimizer/", "optim/", "metrics/"};
    char tidied[PLUMB_LOG_NAME];
    tidy(name, strlen(name), tidied);
    const char *rest = tidied;
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        if (plumb_text_starts(rest, heads[i]) && strlen(rest) > strlen(heads[i]))
            rest += strlen(heads[i]);
    (void)snprintf(usual, PLUMB_LOG_NAME, "%s", find_usual(rest));
}

void plumb_log_row_add(struct plumb_log_row *row, const char *name, size_t length, double value)
{
    char tidied[PLUMB_LOG_NAME];
    tidy(name, length, tidied);
    if (is_step_name(tidied) && isfinite(value) && fabs(value) < 1e18) {
        row->step = row->has_step ? row->step : (int64_t)value;
        row->has_step = true;
        return;
    }
    if (strcmp(tidied, "epoch") == 0) {
        row->has_epoch = true;
        row->epoch = value;
    }
    const char *usual = find_usual(tidied);
    if (plumb_log_row_has(row, usual))
        usual = tidied; /* a part of the loss beside the whole */
    if (!*usual || row->count == PLUMB_LOG_MOST_VALUES || plumb_log_row_has(row, usual))
        return;
    struct plumb_log_value *to = &row->values[row->count++];
    (void)snprintf(to->name, sizeof to->name, "%s", usual);
    to->value = value;
}

bool plumb_log_row_has(const struct plumb_log_row *row, const char *name)
{
    for (size_t i = 0; i < row->count; i++)
        if (strcmp(row->values[i].name, name) == 0)
            return true;
    return false;
}

/* ---- steps --------------------------------------------------------------------------------------- */

/* Begins again in a new epoch: goes on after the steps of the ones before. */
static int64_t global_step(struct plumb_log_clock *clock, const struct plumb_log_row *row)
{
    const int64_t step = row->has_step ? row->step : clock->rows;
    if (row->steps_of_epoch > 0 && row->has_epoch && row->epoch >= 1 && row->epoch < 1e9)
        return ((int64_t)row->epoch - 1) * row->steps_of_epoch + step;
    if (clock->begun && row->has_epoch && row->has_step && row->epoch > clock->epoch) {
        if (step <= clock->last)
            clock->offset += clock->last + (clock->smallest == 0);
        clock->smallest = step;
    }
    clock->smallest = clock->begun && clock->smallest < step ? clock->smallest : step;
    clock->epoch = row->has_epoch ? row->epoch : clock->epoch;
    clock->last = step;
    clock->begun = true;
    return step + clock->offset;
}

enum plumb_status plumb_log_emit(struct plumb_log_clock *clock, const struct plumb_log_row *row,
                                 const struct plumb_record_feed *feed, struct plumb_error *err)
{
    if (!row->count || !feed->series)
        return PLUMB_OK;
    const int64_t step = global_step(clock, row);
    clock->rows++;
    for (size_t i = 0; i < row->count; i++)
        if (!feed->series(feed->context, row->values[i].name, step, row->values[i].value))
            return plumb_fail(err, PLUMB_STOPPED, -1, "stopped");
    return PLUMB_OK;
}

/* ---- lines --------------------------------------------------------------------------------------- */

bool plumb_log_next_line(const struct plumb_map *map, size_t *at, const char **line,
                         size_t *length, bool *torn)
{
    const char *text = (const char *)map->base;
    if (*at >= map->size)
        return false;
    size_t end = *at;
    while (end < map->size && text[end] != '\n' && text[end] != '\r')
        end++;
    *line = text + *at;
    *length = end - *at;
    *torn = end == map->size;
    *at = end + 1;
    return true;
}

static size_t word_at(const char *text, size_t length, const char *word)
{
    const size_t size = strlen(word);
    const bool same = length >= size && strncasecmp(text, word, size) == 0;
    return same && (length == size || !isalnum((unsigned char)text[size])) ? size : 0;
}

size_t plumb_log_number(const char *text, size_t length, double *value)
{
    static const struct {
        const char *word;
        double value;
    } words[] = {{"nan", (double)NAN},
                 {"inf", (double)INFINITY},
                 {"-inf", -(double)INFINITY},
                 {"infinity", (double)INFINITY},
                 {"-infinity", -(double)INFINITY},
                 {"true", 1},
                 {"false", 0}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const size_t size = word_at(text, length, words[i].word);
        if (size) {
            *value = words[i].value;
            return size;
        }
    }
    size_t end = 0;
    while (end < length && end < 64 &&
           (isdigit((unsigned char)text[end]) ||
            ((text[end] == '-' || text[end] == '+') &&
             (end == 0 || text[end - 1] == 'e' || text[end - 1] == 'E')) ||
            text[end] == '.' ||
            ((text[end] == 'e' || text[end] == 'E') && end && end + 1 < length &&
             (isdigit((unsigned char)text[end + 1]) || text[end + 1] == '-' ||
              text[end + 1] == '+'))))
        end++;
    while (end && (text[end - 1] == '.' || text[end - 1] == '+' || text[end - 1] == '-'))
        end--;
    return end && plumb_number_parse(text, end, value) ? end : 0;
}

enum plumb_probe plumb_log_probe(const struct plumb_map *map, plumb_log_parse *parse)
{
    const char *line;
    size_t length, lines = 0;
    bool torn;
    const struct plumb_map start = {
        .base = map->base, .size = map->size < PROBED ? map->size : PROBED, .fd = -1};
    if (memchr(start.base, '\0', start.size < 4096 ? start.size : 4096))
        return PLUMB_PROBE_NO; /* not text */
    for (size_t at = 0;
         plumb_log_next_line(&start, &at, &line, &length, &torn) && lines++ < PROBED_LINES;) {
        struct plumb_log_row row = {.count = 0};
        if (length <= PLUMB_LOG_LONGEST_LINE && parse(line, length, &row))
            return PLUMB_PROBE_LIKELY;
    }
    return PLUMB_PROBE_NO;
}

bool plumb_log_is_finished(const char *path, const struct plumb_record_feed *feed,
                           enum plumb_status *status, struct plumb_error *err)
{
    if (plumb_file_is_settled(path))
        return true;
    *status = plumb_record_warn(feed, false, err,
                                "%s: the last line is not finished and the file is being "
                                "written; left out",
                                path);
    return false;
}

struct text_log {
    plumb_log_parse *parse;
};

static enum plumb_status read_lines(const void *context, const struct plumb_record_part *part,
                                    const struct plumb_map *map,
                                    const struct plumb_record_feed *feed,
                                    struct plumb_error *err)
{
    const struct text_log *log = context;
    struct plumb_log_clock clock = {0};
    const char *line;
    size_t length, too_long = 0;
    bool torn = false;
    enum plumb_status status = PLUMB_OK;
    for (size_t at = 0; !status && plumb_log_next_line(map, &at, &line, &length, &torn);) {
        struct plumb_log_row row = {.count = 0};
        too_long += length > PLUMB_LOG_LONGEST_LINE;
        if (length > PLUMB_LOG_LONGEST_LINE || !log->parse(line, length, &row))
            continue;
        if (!torn || plumb_log_is_finished(part->path, feed, &status, err))
            status = plumb_log_emit(&clock, &row, feed, err);
    }
    if (!status && too_long)
        status = plumb_record_warn(feed, false, err,
                                   "%s: %zu lines are longer than 64 KiB; left out", part->path,
                                   too_long);
    return status;
}

enum plumb_status plumb_log_read(const struct plumb_record_part *part,
                                 const struct plumb_record_feed *feed, plumb_log_parse *parse,
                                 struct plumb_error *err)
{
    const struct text_log log = {parse};
    return plumb_series_read(part, feed, read_lines, &log, err);
}

/* ---- pairs ---------------------------------------------------------------------------------------- */

static bool is_name_character(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '/' || c == '.' || c == '-' ||
           (unsigned char)c >= 0x80;
}

static size_t skip(const char *line, size_t length, size_t at, const char *these)
{
    while (at < length && line[at] && strchr(these, line[at]))
        at++;
    return at;
}

/* After the name: an optional sign, then the number; returns where it ends, 0 if there is none. */
static size_t number_after(const char *line, size_t length, size_t at, bool *has_sign,
                           double *value, double *total)
{
    at = skip(line, length, at, " \t'\"");
    *has_sign = at < length && (line[at] == ':' || line[at] == '=');
    if (*has_sign)
        at++;
    else if (word_at(line + at, length - at, "is")) {
        at += 2;
        *has_sign = true;
    }
    at = skip(line, length, at, " \t[(");
    const size_t digits = plumb_log_number(line + at, length - at, value);
    if (!digits)
        return 0;
    at += digits;
    *total = 0;
    const size_t slash = skip(line, length, at, " ");
    if (slash < length && line[slash] == '/') {
        const size_t next = skip(line, length, slash + 1, " ");
        const size_t more = plumb_log_number(line + next, length - next, total);
        at = more ? next + more : at;
    }
    return at;
}

/* Where the name of the field begins: after the last comma or bracket. */
static size_t field_start(const char *line, size_t name)
{
    while (name && !strchr(",{}|;[]()", line[name - 1]))
        name--;
    return name;
}

void plumb_log_pairs(const char *line, size_t length, struct plumb_log_row *row)
{
    size_t taken = 0; /* end of the last number */
    for (size_t at = 0; at < length;) {
        if (!isalpha((unsigned char)line[at]) && line[at] != '_') {
            at++;
            continue;
        }
        const size_t begin = at;
        while (at < length && is_name_character(line[at]))
            at++;
        double value = 0, total = 0;
        bool has_sign = false;
        const size_t end = number_after(line, length, at, &has_sign, &value, &total);
        if (!end)
            continue;
        size_t name = begin;
        const size_t field = field_start(line, begin);
        if (has_sign && line[at] == ':' && field >= taken && field > 0)
            name = skip(line, length, field, " \t'\"");
        const bool step = plumb_log_is_step(line + name, at - name);
        if (step && total > 0 && total < 1e15)
            row->steps_of_epoch = (int64_t)total;
        plumb_log_row_add(row, line + name, at - name, value);
        at = taken = end;
    }
}
