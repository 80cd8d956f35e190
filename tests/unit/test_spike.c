/*
 * test_spike.c - norms that rise before a loss spikes give an alarm in time; norms that are scaled,
 * repeated, noisy or falling give none.
 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "plumb.h"
#include "unit/scratch_group.h"

enum { BEFORE = 60, SEEDS = 200, PAGE = 1 << 17 };

static double noise(uint64_t *state)
{
    double sum = -6;
    for (int i = 0; i < 12; i++) {
        *state = *state * 6364136223846793005u + 1442695040888963407u;
        sum += (double)(*state >> 11) * 0x1p-53;
    }
    return sum;
}

static struct plumb_spike find(const char *name)
{
    struct plumb_run *run = NULL;
    struct plumb_error error;
    struct plumb_spike spike;
    if (plumb_run_open(scratch_path(&scratch, name), &run, &error))
        fail_msg("%s", error.message);
    plumb_spike_find(run, &spike);
    spike.series = NULL; /* belongs to the run */
    plumb_run_close(run);
    return spike;
}

static FILE *begin_at(const char *name, const char *header)
{
    FILE *file = fopen(scratch_path(&scratch, name), "w");
    assert_non_null(file);
    assert_true(fputs(header, file) >= 0);
    return file;
}

static FILE *begin(const char *header)
{
    return begin_at("log", header);
}

/* The spike of BLOOM-176B at iterations 31214 to 31222, from its public log (BigScience chronicles);
 * before it a norm of 0.25 with the usual noise. */
static void bloom(void **state)
{
    (void)state;
    static const double losses[] = {2.199, 2.220, 2.595, 2.242, 2.345,
                                    5.098, 3.492, 3.213, 2.805};
    static const double norms[] = {.242, .947, 2.39, 15.9, 145, 960, 353, 379, 650};
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        uint64_t chance = seed;
        FILE *file = begin("step,loss,grad_norm\n");
        for (int i = -BEFORE; i < 9; i++)
            (void)fprintf(file, "%d,%.4f,%.4f\n", 31214 + i,
                          i < 0 ? 2.2 + 0.03 * noise(&chance) : losses[i],
                          i < 0 ? 0.25 * exp(0.1 * noise(&chance)) : norms[i]);
        assert_int_equal(fclose(file), 0);
        const struct plumb_spike spike = find("log");
        assert_true(spike.alarms == 1);
        assert_int_equal(spike.loss_step, 31219); /* the peak */
        assert_true(spike.step <= 31216);         /* three steps before it */
        assert_true(spike.step >= 31215);
        assert_true(spike.times > 5 && spike.times < 20 && spike.loss_times > 2);
    }
}

/* A run without a spike, with noise as heavy as small batches make it. */
static void healthy_norms(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        uint64_t chance = seed * 77;
        FILE *file = begin("step,loss,grad_norm,update_norm,lr\n");
        for (int i = 0; i < 200; i++) {
            const double rate = i < 20 ? i + 1 : 20 * (1 + cos(i * 3.14159 / 200)) / 2;
            (void)fprintf(file, "%d,%g,%g,%g,%g\n", i,
                          8 * exp(-i / 50.0) * exp(0.1 * noise(&chance)),
                          3 * exp(-i / 80.0) * exp(0.35 * noise(&chance)),
                          rate * exp(0.1 * noise(&chance)), rate);
        }
        assert_int_equal(fclose(file), 0);
        assert_int_equal(find("log").alarms, 0);
    }
}

/* Its norm is multiplied by the loss scale and repeats where a step is skipped: no alarm from that. */
static void scaled_and_skipped(void **state)
{
    (void)state;
    for (int planted = 0; planted < 2; planted++) {
        uint64_t chance = 5;
        double norm = 0;
        FILE *file = begin("step,loss,grad_norm,loss_scale,skipped\n");
        for (int i = 0; i < 120; i++) {
            const double scale = i < 50 ? 1024 : i < 55 ? 65536 : 16384;
            const bool skipped = i == 55 || i == 80;
            const double rise = planted && i >= 100 ? pow(4, i - 99) : 1;
            if (!skipped)
                norm = scale * rise * exp(0.1 * noise(&chance));
            (void)fprintf(file, "%d,%g,%g,%g,%d\n", i, 2 + 0.05 * noise(&chance), norm, scale,
                          skipped);
        }
        assert_int_equal(fclose(file), 0);
        const struct plumb_spike spike = find("log");
        assert_int_equal(spike.alarms, planted);
        if (planted) {
            assert_int_equal(spike.step, 101);
            assert_int_equal(spike.loss_step, -1);
        }
    }
}

