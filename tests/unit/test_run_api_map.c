/* test_run_api_map.c - msprobe's maps of operators, in every way that YAML has for them. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "compare/run_api_map.h"
#include "unit/scratch_group.h"

static enum plumb_status read_text(const char *text, struct plumb_api_map *map, bool *is_one,
                                   struct plumb_error *err)
{
    scratch_text(&scratch, "map.yaml", text);
    *map = (struct plumb_api_map){0};
    return plumb_api_map_read(scratch_path(&scratch, "map.yaml"), map, is_one, err);
}

static void assert_slot(const struct plumb_api_map *map, enum plumb_api_side side,
                        const char *op, const char *slot, bool backward, const char *expected)
{
    char buffer[PLUMB_SLOT_SIZE];
    const struct plumb_api_entry *entry = plumb_api_map_find(map, side, op);
    assert_non_null(entry);
    assert_string_equal(plumb_api_entry_slot(entry, side, slot, backward, buffer), expected);
}

static void every_way_of_writing_gives_the_same(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "- ms_api: Functional.addmm\n  pt_api: Torch.addmm\n  ms_args: [0, 1, 2]\n"
        "  pt_args: [0, 2, 1]\n  ms_outputs: [0]\n  pt_outputs: [0]\n",
        "# ours\n---\n- \"ms_api\": 'Functional.addmm'   # of MindSpore\n  ms_args:\n  - 0\n"
        "  - 1\n  - 2\n  ms_output:\n  - 0\n  pt_api: Torch.addmm\n  pt_args:\n    - 0\n"
        "    - 2\n    - 1\n  pt_output: [0]\n",
        "-\r\n  pt_args: [0,2,1]\r\n  pt_api: Torch.addmm\r\n  ms_api: Functional.addmm\r\n"
        "  ms_args: [ 0 , 1 , 2 ]\r\n  ms_outputs: 0\r\n  pt_outputs: 0\r\n",
        "ms_api: Functional.addmm\npt_api: Torch.addmm\nms_args: [0, 1, 2]\n"
        "pt_args:\n- 0\n- 2\n- 1\nms_output: [0]\npt_output: [0]\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct plumb_api_map map;
        struct plumb_error error;
        bool is_one = false;
        if (read_text(texts[i], &map, &is_one, &error))
            fail_msg("text %zu: %s", i, error.message);
        assert_true(is_one);
        assert_int_equal(map.count, 1);
        assert_string_equal(map.entries[0]->name[PLUMB_API_PYTORCH], "Torch.addmm");
        assert_slot(&map, PLUMB_API_MINDSPORE, "Functional.addmm", "input1", false, "input2");
        assert_slot(&map, PLUMB_API_MINDSPORE, "Functional.addmm", "input2.1", false,
                    "input1.1");
        assert_slot(&map, PLUMB_API_PYTORCH, "Torch.addmm", "input1", false, "input2");
        assert_slot(&map, PLUMB_API_PYTORCH, "Torch.addmm", "output0", false, "output0");
        assert_slot(&map, PLUMB_API_PYTORCH, "Torch.addmm", "output1", false, "");
        assert_slot(&map, PLUMB_API_PYTORCH, "Torch.addmm", "input11", false, "");
        /* Results of the backward pass are the gradients of the arguments. */
        assert_slot(&map, PLUMB_API_PYTORCH, "Torch.addmm", "output2", true, "output1");
        assert_slot(&map, PLUMB_API_PYTORCH, "Torch.addmm", "input0", true, "input0");
        assert_null(plumb_api_map_find(&map, PLUMB_API_PYTORCH, "Functional.addmm"));
        plumb_api_map_release(&map);
    }
}

static void several_entries_and_names(void **state)
{
    struct plumb_api_map map;
    bool is_one;
    (void)state;
    assert_int_equal(read_text("- ms_api: A.x\n  pt_api: B.y\n"
                               "- ms_api: A.z\n  pt_api: B.z\n  ms_args: [0, axis]\n"
                               "  pt_args: [0, 1]\n  ms_parameters: [gamma]\n"
                               "  pt_parameters: [weight]\n  ms_parameters_grad: [gamma]\n"
                               "  pt_parameters_grad: [weight]\n",
                               &map, &is_one, NULL),
                     PLUMB_OK);
    assert_int_equal(map.count, 2);
    assert_slot(&map, PLUMB_API_MINDSPORE, "A.x", "input3", false, "input3"); /* no list */
    assert_slot(&map, PLUMB_API_MINDSPORE, "A.z", "input:axis", false, "input1");
    assert_slot(&map, PLUMB_API_PYTORCH, "B.z", "input1", false, "input:axis");
    assert_slot(&map, PLUMB_API_PYTORCH, "B.z", "param:weight", false, "param:gamma");
    assert_slot(&map, PLUMB_API_MINDSPORE, "A.z", "grad:gamma", true, "grad:weight");
    assert_slot(&map, PLUMB_API_MINDSPORE, "A.z", "grad:beta", true, "");
    plumb_api_map_release(&map);
}

static void other_maps_are_left_alone(void **state)
{
    static const char *const texts[] = {
        "",
        "# only\n",
        "a.w b.w\n",
        "fc.Dense: fc.Linear\n",
        "Class:\n  child: child\n",
        "{\"a\": \"b\"}",
        "ms_norm torch_norm\n",
    };
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct plumb_api_map map;
        bool is_one = true;
        assert_int_equal(read_text(texts[i], &map, &is_one, NULL), PLUMB_OK);
        assert_false(is_one);
        plumb_api_map_release(&map);
    }
}

static void what_is_wrong_is_named(void **state)
{
    static const struct {
        const char *text, *words;
    } trials[] = {
        {"- ms_api: A.x\n", "ms_api and pt_api"},
        {"- ms_api: A.x\n  pt_api: B.x\n  ms_args: [0, 1]\n  pt_args: [0]\n", "as many"},
        {"- ms_api: A.x\n  pt_api: B.x\n  ms_args: [0]\n", "as many"},
        {"- ms_api: A.x\n  pt_api: B.x\n  what: 1\n", "line 3"},
        {"- ms_api: A.x\n  pt_api\n", "line 2"},
        {"- ms_api: A.x\n  ms_api: A.y\n", "line 2"},
        {"- ms_api: A.x\n  ms_args: [0,\n", "line 2"},
        {"- ms_api: A.x\n  ms_args: [0, ,1]\n", "line 2"},
        {"- ms_api: A.x\n  - 0\n", "a list before its items"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof trials / sizeof *trials; i++) {
        struct plumb_api_map map;
        struct plumb_error error;
        bool is_one;
        assert_int_equal(read_text(trials[i].text, &map, &is_one, &error), PLUMB_DAMAGED);
        if (!strstr(error.message, trials[i].words))
            fail_msg("trial %zu: %s", i, error.message);
        plumb_api_map_release(&map);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_way_of_writing_gives_the_same),
        cmocka_unit_test(several_entries_and_names),
        cmocka_unit_test(other_maps_are_left_alone),
        cmocka_unit_test(what_is_wrong_is_named),
    };
    return cmocka_run_group_tests(tests, scratch_group_open, scratch_group_close);
}
