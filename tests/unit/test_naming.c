/* test_naming.c - what each framework calls a layer's parameters. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "model/naming.h"

/* A network as a list of names with shapes, and what it is in the other framework. */
struct row {
    const char *name;
    int rank;
    int64_t shape[4];
    const char *other;  /* NULL: dropped */
    int64_t other_last; /* last dimension afterwards, if the rank changes */
    int other_rank;     /* 0: unchanged */
};

static void expect_translation(const struct row *rows, size_t count, const char *to)
{
    struct plumb_arena arena = {0};
    struct plumb_tensor tensors[32];
    const struct plumb_tensor *list[32] = {0};
    struct plumb_naming names[32];
    for (size_t i = 0; i < count; i++) {
        tensors[i] = (struct plumb_tensor){.name = rows[i].name,
                                           .rank = rows[i].rank,
                                           .shape = rows[i].shape,
                                           .parameter = true};
        list[i] = &tensors[i];
    }
    assert_int_equal(plumb_naming_translate(&arena, list, count, to, names, NULL), PLUMB_OK);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(names[i].dropped, rows[i].other == NULL);
        if (!rows[i].other)
            continue;
        assert_string_equal(names[i].name, rows[i].other);
        assert_int_equal(names[i].rank, rows[i].other_rank ? rows[i].other_rank : rows[i].rank);
        if (rows[i].other_rank)
            assert_int_equal(names[i].shape[names[i].rank - 1], rows[i].other_last);
    }
    plumb_arena_release(&arena);
}

static void torch_layers_become_mindspore(void **state)
{
    (void)state;
    const struct row rows[] = {
        {"conv.weight", 4, {8, 3, 3, 3}, "conv.weight", 0, 0},
        {"conv.bias", 1, {8}, "conv.bias", 0, 0},
        {"bn.weight", 1, {8}, "bn.gamma", 0, 0},
        {"bn.bias", 1, {8}, "bn.beta", 0, 0},
        {"bn.running_mean", 1, {8}, "bn.moving_mean", 0, 0},
        {"bn.running_var", 1, {8}, "bn.moving_variance", 0, 0},
        {"bn.num_batches_tracked", 0, {0}, NULL, 0, 0},
        {"emb.weight", 2, {100, 16}, "emb.embedding_table", 0, 0},
        {"ln.weight", 1, {16}, "ln.gamma", 0, 0},
        {"ln.bias", 1, {16}, "ln.beta", 0, 0},
        {"rms_norm.weight", 1, {16}, "rms_norm.gamma", 0, 0},
        {"prelu.weight", 1, {1}, "prelu.w", 0, 0},
        {"act.weight", 1, {16}, "act.w", 0, 0},
        {"conv1.weight", 3, {8, 3, 5}, "conv1.weight", 5, 4},
        {"fc.weight", 2, {10, 16}, "fc.weight", 0, 0},
        {"fc.bias", 1, {10}, "fc.bias", 0, 0},
        {"head.weight", 2, {100, 16}, "head.weight", 0, 0},
        {"attn.in_proj_weight", 2, {48, 16}, "attn.in_proj_weight", 0, 0},
        {"optimizer.state.0.exp_avg", 1, {16}, NULL, 0, 0},
    };
    expect_translation(rows, sizeof rows / sizeof *rows, "mindspore");
}

static void mindspore_layers_become_torch(void **state)
{
    (void)state;
    const struct row rows[] = {
        {"bn.gamma", 1, {8}, "bn.weight", 0, 0},
        {"bn.beta", 1, {8}, "bn.bias", 0, 0},
        {"bn.moving_mean", 1, {8}, "bn.running_mean", 0, 0},
        {"bn.moving_variance", 1, {8}, "bn.running_var", 0, 0},
        {"emb.embedding_table", 2, {100, 16}, "emb.weight", 0, 0},
        {"prelu.w", 1, {1}, "prelu.weight", 0, 0},
        {"matrix.w", 2, {4, 4}, "matrix.w", 0, 0}, /* no PReLU */
        {"conv1x1.weight", 4, {8, 3, 1, 1}, "conv1x1.weight", 0, 0},
        {"conv1.weight", 4, {8, 3, 1, 5}, "conv1.weight", 5, 3},
        {"moment1.fc.weight", 2, {4, 4}, NULL, 0, 0},
        {"global_step", 1, {1}, NULL, 0, 0},
    };
    expect_translation(rows, sizeof rows / sizeof *rows, "pytorch");
}

