/* show_one.c - one tensor: statistics, its first values, and bars by magnitude. */
#include "report/show.h"

#include "base/error.h"
#include "base/memory.h"
#include "report/words.h"

#include <stdio.h>

enum { MOST_BARS = 24, BAR_COLUMNS = 40 };
enum { FIRST_VALUES = 8, FIRST_ROWS = 6, NUMBER_COLUMNS = 12 };

static void write_facts(const struct plumb_show *show, struct plumb_buffer *to)
{
    const struct plumb_tensor *tensor = show->tensors[0];
    const struct plumb_stats *stats = &show->summaries[0].stats;
    char shape[SHAPE_SIZE], bytes[WORD_SIZE], count[WORD_SIZE];
    plumb_buffer_printf(
        to, "%s  %s  %s  %s  fingerprint %016llx\n", tensor->name,
        plumb_word_shape(tensor, shape), plumb_dtype_name(tensor->dtype),
        plumb_word_bytes((uint64_t)tensor->count * plumb_dtype_size(tensor->dtype), bytes),
        (unsigned long long)show->summaries[0].fingerprint);
    plumb_buffer_printf(to, "\n  %-10s %s\n", "count", plumb_word_count(stats->count, count));
    const struct {
        const char *label;
        double value;
    } numbers[] = {{"min", stats->min}, {"max", stats->max}, {"mean", stats->mean},
                   {"std", stats->std}, {"l2", stats->l2},   {"abs mean", stats->abs_mean}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        char text[WORD_SIZE];
        plumb_buffer_printf(to, "  %-10s %s\n", numbers[i].label,
                            plumb_word_number(numbers[i].value, text));
    }
    const struct {
        const char *label;
        uint64_t value;
    } counts[] = {{"zero", stats->zero},           {"nan", stats->nan},
                  {"+inf", stats->pos_inf},        {"-inf", stats->neg_inf},
                  {"subnormal", stats->subnormal}, {"at max", stats->at_max}};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        if (counts[i].value)
            plumb_buffer_printf(to, "  %-10s %s (%.3g %%)\n", counts[i].label,
                                plumb_word_count(counts[i].value, count),
                                100.0 * (double)counts[i].value / (double)stats->count);
}

/* The first values of a row, which begins at element `first`. */
static enum plumb_status write_row(const struct plumb_tensor *tensor, int64_t first,
                                   int64_t length, int width, struct plumb_buffer *to,
                                   struct plumb_error *err)
{
    unsigned char raw[FIRST_VALUES * 16];
    double values[FIRST_VALUES * 2];
    const bool complex = plumb_dtype_is_complex(tensor->dtype);
    const int64_t count = length < FIRST_VALUES ? length : FIRST_VALUES;
    enum plumb_status status = plumb_tensor_read(tensor, first, count, raw, err);
    if (status == PLUMB_OK)
        status = plumb_convert_values(tensor->dtype, raw, complex ? PLUMB_C128 : PLUMB_F64,
                                      values, (size_t)count, PLUMB_ROUND_NEAREST_EVEN, err);
    if (status)
        return status;
    plumb_buffer_printf(to, "  %-10s", first ? "" : "values");
    for (int64_t i = 0; i < count; i++)
        if (complex)
            plumb_buffer_printf(to, " %*.6g%+.6gi", width, values[2 * i], values[2 * i + 1]);
        else
            plumb_buffer_printf(to, " %*.6g", width, values[i]);
    plumb_buffer_text(to, length > count ? " ...\n" : "\n");
    return PLUMB_OK;
}

/* A vector is one row; of anything larger the last axis runs along the rows. */
static enum plumb_status write_first_values(const struct plumb_tensor *tensor,
                                            struct plumb_buffer *to, struct plumb_error *err)
{
    const bool matrix = tensor->rank > 1;
    const int64_t length = matrix ? tensor->shape[tensor->rank - 1] : tensor->count;
    const int64_t rows = length ? tensor->count / length : 0;
    enum plumb_status status = PLUMB_OK;
    for (int64_t i = 0; i < rows && i < FIRST_ROWS && status == PLUMB_OK; i++)
        status = write_row(tensor, i * length, length, matrix ? NUMBER_COLUMNS : 0, to, err);
    if (rows > FIRST_ROWS)
        plumb_buffer_printf(to, "  %-10s ...\n", "");
    return status;
}

/* Several binades a bar if there are many, so that the picture fits a screen. */
static void write_bars(const struct plumb_histogram *histogram, struct plumb_buffer *to)
{
    int low = PLUMB_EXPONENT_COUNT, high = -1;
    for (int i = 0; i < PLUMB_EXPONENT_COUNT; i++) {
        if (!histogram->positive[i] && !histogram->negative[i])
            continue;
        low = low < i ? low : i;
        high = i;
    }
    if (high < low)
        return;
    const int step = (high - low) / MOST_BARS + 1;
    uint64_t bars[MOST_BARS][2] = {{0}}, most = 1;
    for (int i = low; i <= high; i++) {
        uint64_t *bar = bars[(i - low) / step];
        bar[0] += histogram->negative[i];
        bar[1] += histogram->positive[i];
        most = bar[0] + bar[1] > most ? bar[0] + bar[1] : most;
    }
    plumb_buffer_text(to, "\n  magnitude                    count  (- negative, + positive)\n");
    for (int i = (high - low) / step; i >= 0; i--) {
        const uint64_t total = bars[i][0] + bars[i][1];
        const int from = low + i * step + PLUMB_EXPONENT_MIN;
        const double scale = (double)BAR_COLUMNS / (double)most;
        char count[WORD_SIZE], range[WORD_SIZE];
        (void)snprintf(range, sizeof range, "2^%d .. 2^%d", from, from + step);
        plumb_buffer_printf(to, "  %-18s %16s  ", range, plumb_word_count(total, count));
        plumb_buffer_fill(to, '-', (size_t)((double)bars[i][0] * scale));
        plumb_buffer_fill(to, '+', (size_t)((double)bars[i][1] * scale));
        plumb_buffer_text(to, "\n");
    }
}

enum plumb_status plumb_show_one(const struct plumb_show *show, struct plumb_buffer *to,
                                 struct plumb_error *err)
{
    struct plumb_histogram *histogram = plumb_alloc_array(1, sizeof *histogram);
    if (!histogram)
        return plumb_fail_memory(err);
    write_facts(show, to);
    enum plumb_status status = write_first_values(show->tensors[0], to, err);
    if (status == PLUMB_OK)
        status = plumb_tensor_histogram(show->tensors[0], histogram, err);
    if (status == PLUMB_OK)
        write_bars(histogram, to);
    plumb_free(histogram);
    return status;
}
