/*
 * test_faults.c - every fault, mild and severe, shows in the series of a run against the healthy
 * run with the same options, and not before the step it begins at.
 */
#include "run_lab.h"

#include <math.h>

/* What the series of a sick run show. */
enum symptom {
    LOSS_HIGHER,     /* at the end, by a fifth */
    LOSS_OTHER,      /* somewhere, by more than a millionth */
    LOSS_BROKEN,     /* not finite, or a thousand times too large */
    RATE_OTHER,      /* the learning rate */
    GRADIENT_HIGHER, /* its norm, in some step, doubled */
    GRADIENT_LOWER,  /* halved */
    GRADIENT_OTHER,
    UPDATE_ZERO,
    UPDATE_OTHER,
    SKIPS_MORE,
    SCALE_OTHER,
    WEIGHTS_OTHER,
    EVAL_HIGHER,
    EVAL_OTHER,
    REPLICAS_DIFFER,
    BATCH_OTHER,
    SLOWER,
};

struct fault_case {
    const char *name, *arguments;
    enum symptom mild, severe;
    bool midway; /* begins at half of the steps */
};

static const struct fault_case cases[] = {
    {"lr-high", "", LOSS_HIGHER, LOSS_HIGHER, false},
    {"lr-low", "", LOSS_HIGHER, LOSS_HIGHER, false},
    {"lr-zero", "", UPDATE_ZERO, UPDATE_ZERO, false},
    {"beta2-high", "", UPDATE_OTHER, UPDATE_OTHER, false},
    {"eps-large", "", LOSS_HIGHER, LOSS_HIGHER, false},
    {"eps-zero-f16", "", LOSS_BROKEN, LOSS_BROKEN, false},
    {"decay-norms", "", UPDATE_OTHER, LOSS_HIGHER, false},
    {"momentum-high", "--optimizer momentum", UPDATE_OTHER, UPDATE_OTHER, false},
    {"no-warmup", "", RATE_OTHER, RATE_OTHER, false},
    {"wrong-horizon", "", RATE_OTHER, LOSS_HIGHER, false},
    {"optimizer-before-wrap", "", LOSS_HIGHER, UPDATE_ZERO, false},
    {"group-missing", "", UPDATE_OTHER, LOSS_HIGHER, false},
    {"step-twice", "", UPDATE_OTHER, UPDATE_OTHER, false},
    {"no-zero-grad", "", GRADIENT_OTHER, GRADIENT_HIGHER, false},
    {"clip-before-unscale", "--dtype f16", GRADIENT_LOWER, LOSS_HIGHER, false},
    {"no-clip", "", UPDATE_OTHER, LOSS_HIGHER, false},
    {"zero-init", "", LOSS_HIGHER, LOSS_HIGHER, false},
    {"init-large", "", LOSS_HIGHER, LOSS_HIGHER, false},
    {"init-small", "", LOSS_HIGHER, LOSS_HIGHER, false},
    {"missing-activation", "", LOSS_OTHER, LOSS_OTHER, false},
    {"double-softmax", "", LOSS_HIGHER, LOSS_HIGHER, false},
    {"no-softmax", "", GRADIENT_LOWER, GRADIENT_LOWER, false},
    {"wrong-loss", "", LOSS_OTHER, LOSS_HIGHER, false},
    {"sum-reduction", "", GRADIENT_HIGHER, GRADIENT_HIGHER, false},
    {"detached-branch", "", LOSS_HIGHER, LOSS_HIGHER, false},
    {"frozen-block", "", LOSS_HIGHER, UPDATE_ZERO, false},
    {"untied-weights", "--net gpt", GRADIENT_OTHER, LOSS_OTHER, false},
    {"norm-residual-swapped", "--net gpt", LOSS_OTHER, LOSS_OTHER, false},
    {"dropout-in-eval", "", EVAL_HIGHER, EVAL_HIGHER, false},
    {"bn-frozen", "--net cnn", EVAL_OTHER, EVAL_OTHER, false},
    {"bn-eval-in-train", "--net cnn", LOSS_OTHER, LOSS_OTHER, false},
    {"exp-activation", "", GRADIENT_HIGHER, LOSS_BROKEN, false},
    {"unscaled", "", LOSS_HIGHER, LOSS_HIGHER, false},
    {"double-scaled", "", LOSS_HIGHER, LOSS_HIGHER, false},
    {"constant-feature", "", LOSS_HIGHER, LOSS_HIGHER, false},
    {"shuffled-labels", "", LOSS_HIGHER, LOSS_HIGHER, false},
    {"label-off-by-one", "", LOSS_HIGHER, EVAL_HIGHER, false},
    {"sorted-order", "", LOSS_HIGHER, LOSS_HIGHER, false},
    {"duplicate-shards", "--ranks 2", LOSS_HIGHER, LOSS_HIGHER, false},
    {"same-worker-seed", "", BATCH_OTHER, BATCH_OTHER, false},
    {"imbalance", "", EVAL_HIGHER, EVAL_HIGHER, false},
    {"nan-sample", "", LOSS_BROKEN, LOSS_BROKEN, true},
    {"truncated-tail", "--net gpt", EVAL_HIGHER, EVAL_HIGHER, false},
    {"f16-overflow", "--dtype f16", SKIPS_MORE, LOSS_BROKEN, false},
    {"scale-one", "--dtype f16", SCALE_OTHER, GRADIENT_OTHER, false},
    {"scale-static", "--dtype f16", SKIPS_MORE, UPDATE_ZERO, false},
    {"bf16-no-master", "--dtype bf16", UPDATE_OTHER, UPDATE_OTHER, false},
    {"f16-accumulator", "", LOSS_OTHER, LOSS_OTHER, false},
    {"rounding-truncated", "--dtype bf16", LOSS_OTHER, LOSS_OTHER, false},
    {"rounding-odd", "--dtype bf16", LOSS_OTHER, LOSS_OTHER, false},
    {"saturating-overflow", "--dtype f16", LOSS_HIGHER, LOSS_HIGHER, false},
    {"gelu-approximated", "--net gpt", LOSS_OTHER, LOSS_OTHER, false},
    {"no-all-reduce", "--ranks 2", REPLICAS_DIFFER, REPLICAS_DIFFER, false},
    {"sum-not-mean", "--ranks 2", GRADIENT_OTHER, UPDATE_OTHER, false},
    {"message-lost", "--ranks 2 --steps 60", GRADIENT_OTHER, GRADIENT_OTHER, false},
    {"clip-one-rank", "--ranks 2", REPLICAS_DIFFER, REPLICAS_DIFFER, false},
    {"different-init", "--ranks 2", REPLICAS_DIFFER, REPLICAS_DIFFER, false},
    {"stale-parameters", "--ranks 2", LOSS_OTHER, LOSS_OTHER, false},
    {"race", "--ranks 2", GRADIENT_OTHER, LOSS_HIGHER, false},
    {"rank-lr", "--ranks 2", REPLICAS_DIFFER, REPLICAS_DIFFER, false},
    {"bitflip-mantissa", "--dropout 0", WEIGHTS_OTHER, WEIGHTS_OTHER, true},
    {"bitflip-mantissa-backward", "", GRADIENT_OTHER, GRADIENT_OTHER, true},
    {"bitflip-exponent", "--dropout 0", LOSS_BROKEN, LOSS_BROKEN, true},
    {"bitflip-exponent-backward", "", GRADIENT_HIGHER, GRADIENT_HIGHER, true},
    {"slow-rank", "--ranks 2 --steps 10", SLOWER, SLOWER, false},
    {"resume-lost-optimizer", "", UPDATE_OTHER, LOSS_HIGHER, true},
    {"resume-lost-rng", "", LOSS_OTHER, BATCH_OTHER, true},
    {"resume-sampler-reset", "", BATCH_OTHER, BATCH_OTHER, true},
    {"resume-lr-reset", "", RATE_OTHER, RATE_OTHER, true},
};

