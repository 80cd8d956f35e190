/* test_export_msprobe.c - a run exported in msprobe's layout and read back says the same. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <string.h>
#include <cmocka.h>

#include "plumb.h"
#include "unit/scratch_group.h"

static char seen[4096];

static void record_run(const char *name, const char *framework, enum plumb_save save)
{
    const float plain[4] = {1, 2, 3, 4}, nan[4] = {1, (float)NAN, 3, 4},
                inf[4] = {1, 2, -(float)INFINITY, 4};
    const int64_t shape[2] = {2, 2};
    struct plumb_recorder *recorder = NULL;
    struct plumb_error error;
    const struct plumb_recorder_options options = {.path = scratch_path(&scratch, name),
                                                   .framework = framework,
                                                   .save = save,
                                                   .no_thread = true};
    assert_int_equal(plumb_recorder_open(&options, &recorder, &error), PLUMB_OK);
    plumb_record_step_begin(recorder, 3);
    plumb_record_enter(recorder, PLUMB_PHASE_FORWARD, "outer", "Block", 0);
    plumb_record_tensor(recorder, "input0", PLUMB_F32, 2, shape, plain);
    plumb_record_enter(recorder, PLUMB_PHASE_FORWARD, "outer.fc", "linear", 1);
    plumb_record_tensor(recorder, "input1", PLUMB_F32, 2, shape, nan);
    plumb_record_tensor(recorder, "param:w", PLUMB_F32, 2, shape, plain);
    plumb_record_leave(recorder);
    plumb_record_tensor(recorder, "output0", PLUMB_F32, 2, shape, inf); /* of Block, later */
    plumb_record_leave(recorder);
    plumb_record_enter(recorder, PLUMB_PHASE_BACKWARD, "outer.fc", "linear", 1);
    plumb_record_tensor(recorder, "input0", PLUMB_F32, 2, shape, plain);
    plumb_record_tensor(recorder, "grad:w", PLUMB_F32, 2, shape, plain);
    plumb_record_leave(recorder);
    plumb_record_step_end(recorder);
    assert_int_equal(plumb_recorder_close(recorder, NULL, &error), PLUMB_OK);
}

static bool note(void *context, const struct plumb_tensor_record *record)
{
    (void)context;
    const size_t length = strlen(seen);
    const struct plumb_stats *stats = &record->stats;
    (void)snprintf(seen + length, sizeof seen - length, "%lld %s %s %s %g %s%s%s;",
                   (long long)record->step, record->label, plumb_phase_name(record->phase),
                   record->slot, stats->max, stats->nan ? "nan" : "",
                   stats->neg_inf ? "-inf" : "", record->has_values ? " saved" : "");
    return true;
}

static struct plumb_run *export_and_open(const char *name, const char *out)
{
    struct plumb_run *run = NULL;
    struct plumb_error error;
    assert_int_equal(plumb_run_open(scratch_path(&scratch, name), &run, &error), PLUMB_OK);
    if (plumb_export_msprobe(run, scratch_path(&scratch, out), &error))
        fail_msg("%s", error.message);
    plumb_run_close(run);
    assert_int_equal(plumb_run_open(scratch_path(&scratch, out), &run, &error), PLUMB_OK);
    assert_string_equal(plumb_run_format(run), "msprobe");
    assert_int_equal(plumb_run_warning_count(run), 0);
    seen[0] = '\0';
    assert_int_equal(plumb_run_visit_records(run, NULL, note, NULL, &error), PLUMB_OK);
    return run;
}

static void statistics(void **state)
{
    (void)state;
    record_run("stats", "torch", PLUMB_SAVE_STATS);
    struct plumb_run *run = export_and_open("stats", "stats-dump");
    /* The op's tensors are together again, and not finite is what it was. */
    assert_string_equal(seen, "3 outer.Block forward input0 4 ;"
                              "3 outer.Block forward output0 4 -inf;"
                              "3 outer.fc.linear#1 forward input1 nan nan;"
                              "3 outer.fc.linear#1 forward param:w 4 ;"
                              "3 outer.fc.linear#1 backward input0 4 ;"
                              "3 outer.fc.linear#1 backward grad:w 4 ;");
    plumb_run_close(run);
}

static void values_of(const char *framework, const char *file)
{
    char name[64];
    struct plumb_file *values = NULL;
    struct plumb_error error;
    const float plain[4] = {1, 2, 3, 4};
    float read[4];
    record_run(framework, framework, PLUMB_SAVE_TENSORS);
    (void)snprintf(name, sizeof name, "%s-dump", framework);
    struct plumb_run *run = export_and_open(framework, name);
    assert_non_null(strstr(seen, "grad:w 4  saved;"));
    assert_int_equal(plumb_run_open_values(run, 0, 3, &values, &error), PLUMB_OK);
    assert_int_equal(plumb_file_tensor_count(values), 6);
    const struct plumb_tensor *tensor = plumb_file_find(values, file);
    assert_non_null(tensor);
    assert_int_equal(plumb_tensor_read(tensor, 0, 4, read, &error), PLUMB_OK);
    assert_memory_equal(read, plain, sizeof plain);
    plumb_file_close(values);
    plumb_run_close(run);
}

static void values(void **state)
{
    (void)state;
    values_of("torch", "Module.outer.fc.linear.parameters_grad.1.w.pt");
    values_of("mindspore", "Module.outer.fc.linear.forward.1.parameters.w.npy");
}

static void nowhere_to_write(void **state)
{
    (void)state;
    struct plumb_run *run = NULL;
    struct plumb_error error;
    record_run("nowhere", "torch", PLUMB_SAVE_STATS);
    assert_int_equal(plumb_run_open(scratch_path(&scratch, "nowhere"), &run, &error), PLUMB_OK);
    assert_int_equal(plumb_export_msprobe(run, scratch_path(&scratch, "not/there"), &error),
                     PLUMB_IO);
    plumb_run_close(run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(statistics), cmocka_unit_test(values),
                                       cmocka_unit_test(nowhere_to_write)};
    return cmocka_run_group_tests(tests, scratch_group_open, scratch_group_close);
}
