/*
 * test_recorded_run.c - what the lab recorded, read back: the series are those of the log, every
 * step has its phases, queues, batch and collectives, and replicas agree unless they are made not
 * to.
 */
#include "run_lab.h"

#include <math.h>

#include "lab_run_folder.h"
#include "plumb.h"

enum { STEPS = 12, RANKS = 2 };

static struct plumb_run *record(const char *arguments, struct lab_log *log)
{
    char folder[256], all[600];
    struct plumb_run *run = NULL;
    struct plumb_error error;
    temporary(folder, sizeof folder, "run");
    remove_tree(folder);
    snprintf(all, sizeof all, "%s --steps %d --out %s", arguments, STEPS, folder);
    train(all, log);
    if (plumb_run_open(folder, &run, &error))
        fail_msg("%s", error.message);
    assert_int_equal(plumb_run_warning_count(run), 0);
    assert_int_equal(plumb_run_ended(run), PLUMB_ENDED_CLOSED);
    return run;
}

static void finish(struct plumb_run *run)
{
    remove_tree(plumb_run_path(run));
    plumb_run_close(run);
}

static void series_are_those_of_the_log(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum column column;
    } cases[] = {
        {"loss", LOSS},          {"lr", RATE},          {"grad_norm", GRADIENT},
        {"update_norm", UPDATE}, {"loss_scale", SCALE}, {"skipped", SKIPPED},
        {"replicas", REPLICAS},  {"eval_loss", EVAL},   {"eval_accuracy", ACCURACY},
    };
    static struct lab_log log;
    struct plumb_run *run = record("--net mlp --dtype f16 --ranks 2", &log);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (int rank = 0; rank < RANKS; rank++) {
            const struct plumb_series *series = plumb_run_find_series(run, cases[i].name, rank);
            assert_non_null(series);
            bool sparse = cases[i].column == EVAL || cases[i].column == ACCURACY;
            assert_int_equal(series->count, sparse ? 3 : STEPS);
            for (size_t k = 0; k < series->count; k++) {
                double logged = log.value[cases[i].column][series->steps[k]];
                if (fabs(series->values[k] - logged) > 1e-8 * fabs(logged))
                    fail_msg("%s at step %d: %.17g, logged %.17g", cases[i].name,
                             (int)series->steps[k], series->values[k], logged);
            }
        }
    assert_non_null(plumb_run_find_series(run, "throughput", 0));
    finish(run);
}

struct counts {
    int phases[6], queues, memory, batches, updates, forward, backward;
    int64_t next_sequence;
};

static const char *const phases[6] = {"data wait",  "forward",   "backward",
                                      "all-reduce", "optimizer", "evaluation"};

static bool count_span(void *context, const struct plumb_span *span)
{
    struct counts *counts = context;
    assert_true(span->end_ns >= span->begin_ns);
    for (int i = 0; i < 6; i++)
        counts->phases[i] += strcmp(span->name, phases[i]) == 0;
    return true;
}

static bool count_counter(void *context, const struct plumb_counter *counter)
{
    struct counts *counts = context;
    counts->queues += strncmp(counter->name, "queue.", 6) == 0;
    counts->memory += strcmp(counter->name, "memory.resident") == 0 && counter->value > 1e5;
    return true;
}

static bool count_collective(void *context, const struct plumb_rank_collective *row)
{
    struct counts *counts = context;
    assert_string_equal(row->collective.group, "data");
    assert_int_equal(row->collective.sequence, counts->next_sequence);
    counts->next_sequence++;
    return true;
}

static bool count_record(void *context, const struct plumb_tensor_record *record)
{
    struct counts *counts = context;
    counts->batches += strcmp(record->label, "data.batch") == 0;
    counts->updates += record->phase == PLUMB_PHASE_OPTIMIZER;
    counts->forward += record->phase == PLUMB_PHASE_FORWARD;
    counts->backward += record->phase == PLUMB_PHASE_BACKWARD;
    return true;
}

