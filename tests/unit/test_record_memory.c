/* test_record_memory.c - what a recorder takes stays below the bound it was given. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "plumb.h"
#include "unit/scratch_group.h"

/* Of AddressSanitizer, which every test is built with; gcc has no header for it. */
size_t __sanitizer_get_current_allocated_bytes(void);

enum { LIMIT = 16 << 20, COUNT = 256 << 10, STEPS = 40, TENSORS = 8, ROWS = 2000 };

static float values[COUNT];

static size_t peak_since(size_t before, size_t peak)
{
    const size_t now = __sanitizer_get_current_allocated_bytes() - before;
    return now > peak ? now : peak;
}

/* Values far faster than a disk takes them, and rows of names that were never seen before. */
static size_t record_a_step(struct plumb_recorder *recorder, int64_t step, size_t before,
                            size_t peak)
{
    const int64_t shape[] = {COUNT}, small[] = {4};
    char name[64];
    plumb_record_step_begin(recorder, step);
    for (int i = 0; i < TENSORS; i++) {
        plumb_record_enter(recorder, PLUMB_PHASE_FORWARD, "layer", "op", PLUMB_CALL_COUNTED);
        plumb_record_tensor(recorder, "output0", PLUMB_F32, 1, shape, values);
        plumb_record_leave(recorder);
        peak = peak_since(before, peak);
    }
    for (int i = 0; i < ROWS; i++) {
        (void)snprintf(name, sizeof name, "module.%lld.%d", (long long)step, i % 50);
        plumb_record_enter(recorder, PLUMB_PHASE_BACKWARD, name, "op", PLUMB_CALL_COUNTED);
        plumb_record_tensor(recorder, "output0", PLUMB_F32, 1, small, values);
        plumb_record_leave(recorder);
        plumb_record_series(recorder, name, step, 1);
        peak = peak_since(before, peak);
    }
    plumb_record_step_end(recorder);
    return peak_since(before, peak);
}

static size_t peak_of_recording(const char *name, bool wait_when_full)
{
    struct plumb_recorder *recorder = NULL;
    struct plumb_error error;
    const struct plumb_recorder_options options = {.path = scratch_path(&scratch, name),
                                                   .save = PLUMB_SAVE_TENSORS,
                                                   .memory_limit = LIMIT,
                                                   .wait_when_full = wait_when_full};
    const size_t before = __sanitizer_get_current_allocated_bytes();
    if (plumb_recorder_open(&options, &recorder, &error))
        fail_msg("%s", error.message);
    size_t peak = 0;
    for (int64_t step = 0; step < STEPS; step++)
        peak = record_a_step(recorder, step, before, peak);
    assert_int_equal(plumb_recorder_close(recorder, NULL, &error), PLUMB_OK);
    return peak;
}

static void dropping_keeps_the_bound(void **state)
{
    (void)state;
    const size_t peak = peak_of_recording("drop", false);
    assert_in_range(peak, LIMIT / 8, LIMIT); /* not below: then nothing was measured */
}

static void waiting_keeps_the_bound(void **state)
{
    (void)state;
    const size_t peak = peak_of_recording("wait", true);
    assert_in_range(peak, LIMIT / 8, LIMIT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dropping_keeps_the_bound),
        cmocka_unit_test(waiting_keeps_the_bound),
    };
    return cmocka_run_group_tests(tests, scratch_group_open, scratch_group_close);
}