static void wide_kernels_beside_tall_ones_stay_flat(void **state)
{
    (void)state;
    const struct row rows[] = {
        {"a.weight", 4, {8, 3, 1, 7}, "a.weight", 0, 0},
        {"b.weight", 4, {8, 3, 7, 1}, "b.weight", 0, 0},
        {"c.conv1d.weight", 4, {8, 3, 1, 7}, "c.conv1d.weight", 7, 3}, /* its name says it */
    };
    expect_translation(rows, sizeof rows / sizeof *rows, "pytorch");
}

static void layers_alone_have_their_own_names(void **state)
{
    (void)state;
    const struct row torch[] = {
        {"weight", 1, {8}, "gamma", 0, 0},
        {"bias", 1, {8}, "beta", 0, 0},
        {"running_mean", 1, {8}, "mean", 0, 0},
        {"running_var", 1, {8}, "variance", 0, 0},
    };
    const struct row mindspore[] = {
        {"gamma", 1, {8}, "weight", 0, 0},
        {"beta", 1, {8}, "bias", 0, 0},
        {"mean", 1, {8}, "running_mean", 0, 0},
        {"variance", 1, {8}, "running_var", 0, 0},
    };
    expect_translation(torch, 4, "mindspore");
    expect_translation(mindspore, 4, "pytorch");
}

static void wrappers_that_all_share_are_taken_off(void **state)
{
    (void)state;
    const struct row rows[] = {
        {"state_dict.fc.weight", 2, {4, 4}, "fc.weight", 0, 0},
        {"state_dict.fc.bias", 1, {4}, "fc.bias", 0, 0},
        {"optimizer.state.0.exp_avg", 1, {4}, NULL, 0, 0},
    };
    expect_translation(rows, 3, "mindspore");
    const struct row mixed[] = {
        {"module.fc.weight", 2, {4, 4}, "module.fc.weight", 0, 0},
        {"other.fc.bias", 1, {4}, "other.fc.bias", 0, 0},
    };
    expect_translation(mixed, 2, "mindspore");
}

static void unknown_framework_is_an_error(void **state)
{
    (void)state;
    struct plumb_arena arena = {0};
    struct plumb_error error;
    assert_int_equal(plumb_naming_translate(&arena, NULL, 0, "keras", NULL, &error),
                     PLUMB_INVALID);
    assert_non_null(strstr(error.message, "keras"));
    plumb_arena_release(&arena);
}

static void candidates_go_both_ways(void **state)
{
    (void)state;
    struct plumb_arena arena = {0};
    const char *names[PLUMB_NAMING_CANDIDATES];
    assert_int_equal(plumb_naming_candidates(&arena, "l.0.gamma", names), 1);
    assert_string_equal(names[0], "l.0.weight");
    const size_t count = plumb_naming_candidates(&arena, "e.weight", names);
    bool embedding = false;
    for (size_t i = 0; i < count; i++)
        embedding = embedding || strcmp(names[i], "e.embedding_table") == 0;
    assert_true(embedding);
    assert_int_equal(plumb_naming_candidates(&arena, "x.anything", names), 0);
    plumb_arena_release(&arena);
}

static void words_about_names(void **state)
{
    (void)state;
    assert_string_equal(plumb_naming_bare("module.model.fc.weight"), "fc.weight");
    assert_string_equal(plumb_naming_bare("model."), "model.");
    assert_true(plumb_naming_is_optimizer("optimizer.state.3.exp_avg_sq"));
    assert_true(plumb_naming_is_optimizer("moment2.layer.weight"));
    assert_false(plumb_naming_is_optimizer("layer.momentum_gate.weight"));
    assert_true(plumb_naming_is_buffer("a.b.running_var"));
    assert_false(plumb_naming_is_buffer("a.b.weight"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(torch_layers_become_mindspore),
        cmocka_unit_test(mindspore_layers_become_torch),
        cmocka_unit_test(wide_kernels_beside_tall_ones_stay_flat),
        cmocka_unit_test(layers_alone_have_their_own_names),
        cmocka_unit_test(wrappers_that_all_share_are_taken_off),
        cmocka_unit_test(unknown_framework_is_an_error),
        cmocka_unit_test(candidates_go_both_ways),
        cmocka_unit_test(words_about_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
