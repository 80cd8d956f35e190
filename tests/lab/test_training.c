/*
 * test_training.c - the three networks learn, in all types and with all optimizers; the same seed
 * gives the same bits whatever the number of threads; several ranks are one.
 */
#include "run_lab.h"

#include <math.h>

#include "plumb.h"

/* After 100 steps: docs/lab.md states the same limits. */
static void networks_learn(void **state)
{
    (void)state;
    static const struct {
        const char *arguments;
        double first_low, first_high, last_high;
    } cases[] = {
        {"--net mlp --steps 100 --seed 1", 2.0, 2.7, 0.3},
        {"--net mlp --steps 100 --seed 2", 2.0, 2.7, 0.3},
        {"--net cnn --steps 100 --seed 1", 1.8, 2.4, 0.6},
        {"--net cnn --steps 100 --seed 2", 1.8, 2.4, 0.6},
        {"--net gpt --steps 100 --seed 1", 3.3, 3.8, 1.2},
        {"--net gpt --steps 100 --seed 2", 3.3, 3.8, 1.2},
        {"--net mlp --steps 60 --dtype bf16", 2.0, 2.7, 1.0},
        {"--net mlp --steps 60 --dtype f16", 2.0, 2.7, 1.0},
        {"--net gpt --steps 60 --dtype f16", 3.3, 3.8, 1.8},
        {"--net gpt --steps 60 --dtype bf16", 3.3, 3.8, 1.8},
        {"--net mlp --steps 60 --optimizer sgd", 2.0, 2.7, 1.4},
        {"--net mlp --steps 60 --optimizer momentum", 2.0, 2.7, 1.4},
        {"--net mlp --steps 60 --optimizer adam", 2.0, 2.7, 1.4},
        {"--net mlp --steps 60 --schedule linear", 2.0, 2.7, 1.0},
        {"--net mlp --steps 60 --schedule constant --clip 0 --warmup 0", 2.0, 2.7, 1.0},
        {"--net mlp --steps 60 --dtype f16 --loss-scale 1024", 2.0, 2.7, 1.0},
        {"--net mlp --steps 60 --dtype bf16 --round odd", 2.0, 2.7, 1.0},
        {"--net mlp --steps 60 --dtype f16 --accumulate f16", 2.0, 2.7, 1.0},
    };
    struct lab_log log;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        train(cases[i].arguments, &log);
        double first = log.value[LOSS][0], last = mean_of_last(&log, LOSS, 10);
        if (!(first > cases[i].first_low && first < cases[i].first_high &&
              last < cases[i].last_high))
            fail_msg("%s: loss from %g to %g", cases[i].arguments, first, last);
    }
}

static void same_output(const char *first, const char *second)
{
    char a[256], b[256];
    temporary(a, sizeof a, "a");
    temporary(b, sizeof b, "b");
    assert_int_equal(run_lab(a, first), 0);
    assert_int_equal(run_lab(b, second), 0);
    char *text_a = read_text(a), *text_b = read_text(b);
    assert_true(strlen(text_a) > 100);
    assert_string_equal(text_a, text_b);
    free(text_a);
    free(text_b);
    unlink(a);
    unlink(b);
}

static void a_seed_decides_all_bits(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "train --net mlp --steps 20 --seed 7",
        "train --net cnn --steps 20 --seed 7",
        "train --net gpt --steps 20 --seed 7 --dtype f16",
        "train --net gpt --steps 10 --seed 7 --ranks 3",
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char threads[256];
        snprintf(threads, sizeof threads, "%s --workers 7", cases[i]);
        same_output(cases[i], threads);
    }
}

static void another_seed_is_another_run(void **state)
{
    (void)state;
    struct lab_log a, b;
    train("--net mlp --steps 5 --seed 1", &a);
    train("--net mlp --steps 5 --seed 2", &b);
    assert_true(a.value[LOSS][0] != b.value[LOSS][0]);
    assert_string_not_equal(a.batch[0], b.batch[0]);
}

/* Means over 4 ranks are sums in another order: rounding, which some steps of plain gradient
 * descent hardly amplify. */
static void ranks_equal_one_rank(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "--net mlp --steps 20 --optimizer sgd --clip 0 --lr 0.1",
        "--net gpt --steps 10 --optimizer sgd --clip 0 --lr 0.1",
        "--net mlp --steps 10",
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (int ranks = 2; ranks <= 8; ranks *= 2) {
            char several[256];
            struct lab_log one, many;
            snprintf(several, sizeof several, "%s --ranks %d", cases[i], ranks);
            train(cases[i], &one);
            train(several, &many);
            for (int row = 0; row < one.rows; row++) {
                double a = one.value[LOSS][row], b = many.value[LOSS][row];
                if (fabs(a - b) > 3e-6 * fabs(a) * (row + 1))
                    fail_msg("%s: step %d: %.9g, alone %.9g", several, row, b, a);
                assert_true(many.value[REPLICAS][row] == 1);
            }
        }
}

