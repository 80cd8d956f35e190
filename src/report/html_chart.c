/*
 * html_chart.c - a series of one or two runs as a picture in the page (SVG).
 *
 * Of many steps each column of the picture keeps its smallest and its largest value, so that a spike of one
 * step is seen and the file stays small. A range of more than three powers of ten is drawn by powers.
 */
#include "report/html_page.h"

#include "report/words.h"

#include <math.h>

enum { WIDTH = 680, HEIGHT = 190, LEFT = 80, RIGHT = 12, TOP = 14, BOTTOM = 26, COLUMNS = 400 };

static const double power_range = 1000;

struct frame {
    double low, high; /* of finite values; logarithms if `powers` */
    double first, last;
    bool any, powers;
};

static void widen(struct frame *frame, const struct plumb_series *series)
{
    for (size_t i = 0; series && i < series->count; i++) {
        const double step = (double)series->steps[i], value = series->values[i];
        frame->first = fmin(frame->first, step);
        frame->last = fmax(frame->last, step);
        if (!isfinite(value))
            continue;
        frame->any = true;
        frame->low = fmin(frame->low, value);
        frame->high = fmax(frame->high, value);
    }
}

static struct frame frame_of(const struct plumb_html_chart *chart)
{
    struct frame frame = {.low = (double)INFINITY,
                          .high = -(double)INFINITY,
                          .first = (double)INFINITY,
                          .last = -(double)INFINITY};
    widen(&frame, chart->a);
    widen(&frame, chart->b);
    frame.powers = frame.any && frame.low > 0 && frame.high / frame.low > power_range;
    if (frame.powers) {
        frame.low = log10(frame.low);
        frame.high = log10(frame.high);
    }
    return frame;
}

static double place_x(const struct frame *frame, double step)
{
    const double range = frame->last - frame->first;
    return LEFT + (range > 0 ? (step - frame->first) / range : 0.5) * (WIDTH - LEFT - RIGHT);
}

/* Halves first: the range of doubles is larger than a double. */
static double place_y(const struct frame *frame, double value)
{
    const double at = frame->powers ? log10(value) : value;
    const double range = frame->high / 2 - frame->low / 2;
    const double share = range > 0 ? (at / 2 - frame->low / 2) / range : 0.5;
    return HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM);
}

static void draw_point(struct plumb_buffer *to, const struct frame *frame,
                       const struct plumb_series *series, size_t i)
{
    plumb_buffer_printf(to, " %.1f,%.1f", place_x(frame, (double)series->steps[i]),
                        place_y(frame, series->values[i]));
}

/* The smallest and the largest of a column, in the order they came. */
static void draw_column(struct plumb_buffer *to, const struct frame *frame,
                        const struct plumb_series *series, size_t from, size_t end)
{
    size_t least = end, most = end;
    for (size_t i = from; i < end; i++) {
        if (!isfinite(series->values[i]))
            continue;
        least = least == end || series->values[i] < series->values[least] ? i : least;
        most = most == end || series->values[i] > series->values[most] ? i : most;
    }
    if (least == end)
        return;
    draw_point(to, frame, series, least < most ? least : most);
    if (least != most)
        draw_point(to, frame, series, least < most ? most : least);
}

static void draw_line(struct plumb_buffer *to, const struct frame *frame,
                      const struct plumb_series *series, const char *side)
{
    if (!series || !series->count)
        return;
    const size_t columns = series->count < COLUMNS ? series->count : COLUMNS;
    plumb_buffer_printf(to, "<polyline class=\"%s\" points=\"", side);
    for (size_t i = 0; i < columns && frame->any; i++)
        draw_column(to, frame, series, i * series->count / columns,
                    (i + 1) * series->count / columns);
    plumb_buffer_text(to, "\"/>\n");
    double told = -(double)INFINITY; /* one mark a pixel is enough */
    for (size_t i = 0; i < series->count; i++) {
        const double x = place_x(frame, (double)series->steps[i]);
        if (isfinite(series->values[i]) || x < told + 1)
            continue;
        plumb_buffer_printf(to, "<circle class=\"lost\" cx=\"%.1f\" cy=\"%d\" r=\"2.5\"/>\n", x,
                            TOP - 6);
        told = x;
    }
}

static void draw_frame(struct plumb_buffer *to, const struct frame *frame)
{
    char text[WORD_SIZE];
    plumb_buffer_printf(to, "<line class=\"frame\" x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\"/>\n",
                        LEFT, HEIGHT - BOTTOM, WIDTH - RIGHT, HEIGHT - BOTTOM);
    if (frame->any) {
        const double low = frame->powers ? pow(10, frame->low) : frame->low;
        const double high = frame->powers ? pow(10, frame->high) : frame->high;
        plumb_buffer_printf(to, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>\n",
                            LEFT - 6, TOP + 4, plumb_word_number(high, text));
        plumb_buffer_printf(to, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>\n",
                            LEFT - 6, HEIGHT - BOTTOM, plumb_word_number(low, text));
    }
    plumb_buffer_printf(to, "<text x=\"%d\" y=\"%d\">step %.0f</text>\n", LEFT, HEIGHT - 8,
                        frame->first);
    plumb_buffer_printf(to, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%.0f</text>\n",
                        WIDTH - RIGHT, HEIGHT - 8, frame->last);
}

static void draw_names(struct plumb_buffer *to, const struct plumb_html_chart *chart)
{
    if (!chart->a || !chart->b)
        return;
    plumb_buffer_printf(to,
                        "<text class=\"a\" x=\"%d\" y=\"%d\">A</text>\n"
                        "<text class=\"b\" x=\"%d\" y=\"%d\">B</text>\n",
                        WIDTH / 2 - 20, HEIGHT - 8, WIDTH / 2, HEIGHT - 8);
}

void plumb_html_chart(struct plumb_buffer *to, const struct plumb_html_chart *chart)
{
    const struct frame frame = frame_of(chart);
    if (!(frame.first <= frame.last))
        return;
    plumb_buffer_printf(to,
                        "<figure>\n<svg viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" "
                        "role=\"img\">\n<title>",
                        WIDTH, HEIGHT, WIDTH, HEIGHT);
    plumb_html_text(to, chart->title);
    plumb_buffer_text(to, "</title>\n");
    draw_frame(to, &frame);
    if (chart->has_mark) {
        const double x = place_x(&frame, (double)chart->marked);
        plumb_buffer_printf(
            to, "<line class=\"mark\" x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\"/>\n", x, TOP,
            x, HEIGHT - BOTTOM);
    }
    draw_line(to, &frame, chart->a, "a");
    draw_line(to, &frame, chart->b, "b");
    draw_names(to, chart);
    plumb_buffer_text(to, "</svg>\n<figcaption>");
    plumb_html_text(to, chart->title);
    plumb_buffer_text(to, frame.powers ? " (by powers of ten)" : "");
    plumb_buffer_text(to, "</figcaption>\n</figure>\n");
}
