/*
 * test_run_layout.c - a small network whose tensors are spread over ranks in every way is the same as the
 * one that has them whole; a wrong weight on one rank is found.
 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "compare/run_diff.h"
#include "unit/scratch_group.h"

enum { ROWS = 4, WIDTH = 6, HIDDEN = 8, LAYERS = 2, STEPS = 2 };

/* What one rank has. */
struct part {
    int rows[ROWS], row_count;
    int hidden_from, hidden_to; /* of the feed-forward */
    int layer_from, layer_to;
    int numbered_from; /* what it calls its first layer */
};

static const struct part whole = {{0, 1, 2, 3}, 4, 0, HIDDEN, 0, LAYERS, 0};

/* Small whole numbers: all sums are exact, whatever their order. */
static float weight_up(int layer, int h, int w)
{
    return (float)((layer * 31 + h * 7 + w * 3) % 5 - 2);
}

static float weight_down(int layer, int w, int h)
{
    return (float)((layer * 17 + w * 5 + h * 11) % 3 - 1);
}

static void record_matrix(struct plumb_recorder *recorder, const char *slot, int rows,
                          int columns, const float *values)
{
    const int64_t shape[] = {rows, columns};
    plumb_record_tensor(recorder, slot, PLUMB_F32, 2, shape, values);
}

/* z = (x up') down', with the hidden values [from, to) only; `z` is the whole sum. */
static void run_layer(struct plumb_recorder *recorder, const struct part *part, int layer,
                      bool wrong, float x[ROWS][WIDTH])
{
    const int hidden = part->hidden_to - part->hidden_from, rows = part->row_count;
    float up[HIDDEN * WIDTH], down[WIDTH * HIDDEN], y[ROWS * HIDDEN], partial[ROWS * WIDTH];
    float all[ROWS][WIDTH] = {{0}}, in[ROWS * WIDTH];
    char module[40];
    memset(partial, 0, sizeof partial);
    for (int h = 0; h < HIDDEN; h++)
        for (int r = 0; r < rows; r++) {
            float sum = 0;
            for (int w = 0; w < WIDTH; w++)
                sum += x[r][w] * (weight_up(layer, h, w) + (wrong && h == 5 && w == 2));
            const bool mine = h >= part->hidden_from && h < part->hidden_to;
            if (mine)
                y[r * hidden + h - part->hidden_from] = sum;
            for (int w = 0; w < WIDTH; w++) {
                all[r][w] += sum * weight_down(layer, w, h);
                partial[r * WIDTH + w] += mine ? sum * weight_down(layer, w, h) : 0;
            }
        }
    for (int h = 0; h < hidden; h++)
        for (int w = 0; w < WIDTH; w++) {
            const int at = h + part->hidden_from;
            up[h * WIDTH + w] = weight_up(layer, at, w) + (wrong && at == 5 && w == 2);
            down[w * hidden + h] = weight_down(layer, w, at);
        }
    for (int r = 0; r < rows; r++)
        memcpy(&in[r * WIDTH], x[r], sizeof x[r]);
    (void)snprintf(module, sizeof module, "layers.%d",
                   layer - part->layer_from + part->numbered_from);
    plumb_record_enter(recorder, PLUMB_PHASE_FORWARD, module, "up", PLUMB_CALL_COUNTED);
    record_matrix(recorder, "input0", rows, WIDTH, in);
    record_matrix(recorder, "param:weight", hidden, WIDTH, up);
    record_matrix(recorder, "output0", rows, hidden, y);
    plumb_record_leave(recorder);
    plumb_record_enter(recorder, PLUMB_PHASE_FORWARD, module, "down", PLUMB_CALL_COUNTED);
    record_matrix(recorder, "input0", rows, hidden, y);
    record_matrix(recorder, "param:weight", WIDTH, hidden, down);
    record_matrix(recorder, "output0", rows, WIDTH, partial);
    plumb_record_leave(recorder);
    for (int r = 0; r < rows; r++)
        for (int w = 0; w < WIDTH; w++) /* kept small, as a norm would */
            x[r][w] = (float)((int)all[r][w] % 5);
}