enum { CASES = sizeof cases / sizeof cases[0] };

static bool other(const struct lab_log *sick, const struct lab_log *well, enum column column)
{
    for (int i = 0; i < well->rows; i++) {
        double a = well->value[column][i], b = sick->value[column][i];
        if (isfinite(a) != isfinite(b) || fabs(a - b) > 1e-6 * fabs(a))
            return true;
    }
    return false;
}

/* In some step beyond `factor` times the healthy value. */
static bool beyond(const struct lab_log *sick, const struct lab_log *well, enum column column,
                   double factor)
{
    for (int i = 0; i < well->rows; i++) {
        double a = factor * well->value[column][i], b = sick->value[column][i];
        if (isfinite(a) && (factor > 1 ? !(b < a) : b < a))
            return true;
    }
    return false;
}

static double sum_of(const double *values, int count)
{
    double sum = 0;
    for (int i = 0; i < count; i++)
        sum += values[i];
    return sum;
}

static bool higher_at_the_end(const struct lab_log *sick, const struct lab_log *well,
                              enum column column)
{
    int count = column == EVAL ? 1 : 5; /* the last step always evaluates */
    return !(mean_of_last(sick, column, count) < 1.2 * mean_of_last(well, column, count));
}

static bool texts_differ(const char (*sick)[TEXT], const char (*well)[TEXT], int rows)
{
    for (int i = 0; i < rows; i++)
        if (strcmp(sick[i], well[i]) != 0)
            return true;
    return false;
}

