/* test_record_stacks.c - where ops were called: written once, read back with every record. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "plumb.h"
#include "unit/record_walk.h"
#include "unit/scratch_group.h"

static const char *const stack =
    " transformers/model.py:9 forward\ntrain.py:57 main\ntrain.py:80 <module>";

static void record(struct plumb_recorder *recorder, const char *op, uint32_t number)
{
    const float value = 1;
    plumb_record_enter(recorder, PLUMB_PHASE_FORWARD, "", op, PLUMB_CALL_COUNTED);
    plumb_record_called_at(recorder, number);
    plumb_record_tensor(recorder, "output0", PLUMB_F32, 0, NULL, &value);
    plumb_record_leave(recorder);
}

static void are_written_once_and_read_back(void **state)
{
    struct plumb_recorder *recorder = NULL;
    struct plumb_run *run = NULL;
    char file[600];
    const char *path = scratch_path(&scratch, "run");
    const struct plumb_recorder_options options = {.path = path};
    (void)state;
    assert_int_equal(plumb_recorder_open(&options, &recorder, NULL), PLUMB_OK);
    for (int64_t step = 0; step < 3; step++) {
        plumb_record_step_begin(recorder, step);
        const uint32_t one = plumb_record_stack(recorder, stack);
        assert_int_equal(one, 1);
        assert_int_equal(plumb_record_stack(recorder, "other.py:1 f"), 2);
        assert_int_equal(plumb_record_stack(recorder, ""), 0);
        record(recorder, "known", one);
        record(recorder, "unknown", 0);
        record(recorder, "lost", 77);
        plumb_record_step_end(recorder);
    }
    assert_int_equal(plumb_recorder_close(recorder, NULL, NULL), PLUMB_OK);
    (void)snprintf(file, sizeof file, "%s/rank0000/records.plumb",
                   scratch_path(&scratch, "run"));
    assert_int_equal(record_walk(file).rows[PLUMB_BLOCK_STACKS], 2);

    assert_int_equal(plumb_run_open(scratch_path(&scratch, "run"), &run, NULL), PLUMB_OK);
    assert_int_equal(plumb_run_warning_count(run), 0);
    assert_string_equal(plumb_run_called_at(run, 0, 2, "known", "output0"), stack);
    assert_null(plumb_run_called_at(run, 0, 2, "unknown", NULL));
    assert_null(plumb_run_called_at(run, 0, 2, "lost", NULL));
    assert_null(plumb_run_called_at(run, 0, 7, "known", NULL));
    plumb_run_close(run);
}

static void the_programs_own_line(void **state)
{
    size_t length = 0;
    (void)state;
    const char *line = plumb_stack_line(stack, &length);
    assert_memory_equal(line, "train.py:57 main", length);
    assert_int_equal(length, 16);
    line =
        plumb_stack_line(" a.py:1 f\n b.py:2 g", &length); /* packages alone: the innermost */
    assert_memory_equal(line, "a.py:1 f", length);
    assert_int_equal(length, 8);
    line = plumb_stack_line("", &length);
    assert_int_equal(length, 0);
    assert_string_equal(line, "");
}

static void nothing_without_a_recorder(void **state)
{
    (void)state;
    assert_int_equal(plumb_record_stack(NULL, stack), 0);
    plumb_record_called_at(NULL, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(are_written_once_and_read_back),
        cmocka_unit_test(the_programs_own_line),
        cmocka_unit_test(nothing_without_a_recorder),
    };
    return cmocka_run_group_tests(tests, scratch_group_open, scratch_group_close);
}