static void record(const char *name, const struct part *parts, int ranks, enum plumb_save save,
                   bool wrong)
{
    struct plumb_error error;
    char path[600];
    (void)snprintf(path, sizeof path, "%s", scratch_path(&scratch, name));
    for (int rank = 0; rank < ranks; rank++) {
        struct plumb_recorder *recorder = NULL;
        const struct part *part = &parts[rank];
        const struct plumb_recorder_options options = {
            .path = path, .rank = rank, .world_size = ranks, .no_thread = true, .save = save};
        assert_int_equal(plumb_recorder_open(&options, &recorder, &error), PLUMB_OK);
        for (int64_t step = 0; step < STEPS; step++) {
            float x[ROWS][WIDTH];
            for (int r = 0; r < part->row_count; r++)
                for (int w = 0; w < WIDTH; w++)
                    x[r][w] = (float)((part->rows[r] * 13 + w * 5 + step * 3) % 7 - 3);
            plumb_record_step_begin(recorder, step);
            for (int layer = 0; layer < part->layer_to; layer++) {
                /* What other stages compute is not recorded here. */
                struct plumb_recorder *mine = layer >= part->layer_from ? recorder : NULL;
                run_layer(mine, part, layer, wrong && layer == 1, x);
            }
            plumb_record_step_end(recorder);
        }
        assert_int_equal(plumb_recorder_close(recorder, NULL, &error), PLUMB_OK);
    }
}

#define TENSOR_RULES                                                                           \
    "{\"op\": \"*.up\", \"slot\": \"param:weight\", \"over\": \"tp\", \"axis\": 0},"           \
    "{\"op\": \"*.up\", \"slot\": \"output0\", \"over\": \"tp\", \"axis\": -1},"               \
    "{\"op\": \"*.down\", \"slot\": \"input0\", \"over\": \"tp\", \"axis\": 1},"               \
    "{\"op\": \"*.down\", \"slot\": \"param:weight\", \"over\": \"tp\", \"axis\": 1},"         \
    "{\"op\": \"*.down\", \"slot\": \"output0\", \"over\": \"tp\", \"sum\": true}"

