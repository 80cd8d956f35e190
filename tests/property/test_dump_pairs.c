/*
 * test_dump_pairs.c - what holds for any two dumps: a dump is itself, A against B and B against A agree,
 * ranks may come in any order, and a dump cut off anywhere is never called the same as the whole.
 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "plumb.h"
#include "unit/scratch_group.h"

enum { OPS = 6, RANKS = 4, TEXT = 16384, ROUNDS = 60 };

/* What is done to one op of a dump. */
enum plant { NONE, LAST_DIGIT, TENTH, NOT_FINITE, SHAPE, LEFT_OUT, PLANTS };

struct dump {
    enum plant plant;
    int op; /* that has it */
    bool hashed;
};

struct answer {
    enum plumb_status status;
    enum plumb_verdict verdict;
    bool names_missing; /* the summary says that something was not compared */
    size_t warnings;
    char op[64];
    int rank;
};

/* ---- dumps ------------------------------------------------------------------------------------ */

static size_t put_tensor(char *text, size_t at, const struct dump *dump, int op, bool spoiled)
{
    const enum plant plant = spoiled ? dump->plant : NONE;
    const double factor = plant == LAST_DIGIT ? 1 + 1e-7 : plant == TENTH ? 1.1 : 1;
    const double size = factor * (op + 2);
    at += (size_t)snprintf(text + at, TEXT - at,
                           "{\"type\": \"torch.Tensor\", \"dtype\": \"torch.float32\", "
                           "\"shape\": [%d, 8], ",
                           plant == SHAPE ? 3 : 4);
    if (plant == NOT_FINITE)
        at += (size_t)snprintf(text + at, TEXT - at,
                               "\"Max\": NaN, \"Min\": NaN, \"Mean\": NaN, \"Norm\": NaN");
    else
        at += (size_t)snprintf(text + at, TEXT - at,
                               "\"Max\": %.9g, \"Min\": %.9g, \"Mean\": %.9g, \"Norm\": %.9g",
                               size, -size, size / 8, 4 * size);
    if (dump->hashed)
        at += (size_t)snprintf(text + at, TEXT - at, ", \"md5\": \"%08x\"",
                               0x1000U * (unsigned)(op + 2) + (unsigned)plant);
    return at + (size_t)snprintf(text + at, TEXT - at, "}");
}

/* Ops that each take what the one before made; what a plant does is passed on. */
static size_t make_text(char *text, const struct dump *dump)
{
    size_t at = (size_t)snprintf(text, TEXT,
                                 "{\"task\": \"statistics\", \"level\": \"L1\", \"framework\": "
                                 "\"pytorch\", \"dump_data_dir\": null, \"data\": {");
    bool first = true;
    for (int op = 0; op < OPS; op++) {
        if (dump->plant == LEFT_OUT && op == dump->op)
            continue;
        at += (size_t)snprintf(text + at, TEXT - at,
                               "%s\"Torch.op%d.0.forward\": {\"input_args\": [",
                               first ? "" : ", ", op);
        first = false;
        at = put_tensor(text, at, dump, op - 1, op > dump->op);
        at += (size_t)snprintf(text + at, TEXT - at, "], \"input_kwargs\": {}, \"output\": [");
        at = put_tensor(text, at, dump, op, op >= dump->op);
        at += (size_t)snprintf(text + at, TEXT - at, "]}");
    }
    at += (size_t)snprintf(text + at, TEXT - at, "}}");
    assert_true(at < TEXT);
    return at;
}

static void write_bytes(const char *path, const char *text, size_t size)
{
    FILE *out = fopen(scratch_path(&scratch, path), "wb");
    assert_non_null(out);
    assert_int_equal(fwrite(text, 1, size, out), size);
    assert_int_equal(fclose(out), 0);
}

/* One file, which is a run of its own. */
static void write_dump(const char *path, const struct dump *dump)
{
    static char text[TEXT];
    write_bytes(path, text, make_text(text, dump));
}

/* ---- comparing --------------------------------------------------------------------------------- */

static struct answer compare(const char *name_a, const char *name_b)
{
    struct answer answer = {0};
    struct plumb_run *a = NULL, *b = NULL;
    struct plumb_run_diff *diff = NULL;
    struct plumb_error error;
    answer.status = plumb_run_open(scratch_path(&scratch, name_a), &a, &error);
    if (!answer.status)
        answer.status = plumb_run_open(scratch_path(&scratch, name_b), &b, &error);
    if (!answer.status)
        answer.status = plumb_run_diff_new(a, b, NULL, &diff, &error);
    if (!answer.status) {
        const struct plumb_run_root *first = plumb_run_diff_root(diff, 0);
        answer.verdict = plumb_run_diff_verdict(diff);
        answer.names_missing = strstr(plumb_run_diff_summary(diff), "; not compared:") != NULL;
        answer.warnings = plumb_run_warning_count(b);
        answer.rank = first ? first->rank : -1;
        (void)snprintf(answer.op, sizeof answer.op, "%s", first ? first->op : "");
    }
    plumb_run_diff_free(diff);
    plumb_run_close(b);
    plumb_run_close(a);
    return answer;
}

