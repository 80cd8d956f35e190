/* test_match.c - which tensor belongs to which. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "compare/match.h"

static float zeros[64];

static struct plumb_file *make_file(const char *const *names, const int64_t *lengths,
                                    size_t count)
{
    struct plumb_file *file = NULL;
    struct plumb_map *map = NULL;
    struct plumb_storage *storage = NULL;
    assert_int_equal(plumb_file_new("test", &file, NULL), PLUMB_OK);
    assert_int_equal(plumb_map_memory("test", zeros, sizeof zeros, &map, NULL), PLUMB_OK);
    assert_int_equal(plumb_file_own_map(file, map, NULL), PLUMB_OK);
    assert_int_equal(
        plumb_file_add_storage(file, map, 0, sizeof zeros, "zeros", &storage, NULL), PLUMB_OK);
    for (size_t i = 0; i < count; i++) {
        const struct plumb_tensor_spec spec = {.name = names[i],
                                               .dtype = PLUMB_F32,
                                               .rank = 1,
                                               .shape = &lengths[i],
                                               .storage = storage};
        assert_int_equal(plumb_file_add_tensor(file, &spec, NULL), PLUMB_OK);
    }
    return file;
}

struct expected {
    int64_t partner;
    enum plumb_match how;
};

static void expect(const char *const *a_names, const int64_t *a_lengths, size_t a_count,
                   const char *const *b_names, const int64_t *b_lengths, size_t b_count,
                   const struct expected *expected)
{
    struct plumb_file *a = make_file(a_names, a_lengths, a_count);
    struct plumb_file *b = make_file(b_names, b_lengths, b_count);
    struct plumb_matching matching;
    assert_int_equal(plumb_matching_find(a, b, NULL, &matching, NULL), PLUMB_OK);
    for (size_t i = 0; i < a_count; i++) {
        assert_int_equal(matching.partner[i], expected[i].partner);
        if (expected[i].partner >= 0)
            assert_int_equal(matching.matched_by[i], expected[i].how);
    }
    plumb_matching_release(&matching);
    plumb_file_close(a);
    plumb_file_close(b);
}

static void names_win_over_everything(void **state)
{
    (void)state;
    const char *const a[] = {"x", "y"}, *const b[] = {"y", "x"};
    const int64_t lengths[] = {4, 4};
    const struct expected expected[] = {{1, PLUMB_MATCH_NAME}, {0, PLUMB_MATCH_NAME}};
    expect(a, lengths, 2, b, lengths, 2, expected);
}

static void rules_rename_and_take_wrappers_off(void **state)
{
    (void)state;
    const char *const a[] = {"module.bn.weight", "module.bn.bias", "module.bn.running_mean",
                             "module.bn.num_batches_tracked", "module.emb.weight"};
    const char *const b[] = {"bn.beta", "emb.embedding_table", "bn.gamma", "bn.moving_mean"};
    const int64_t a_lengths[] = {4, 4, 4, 1, 20}, b_lengths[] = {4, 20, 4, 4};
    const struct expected expected[] = {{2, PLUMB_MATCH_RULE},
                                        {0, PLUMB_MATCH_RULE},
                                        {3, PLUMB_MATCH_RULE},
                                        {PLUMB_UNMATCHED, PLUMB_MATCH_NAME},
                                        {1, PLUMB_MATCH_RULE}};
    expect(a, a_lengths, 5, b, b_lengths, 4, expected);
}

static void guesses_need_the_same_shape_and_keep_the_order(void **state)
{
    (void)state;
    const char *const a[] = {"p", "q", "r", "s"}, *const b[] = {"t", "u", "v"};
    const int64_t a_lengths[] = {4, 5, 4, 9}, b_lengths[] = {4, 4, 5};
    const struct expected expected[] = {{0, PLUMB_MATCH_GUESS},
                                        {2, PLUMB_MATCH_GUESS},
                                        {1, PLUMB_MATCH_GUESS},
                                        {PLUMB_UNMATCHED, PLUMB_MATCH_NAME}};
    expect(a, a_lengths, 4, b, b_lengths, 3, expected);
}

static void two_single_tensors_are_always_a_pair(void **state)
{
    (void)state;
    const char *const a[] = {"one"}, *const b[] = {"other"};
    const int64_t a_lengths[] = {4}, b_lengths[] = {5};
    const struct expected expected[] = {{0, PLUMB_MATCH_GUESS}};
    expect(a, a_lengths, 1, b, b_lengths, 1, expected);
}

static void ambiguous_bare_names_are_not_matched_by_rule(void **state)
{
    (void)state;
    const char *const a[] = {"model.w"}, *const b[] = {"net.w", "module.w"};
    const int64_t a_lengths[] = {4}, b_lengths[] = {5, 4};
    const struct expected expected[] = {{1, PLUMB_MATCH_GUESS}};
    expect(a, a_lengths, 1, b, b_lengths, 2, expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_win_over_everything),
        cmocka_unit_test(rules_rename_and_take_wrappers_off),
        cmocka_unit_test(guesses_need_the_same_shape_and_keep_the_order),
        cmocka_unit_test(two_single_tensors_are_always_a_pair),
        cmocka_unit_test(ambiguous_bare_names_are_not_matched_by_rule),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
