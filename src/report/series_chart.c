/* series_chart.c - one series as a small picture of characters. */
#include "report/run_report.h"

#include "report/words.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { CHART_ROWS = 12, CHART_COLUMNS = 64, CHART_NARROWEST = 16, LABEL_COLUMNS = 14 };

struct chart {
    double low, high; /* of finite values */
    double least[CHART_COLUMNS], most[CHART_COLUMNS];
    bool any[CHART_COLUMNS], nonfinite[CHART_COLUMNS];
    size_t finite, bad;
    int columns;
};

static void gather(const struct plumb_series *series, struct chart *chart)
{
    chart->low = (double)INFINITY;
    chart->high = -(double)INFINITY;
    for (size_t i = 0; i < series->count; i++) {
        const size_t column = i * (size_t)chart->columns / series->count;
        const double value = series->values[i];
        if (!isfinite(value)) {
            chart->nonfinite[column] = true;
            chart->bad++;
            continue;
        }
        chart->least[column] = chart->any[column] ? fmin(chart->least[column], value) : value;
        chart->most[column] = chart->any[column] ? fmax(chart->most[column], value) : value;
        chart->any[column] = true;
        chart->low = fmin(chart->low, value);
        chart->high = fmax(chart->high, value);
        chart->finite++;
    }
}

/* Row of a value, 0 at the bottom. Halves first: the range of doubles is larger than a double. */
static int row_of(const struct chart *chart, double value)
{
    const double range = chart->high / 2 - chart->low / 2;
    if (!(range > 0))
        return CHART_ROWS / 2;
    const int row = (int)((value / 2 - chart->low / 2) / range * CHART_ROWS);
    return row < CHART_ROWS ? row : CHART_ROWS - 1;
}

static void draw_row(const struct chart *chart, int row, struct plumb_buffer *to)
{
    char label[WORD_SIZE] = "", cells[CHART_COLUMNS + 1];
    if (row == CHART_ROWS - 1 || row == 0)
        (void)plumb_word_number(row ? chart->high : chart->low, label);
    memset(cells, ' ', sizeof cells);
    for (int i = 0; i < chart->columns; i++) {
        if (chart->any[i] && row >= row_of(chart, chart->least[i]) &&
            row <= row_of(chart, chart->most[i]))
            cells[i] = '*';
        if (chart->nonfinite[i] && row == CHART_ROWS - 1)
            cells[i] = '!';
    }
    int end = chart->columns;
    while (end && cells[end - 1] == ' ')
        end--;
    plumb_buffer_printf(to, "%*s |%.*s\n", LABEL_COLUMNS - 2, label, end, cells);
}

void plumb_series_chart(const struct plumb_series *series, int width, struct plumb_buffer *to)
{
    struct chart chart = {.columns = CHART_COLUMNS};
    char count[WORD_SIZE], last[WORD_SIZE];
    if (width && width - LABEL_COLUMNS < CHART_COLUMNS)
        chart.columns = width - LABEL_COLUMNS;
    if (chart.columns < CHART_NARROWEST)
        chart.columns = CHART_NARROWEST;
    if ((size_t)chart.columns > series->count)
        chart.columns = (int)series->count;
    plumb_buffer_printf(to, "%s, rank %d: %s values", series->name, series->rank,
                        plumb_word_count(series->count, count));
    if (!series->count) {
        plumb_buffer_text(to, "\n");
        return;
    }
    const double value = series->values[series->count - 1];
    plumb_buffer_printf(to, ", last %s at step %lld\n",
                        isnan(value) ? "nan" : plumb_word_number(value, last),
                        (long long)series->steps[series->count - 1]);
    gather(series, &chart);
    for (int row = CHART_ROWS - 1; row >= 0 && chart.finite; row--)
        draw_row(&chart, row, to);
    plumb_buffer_printf(to, "%*s steps %lld to %lld\n", LABEL_COLUMNS, "",
                        (long long)series->steps[0],
                        (long long)series->steps[series->count - 1]);
    if (chart.bad)
        plumb_buffer_printf(to, "%*s ! %zu of the values are not finite\n", LABEL_COLUMNS, "",
                            chart.bad);
}