/* ---- what holds -------------------------------------------------------------------------------- */

static struct dump any_dump(unsigned *state, bool hashed)
{
    *state = *state * 1664525U + 1013904223U;
    return (struct dump){.plant = (enum plant)(*state >> 24) % PLANTS,
                         .op = (int)(*state >> 16 & 0xff) % OPS,
                         .hashed = hashed};
}

static void itself_and_symmetric(void **state)
{
    unsigned chance = 1;
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        const struct dump dump_a = any_dump(&chance, round % 2),
                          dump_b = any_dump(&chance, round % 2);
        write_dump("a.json", &dump_a);
        write_dump("b.json", &dump_b);
        const struct answer same = compare("a.json", "a.json");
        assert_int_equal(same.status, PLUMB_OK);
        assert_int_equal(same.verdict, PLUMB_IDENTICAL);
        const struct answer there = compare("a.json", "b.json"),
                            back = compare("b.json", "a.json");
        assert_int_equal(there.status, back.status);
        if (there.verdict != back.verdict)
            fail_msg("plant %d at %d against %d at %d: %s, and the other way round %s",
                     dump_a.plant, dump_a.op, dump_b.plant, dump_b.op,
                     plumb_verdict_name(there.verdict), plumb_verdict_name(back.verdict));
        assert_int_equal(there.names_missing, back.names_missing);
    }
}

static void plants_are_found(void **state)
{
    const struct dump well = {.op = OPS};
    (void)state;
    write_dump("a.json", &well);
    for (int plant = LAST_DIGIT; plant < LEFT_OUT; plant++) {
        for (int op = 0; op < OPS; op++) {
            const struct dump sick = {.plant = (enum plant)plant, .op = op};
            char name[32];
            write_dump("b.json", &sick);
            const struct answer found = compare("a.json", "b.json");
            (void)snprintf(name, sizeof name, "Torch.op%d", op);
            assert_string_equal(found.op, name);
            assert_true(plant == LAST_DIGIT ? found.verdict == PLUMB_ROUNDING
                                            : found.verdict == PLUMB_DIFFERENT);
        }
    }
}

static void make_ranks(const char *name, const int *order, int sick)
{
    char path[64];
    scratch_directory(&scratch, name);
    (void)snprintf(path, sizeof path, "%s/step0", name);
    scratch_directory(&scratch, path);
    for (int i = 0; i < RANKS; i++) {
        const struct dump dump = {.plant = order[i] == sick ? TENTH : NONE,
                                  .op = order[i] == sick ? 2 : OPS};
        (void)snprintf(path, sizeof path, "%s/step0/rank%d", name, order[i]);
        scratch_directory(&scratch, path);
        (void)snprintf(path, sizeof path, "%s/step0/rank%d/dump.json", name, order[i]);
        write_dump(path, &dump);
    }
}

static void ranks_in_any_order(void **state)
{
    static const int orders[][RANKS] = {{0, 1, 2, 3}, {3, 2, 1, 0}, {2, 0, 3, 1}};
    (void)state;
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        for (int sick = 0; sick < RANKS; sick++) {
            char well[32], name[32];
            (void)snprintf(well, sizeof well, "well-%zu-%d", i, sick);
            (void)snprintf(name, sizeof name, "sick-%zu-%d", i, sick);
            make_ranks(well, orders[(i + 1) % 3], -1);
            make_ranks(name, orders[i], sick);
            const struct answer found = compare(well, name);
            assert_int_equal(found.verdict, PLUMB_DIFFERENT);
            assert_int_equal(found.rank, sick);
            assert_string_equal(found.op, "Torch.op2");
        }
    }
}

/* The whole against every beginning of itself, and of one that differs. */
static void cut_anywhere(void **state)
{
    static char text[TEXT];
    (void)state;
    for (int planted = 0; planted < 2; planted++) {
        const struct dump well = {.op = OPS},
                          sick = {.plant = planted ? TENTH : NONE, .op = planted ? 1 : OPS};
        write_dump("a.json", &well);
        const size_t size = make_text(text, &sick);
        const size_t last_whole = size - 2; /* without the two brackets at the end */
        const char *second = strstr(text, "Torch.op2");
        assert_non_null(second);
        for (size_t cut = 0; cut < size; cut++) {
            write_bytes("cut.json", text, cut);
            const struct answer found = compare("a.json", "cut.json");
            if (found.status)
                continue; /* nothing to compare, or not known for a dump */
            if (!found.warnings)
                fail_msg("cut at %zu of %zu: no warning", cut, size);
            if (found.verdict == PLUMB_IDENTICAL && cut < last_whole && !found.names_missing)
                fail_msg("cut at %zu of %zu: called the same", cut, size);
            if (planted && cut > (size_t)(second - text))
                assert_int_equal(found.verdict, PLUMB_DIFFERENT);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(itself_and_symmetric), cmocka_unit_test(plants_are_found),
        cmocka_unit_test(ranks_in_any_order), cmocka_unit_test(cut_anywhere)};
    return cmocka_run_group_tests(tests, scratch_group_open, scratch_group_close);
}