static bool shows(enum symptom symptom, const struct lab_log *sick, const struct lab_log *well)
{
    switch (symptom) {
    case LOSS_HIGHER:
        return higher_at_the_end(sick, well, LOSS);
    case LOSS_OTHER:
        return other(sick, well, LOSS);
    case LOSS_BROKEN:
        return beyond(sick, well, LOSS, 1000);
    case RATE_OTHER:
        return other(sick, well, RATE);
    case GRADIENT_HIGHER:
        return beyond(sick, well, GRADIENT, 2);
    case GRADIENT_LOWER:
        return beyond(sick, well, GRADIENT, 0.5);
    case GRADIENT_OTHER:
        return other(sick, well, GRADIENT);
    case UPDATE_ZERO:
        return sum_of(sick->value[UPDATE], sick->rows) == 0;
    case UPDATE_OTHER:
        return other(sick, well, UPDATE);
    case SKIPS_MORE:
        return sum_of(sick->value[SKIPPED], sick->rows) >
               2 + sum_of(well->value[SKIPPED], well->rows);
    case SCALE_OTHER:
        return other(sick, well, SCALE);
    case EVAL_HIGHER:
        return higher_at_the_end(sick, well, EVAL) ||
               mean_of_last(sick, EVAL, 1) > 0.1 + mean_of_last(well, EVAL, 1);
    case EVAL_OTHER:
        return other(sick, well, EVAL);
    case REPLICAS_DIFFER:
        return mean_of_last(sick, REPLICAS, 1) > 1;
    case BATCH_OTHER:
        return texts_differ(sick->batch, well->batch, well->rows);
    case WEIGHTS_OTHER:
        return texts_differ(sick->weights, well->weights, well->rows);
    case SLOWER:
        return sum_of(sick->seconds, sick->rows) > 0.015 * sick->rows;
    }
    return false;
}

/* Until the fault begins the two runs are the same to the last digit. */
static void same_before(const struct fault_case *c, const struct lab_log *sick,
                        const struct lab_log *well)
{
    for (int i = 0; c->midway && i < well->rows / 2; i++) {
        if (sick->value[LOSS][i] != well->value[LOSS][i] ||
            strcmp(sick->weights[i], well->weights[i]) != 0)
            fail_msg("%s shows at step %d, before it begins", c->name, i);
    }
}

static void every_fault_shows(void **state)
{
    (void)state;
    static struct lab_log well, sick;
    char arguments[256];
    const char *done = NULL;
    for (int i = 0; i < CASES; i++) {
        const struct fault_case *c = &cases[i];
        const char *steps = strstr(c->arguments, "--steps") ? "" : "--steps 30";
        snprintf(arguments, sizeof arguments, "--seed 3 %s %s", steps, c->arguments);
        if (!done || strcmp(done, c->arguments) != 0)
            train(arguments, &well);
        done = c->arguments;
        for (int severe = 0; severe < 2; severe++) {
            snprintf(arguments, sizeof arguments, "--seed 3 %s %s --fault %s:%s", steps,
                     c->arguments, c->name, severe ? "severe" : "mild");
            train(arguments, &sick);
            assert_int_equal(sick.rows, well.rows);
            same_before(c, &sick, &well);
            if (!shows(severe ? c->severe : c->mild, &sick, &well))
                fail_msg("build/lab train %s: does not show", arguments);
        }
    }
}

static void every_fault_has_a_case(void **state)
{
    (void)state;
    char out[256];
    temporary(out, sizeof out, "faults");
    assert_int_equal(run_lab(out, "faults"), 0);
    char *text = read_text(out), *line = text;
    int listed = 0;
    for (; *line; line = strchr(line, '\n') + 1, listed++) {
        size_t length = strcspn(line, " ");
        bool known = false;
        for (int i = 0; i < CASES; i++)
            known = known || (strlen(cases[i].name) == length &&
                              memcmp(cases[i].name, line, length) == 0);
        if (!known)
            fail_msg("no case for %.*s", (int)length, line);
        assert_true(strcspn(line, "\n") > length + 20); /* a sentence follows */
    }
    assert_int_equal(listed, CASES);
    free(text);
    unlink(out);
}

/* A place that is given is where it happens. */
static void places_are_kept(void **state)
{
    (void)state;
    static struct lab_log well, sick;
    train("--seed 3 --steps 12 --ranks 2", &well);
    train("--seed 3 --steps 12 --ranks 2 --fault bitflip-exponent@step=7,layer=0,rank=0",
          &sick);
    for (int i = 0; i < 7; i++)
        assert_string_equal(sick.weights[i], well.weights[i]);
    assert_true(!isfinite(sick.value[LOSS][7]) || sick.value[LOSS][7] > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_fault_has_a_case),
        cmocka_unit_test(every_fault_shows),
        cmocka_unit_test(places_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