/* Adam's update doubles before its loss does, with a gradient that shows nothing yet. */
static void update_doubles(void **state)
{
    (void)state;
    uint64_t chance = 9;
    FILE *file = begin("step,loss,grad_norm,update_norm,lr\n");
    for (int i = 0; i < 100; i++) {
        const double rate = 1e-3 / (1 + i * 0.01);
        (void)fprintf(file, "%d,%g,%g,%g,%g\n", i, i >= 84 && i < 88 ? 6 : 2.5,
                      1 + 0.1 * noise(&chance),
                      40 * rate * (i >= 80 ? 2.6 : 1 + 0.05 * noise(&chance)), rate);
    }
    assert_int_equal(fclose(file), 0);
    const struct plumb_spike spike = find("log");
    assert_true(spike.alarms >= 1);
    assert_int_equal(spike.step, 81);
    assert_int_equal(spike.loss_step, 84);
}

static bool keep(void *context, const char *bytes, size_t size)
{
    char *page = context;
    const size_t length = strlen(page);
    assert_true(length + size < PAGE);
    memcpy(page + length, bytes, size);
    page[length + size] = '\0';
    return true;
}

/* Two logs of which one spikes: the text, the page and the JSON tell it. */
static void reports_tell_it(void **state)
{
    (void)state;
    static char page[PAGE];
    struct plumb_run *runs[2] = {NULL, NULL};
    struct plumb_run_diff *diff = NULL;
    for (int side = 0; side < 2; side++) {
        uint64_t chance = 3;
        FILE *file = begin_at(side ? "spiking" : "calm", "step,loss,grad_norm\n");
        for (int i = 0; i < 100; i++) {
            const double loss = 2 + 0.05 * noise(&chance);
            const double norm = exp(0.1 * noise(&chance));
            (void)fprintf(file, "%d,%g,%g\n", i, side && i >= 85 && i < 88 ? 7 : loss,
                          norm * (side && i >= 80 && i < 88 ? pow(4, i - 79) : 1));
        }
        assert_int_equal(fclose(file), 0);
        assert_int_equal(plumb_run_open(scratch_path(&scratch, side ? "spiking" : "calm"),
                                        &runs[side], NULL),
                         PLUMB_OK);
    }
    assert_int_equal(plumb_run_diff_new(runs[0], runs[1], NULL, &diff, NULL), PLUMB_OK);
    static const struct {
        enum plumb_report_form form;
        const char *words;
    } forms[] = {{PLUMB_REPORT_TEXT, "at step 81; the loss followed at step 85\n"},
                 {PLUMB_REPORT_HTML, "at step 81; the loss followed at step 85."},
                 {PLUMB_REPORT_JSON, "\"spikes\":[{"}};
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        const struct plumb_run_diff_report_options options = {.form = forms[i].form};
        const struct plumb_sink sink = {keep, page};
        page[0] = '\0';
        assert_int_equal(plumb_report_run_diff(diff, &options, &sink, NULL), PLUMB_OK);
        if (!strstr(page, forms[i].words))
            fail_msg("no '%s' in %s", forms[i].words, page);
    }
    plumb_run_diff_free(diff);
    plumb_run_close(runs[0]);
    plumb_run_close(runs[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(bloom), cmocka_unit_test(healthy_norms),
                                       cmocka_unit_test(scaled_and_skipped),
                                       cmocka_unit_test(update_doubles),
                                       cmocka_unit_test(reports_tell_it)};
    return cmocka_run_group_tests(tests, scratch_group_open, scratch_group_close);
}