static void every_step_is_complete(void **state)
{
    (void)state;
    static struct lab_log log;
    struct plumb_run *run = record("--net mlp --ranks 2", &log);
    for (int rank = 0; rank < RANKS; rank++) {
        struct plumb_run_query query = {.rank = rank};
        struct counts counts = {.next_sequence = 0};
        assert_int_equal(plumb_run_visit_spans(run, &query, count_span, &counts, NULL),
                         PLUMB_OK);
        assert_int_equal(plumb_run_visit_counters(run, &query, count_counter, &counts, NULL),
                         PLUMB_OK);
        assert_int_equal(
            plumb_run_visit_collectives(run, &query, count_collective, &counts, NULL),
            PLUMB_OK);
        assert_int_equal(plumb_run_visit_records(run, &query, count_record, &counts, NULL),
                         PLUMB_OK);
        for (int i = 0; i < 5; i++)
            if (counts.phases[i] != STEPS)
                fail_msg("%d spans of %s", counts.phases[i], phases[i]);
        assert_int_equal(counts.phases[5], 3);
        assert_int_equal(counts.queues, 2 * 5 * STEPS);
        assert_int_equal(counts.memory, STEPS);
        assert_int_equal(counts.next_sequence, 2 * STEPS); /* two messages a step */
        assert_int_equal(counts.batches, 2 * STEPS);       /* features and labels */
        assert_int_equal(counts.updates, 4 * 8 * STEPS);   /* 8 parameters */
        assert_true(counts.forward > 20 * STEPS && counts.backward > 20 * STEPS);
    }
    finish(run);
}

struct replicas {
    uint64_t fingerprint[RANKS][64];
    int count[RANKS];
};

static bool take_weights(void *context, const struct plumb_tensor_record *record)
{
    struct replicas *replicas = context;
    if (record->phase == PLUMB_PHASE_OPTIMIZER)
        replicas->fingerprint[record->rank][replicas->count[record->rank]++] =
            record->fingerprint;
    return replicas->count[record->rank] < 64;
}

static bool replicas_agree(const char *arguments)
{
    static struct lab_log log;
    struct plumb_run *run = record(arguments, &log);
    struct replicas replicas = {.count = {0}};
    struct plumb_run_query query = {.rank = -1,
                                    .some_steps = true,
                                    .first_step = STEPS - 1,
                                    .last_step = STEPS - 1,
                                    .slot = "param"};
    assert_int_equal(plumb_run_visit_records(run, &query, take_weights, &replicas, NULL),
                     PLUMB_OK);
    finish(run);
    assert_int_equal(replicas.count[0], 8);
    assert_int_equal(replicas.count[1], 8);
    return memcmp(replicas.fingerprint[0], replicas.fingerprint[1], 8 * sizeof(uint64_t)) == 0;
}

static void replicas_agree_unless_told(void **state)
{
    (void)state;
    assert_true(replicas_agree("--net mlp --ranks 2"));
    assert_false(replicas_agree("--net mlp --ranks 2 --fault rank-lr:mild"));
}

static void a_nan_is_traced_to_its_fault(void **state)
{
    (void)state;
    static const struct {
        const char *arguments;
        int64_t step;
        const char *op;
    } cases[] = {
        {"--net mlp --fault nan-sample@step=5", 5, "data.batch"},
        {"--net cnn --fault nan-sample@step=7", 7, "data.batch"},
        {"--net mlp --fault bitflip-exponent@step=4,layer=2", 4, "layers.2.linear"},
        {"--net cnn --fault bitflip-exponent@step=6,layer=0", 6, "stages.0.conv.conv2d"},
        {"--net gpt --fault bitflip-exponent@step=3,layer=0", 3,
         "blocks.0.feed.project.linear"},
        {"--net mlp --dtype f16 --fault f16-overflow@layer=1", 0, "layers.1.relu.gain.scale"},
        {"--net mlp --fault eps-zero-f16", 0, "layers.0.linear.weight.update"},
    };
    static struct lab_log log;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct plumb_run *run = record(cases[i].arguments, &log);
        struct plumb_nan *nan = NULL;
        assert_int_equal(plumb_nan_find(run, &nan, NULL), PLUMB_OK);
        const struct plumb_nan_place *origin = plumb_nan_origin(nan);
        if (!origin || origin->step != cases[i].step || strcmp(origin->op, cases[i].op) != 0)
            fail_msg("%s: traced to %s at step %d", cases[i].arguments,
                     origin ? origin->op : "nothing", origin ? (int)origin->step : -1);
        plumb_nan_free(nan);
        finish(run);
    }
}

static void healthy_runs_have_no_nan(void **state)
{
    (void)state;
    static const char *const cases[] = {"--net mlp", "--net cnn", "--net gpt --dtype f16"};
    static struct lab_log log;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct plumb_run *run = record(cases[i], &log);
        struct plumb_nan *nan = NULL;
        assert_int_equal(plumb_nan_find(run, &nan, NULL), PLUMB_OK);
        assert_null(plumb_nan_origin(nan));
        plumb_nan_free(nan);
        finish(run);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(series_are_those_of_the_log),
        cmocka_unit_test(every_step_is_complete),
        cmocka_unit_test(replicas_agree_unless_told),
        cmocka_unit_test(a_nan_is_traced_to_its_fault),
        cmocka_unit_test(healthy_runs_have_no_nan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