static enum plumb_verdict verdict_on(const char *a, const char *b)
{
    struct plumb_file *files[2] = {NULL, NULL};
    struct plumb_diff *diff = NULL;
    assert_int_equal(plumb_file_open(a, NULL, &files[0], NULL), PLUMB_OK);
    assert_int_equal(plumb_file_open(b, NULL, &files[1], NULL), PLUMB_OK);
    assert_int_equal(plumb_diff_new(files[0], files[1], NULL, &diff, NULL), PLUMB_OK);
    enum plumb_verdict verdict = plumb_diff_verdict(diff);
    plumb_diff_free(diff);
    plumb_file_close(files[0]);
    plumb_file_close(files[1]);
    return verdict;
}

/* The weights of 4 ranks differ from those of one by rounding; those of a sick run do not. */
static void plumb_finds_ranks_alike(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "--net mlp --steps 3 --optimizer sgd --clip 0 --lr 0.1",
        "--net gpt --steps 2 --optimizer sgd --clip 0 --lr 0.1",
    };
    char out[256], paths[3][256], arguments[600];
    static const char *const variants[3] = {"", "--ranks 4", "--ranks 4 --fault sum-not-mean"};
    temporary(out, sizeof out, "printed");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (int v = 0; v < 3; v++) {
            char name[16];
            snprintf(name, sizeof name, "%d.npz", v);
            temporary(paths[v], sizeof paths[v], name);
            snprintf(arguments, sizeof arguments, "train %s %s --checkpoint %s", cases[i],
                     variants[v], paths[v]);
            assert_int_equal(run_lab(out, arguments), 0);
        }
        assert_int_equal(verdict_on(paths[0], paths[1]), PLUMB_ROUNDING);
        assert_int_equal(verdict_on(paths[0], paths[2]), PLUMB_DIFFERENT);
    }
    for (int v = 0; v < 3; v++)
        unlink(paths[v]);
    unlink(out);
}

static void odd_numbers_of_ranks(void **state)
{
    (void)state;
    struct lab_log log;
    train("--net mlp --steps 5 --ranks 3", &log);
    assert_int_equal(log.rows, 5);
    train("--net cnn --steps 5 --ranks 7", &log);
    assert_int_equal(log.rows, 5);
}

static void prints_a_line_a_step(void **state)
{
    (void)state;
    char out[256];
    temporary(out, sizeof out, "lines");
    assert_int_equal(run_lab(out, "train --net mlp --steps 3 --seed 1"), 0);
    char *text = read_text(out), *line = text;
    for (int i = 0; i < 3; i++) {
        char begin[32];
        snprintf(begin, sizeof begin, "step %d loss ", i);
        assert_memory_equal(line, begin, strlen(begin));
        assert_true(strtod(line + strlen(begin), NULL) > 0);
        line = strchr(line, '\n') + 1;
    }
    assert_int_equal(*line, '\0');
    free(text);
    unlink(out);
}

static void refuses_nonsense(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "train --net lstm",
        "train --steps 0",
        "train --steps",
        "train --ranks 9",
        "train --dtype i8",
        "train --frobnicate 1",
        "train --fault no-such-fault",
        "train --fault lr-high:awful",
        "train --fault lr-high@place=3",
        "train --net mlp --fault gelu-approximated",
        "train --ranks 1 --fault no-all-reduce",
        "train --fault zero-init@step=3",
        "train --fault frozen-block@layer=9",
        "dance",
    };
    char out[256], told[256];
    temporary(out, sizeof out, "refused");
    temporary(told, sizeof told, "told");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (run_lab_with(out, told, cases[i]) != 2)
            fail_msg("build/lab %s: exit 2 expected", cases[i]);
        char *text = read_text(told);
        assert_memory_equal(text, "lab: ", 5);
        assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1); /* one line */
        free(text);
    }
    unlink(out);
    unlink(told);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(networks_learn),
        cmocka_unit_test(a_seed_decides_all_bits),
        cmocka_unit_test(another_seed_is_another_run),
        cmocka_unit_test(ranks_equal_one_rank),
        cmocka_unit_test(plumb_finds_ranks_alike),
        cmocka_unit_test(odd_numbers_of_ranks),
        cmocka_unit_test(prints_a_line_a_step),
        cmocka_unit_test(refuses_nonsense),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