static const struct {
    const char *name, *layout;
    int ranks;
    struct part parts[4];
} trials[] = {
    {"tensor parallel",
     "{\"ranks\": {\"tp\": 2}, \"split\": [" TENSOR_RULES "]}",
     2,
     {{{0, 1, 2, 3}, 4, 0, 4, 0, 2, 0}, {{0, 1, 2, 3}, 4, 4, 8, 0, 2, 0}}},
    {"uneven tensor parallel",
     "{\"ranks\": {\"tp\": 2}, \"split\": [" TENSOR_RULES "]}",
     2,
     {{{0, 1, 2, 3}, 4, 0, 3, 0, 2, 0}, {{0, 1, 2, 3}, 4, 3, 8, 0, 2, 0}}},
    {"pipeline of stages that number their own layers",
     "{\"ranks\": {\"pp\": 2}, \"renumber\": [{\"name\": \"layers.\", \"over\": \"pp\", "
     "\"by\": "
     "1}]}",
     2,
     {{{0, 1, 2, 3}, 4, 0, 8, 0, 1, 0}, {{0, 1, 2, 3}, 4, 0, 8, 1, 2, 0}}},
    {"pipeline of stages that do not",
     "{\"ranks\": {\"pp\": 2}}",
     2,
     {{{0, 1, 2, 3}, 4, 0, 8, 0, 1, 0}, {{0, 1, 2, 3}, 4, 0, 8, 1, 2, 1}}},
    {"data parallel",
     "{\"ranks\": {\"dp\": 2}, \"split\": [{\"slot\": \"param*\", \"over\": \"dp\", \"copy\": "
     "true}, {\"over\": \"dp\", \"axis\": 0}]}",
     2,
     {{{0, 1}, 2, 0, 8, 0, 2, 0}, {{2, 3}, 2, 0, 8, 0, 2, 0}}},
    {"context parallel, zigzag",
     "{\"ranks\": {\"cp\": 2}, \"split\": [{\"slot\": \"param*\", \"over\": \"cp\", \"copy\": "
     "true}, {\"over\": \"cp\", \"axis\": 0, \"order\": \"zigzag\"}]}",
     2,
     {{{0, 3}, 2, 0, 8, 0, 2, 0}, {{1, 2}, 2, 0, 8, 0, 2, 0}}},
    {"in an order of its own",
     "{\"ranks\": {\"cp\": 2}, \"split\": [{\"slot\": \"param*\", \"over\": \"cp\", \"copy\": "
     "true}, {\"over\": \"cp\", \"axis\": 0, \"order\": [1, 0]}]}",
     2,
     {{{2, 3}, 2, 0, 8, 0, 2, 0}, {{0, 1}, 2, 0, 8, 0, 2, 0}}},
    {"data and tensor parallel",
     "{\"ranks\": {\"dp\": 2, \"tp\": 2}, \"split\": [" TENSOR_RULES
     ", {\"slot\": \"param*\", \"over\": \"dp\", \"copy\": true}, {\"over\": \"dp\", \"axis\": "
     "0}]}",
     4,
     {{{0, 1}, 2, 0, 4, 0, 2, 0},
      {{0, 1}, 2, 4, 8, 0, 2, 0},
      {{2, 3}, 2, 0, 4, 0, 2, 0},
      {{2, 3}, 2, 4, 8, 0, 2, 0}}},
};

static struct plumb_run_diff *compare(const char *a, const char *b, const char *layout,
                                      struct plumb_run *runs[2])
{
    struct plumb_error error;
    struct plumb_run_diff *diff = NULL;
    char path[600];
    scratch_text(&scratch, "layout.json", layout);
    (void)snprintf(path, sizeof path, "%s", scratch_path(&scratch, "layout.json"));
    const struct plumb_run_diff_options options = {.layout_b = path};
    if (plumb_run_open(scratch_path(&scratch, a), &runs[0], &error) ||
        plumb_run_open(scratch_path(&scratch, b), &runs[1], &error) ||
        plumb_run_diff_new(runs[0], runs[1], &options, &diff, &error))
        fail_msg("%s", error.message);
    return diff;
}

static void finish(struct plumb_run_diff *diff, struct plumb_run *runs[2])
{
    plumb_run_diff_free(diff);
    plumb_run_close(runs[0]);
    plumb_run_close(runs[1]);
}

static void try_trial(size_t i, enum plumb_save save, bool wrong)
{
    struct plumb_run *runs[2];
    char a[32], b[32];
    (void)snprintf(a, sizeof a, "a%zu.%d.%d", i, (int)save, wrong);
    (void)snprintf(b, sizeof b, "b%zu.%d.%d", i, (int)save, wrong);
    record(a, &whole, 1, save, false);
    record(b, trials[i].parts, trials[i].ranks, save, wrong);
    struct plumb_run_diff *diff = compare(a, b, trials[i].layout, runs);
    const struct plumb_run_root *first = plumb_run_diff_root(diff, 0);
    const enum plumb_verdict verdict = plumb_run_diff_verdict(diff);
    const bool right = wrong ? verdict == PLUMB_DIFFERENT && first &&
                                   first->stage == PLUMB_STAGE_WEIGHTS &&
                                   strcmp(first->op, "layers.1.up") == 0
                       : save == PLUMB_SAVE_TENSORS ? verdict == PLUMB_IDENTICAL
                                                    : verdict <= PLUMB_ROUNDING;
    const struct plumb_layout_report *report = &diff->merged_b;
    if (!right || report->missing || report->unknown || report->unequal)
        fail_msg("%s, saved %d, wrong %d: %s; %s; %llu merged, %llu %llu %llu %s",
                 trials[i].name, (int)save, wrong, plumb_run_diff_summary(diff),
                 first ? first->reason : "-", (unsigned long long)report->merged,
                 (unsigned long long)report->missing, (unsigned long long)report->unknown,
                 (unsigned long long)report->unequal, report->first);
    finish(diff, runs);
}

static void every_layout(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof trials / sizeof *trials; i++)
        for (int wrong = 0; wrong < 2; wrong++) {
            try_trial(i, PLUMB_SAVE_TENSORS, wrong);
            try_trial(i, PLUMB_SAVE_STATS, wrong);
        }
}

static bool keep_text(void *context, const char *bytes, size_t size)
{
    (void)strncat(context, bytes, size);
    return true;
}

static void says(const struct plumb_run_diff *diff, enum plumb_report_form form,
                 const char *words)
{
    static char text[1 << 18];
    const struct plumb_sink sink = {keep_text, text};
    const struct plumb_run_diff_report_options options = {.form = form};
    text[0] = '\0';
    assert_int_equal(plumb_report_run_diff(diff, &options, &sink, NULL), PLUMB_OK);
    if (!strstr(text, words))
        fail_msg("no '%s' in %s", words, text);
}

/* What cannot be put together is told, and never the same. */
static void told(void **state)
{
    (void)state;
    struct plumb_run *runs[2];
    record("whole", &whole, 1, PLUMB_SAVE_FINGERPRINT, false);
    record("bits", trials[0].parts, 2, PLUMB_SAVE_FINGERPRINT, false);
    struct plumb_run_diff *diff = compare("whole", "bits", trials[0].layout, runs);
    assert_true(diff->merged_b.unknown > 0);
    assert_non_null(strstr(diff->merged_b.first, "fingerprints only"));
    assert_true(diff->blame.unknown >= diff->merged_b.unknown); /* not counted as the same */
    says(diff, PLUMB_REPORT_TEXT, "fingerprints only");
    says(diff, PLUMB_REPORT_JSON, "\"layout_a\":null,\"layout_b\":{\"ranks\":2,");
    says(diff, PLUMB_REPORT_JSON, "fingerprints only");
    says(diff, PLUMB_REPORT_HTML, "fingerprints only");
    finish(diff, runs);
    /* Without its rules, the pieces are taken for copies that do not agree. */
    diff = compare("whole", "bits", "{\"ranks\": {\"tp\": 2}}", runs);
    assert_true(diff->merged_b.unequal > 0);
    assert_true(plumb_run_diff_verdict(diff) > PLUMB_IDENTICAL);
    finish(diff, runs);
}

static void bad_layouts(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "[]",
        "{}",
        "{\"ranks\": {}}",
        "{\"ranks\": {\"tp\": 0}}",
        "{\"ranks\": {\"tp\": 4096, \"pp\": 2}}",
        "{\"ranks\": {\"tp\": 2}, \"split\": [{\"over\": \"dp\", \"axis\": 0}]}",
        "{\"ranks\": {\"tp\": 2}, \"split\": [{\"over\": \"tp\"}]}",
        ("{\"ranks\": {\"tp\": 2}, \"split\": [{\"over\": \"tp\", \"axis\": 0, \"order\": [0, "
         "0]}]}"),
        "{\"ranks\": {\"tp\": 2}, \"renumber\": [{\"name\": \"x\"}]}",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct plumb_layout layout;
        struct plumb_error error;
        if (!plumb_layout_parse("layout", texts[i], strlen(texts[i]), &layout, &error))
            fail_msg("taken for a layout: %s", texts[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_layout), cmocka_unit_test(told),
                                       cmocka_unit_test(bad_layouts)};
    return cmocka_run_group_tests(tests, scratch_group_open, scratch_group_close);
}
