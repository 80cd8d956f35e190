/* test_record_often.c - places by handle and known tensors record what the plain calls do. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "plumb.h"
#include "unit/scratch_group.h"

enum { STEPS = 300, COUNT = 4096, LARGEST = 12 };

static float values[COUNT];

/* Tensors of one visit: more than a place remembers, long slots, another shape at odd steps. */
static const char *slot_of(int tensor)
{
    static const char *const slots[LARGEST] = {
        "input0",  "param:weight",
        "output0", "a slot whose name is longer than what a place can remember of it",
        "s4",      "s5",
        "s6",      "s7",
        "s8",      "s9",
        "s10",     "s11",
    };
    return slots[tensor];
}

static int shape_of(int tensor, int64_t step, int64_t shape[8])
{
    for (int i = 0; i < 8; i++)
        shape[i] = i < 3 ? 2 : 1;
    shape[0] = tensor == 2 ? 512 - step % 2 : 16;
    return tensor == 1 ? 8 : tensor == 4 ? 0 : 3;
}

static struct plumb_recorder *open_named(const char *name, enum plumb_save save)
{
    struct plumb_recorder *recorder = NULL;
    struct plumb_error error;
    const struct plumb_recorder_options options = {
        .path = scratch_path(&scratch, name), .wait_when_full = true, .save = save};
    if (plumb_recorder_open(&options, &recorder, &error))
        fail_msg("%s", error.message);
    return recorder;
}

static void fill(int64_t step)
{
    for (int i = 0; i < COUNT; i++)
        values[i] = (float)i / 7 - (float)step;
}

static void record_plainly(struct plumb_recorder *recorder, int64_t step, int tensor)
{
    int64_t shape[8];
    const int rank = shape_of(tensor, step, shape);
    plumb_record_tensor(recorder, slot_of(tensor), PLUMB_F32, rank, shape, values);
}

static void record_twice(struct plumb_recorder *recorder, int64_t step, bool by_handle)
{
    static const char *const ops[] = {"first", "second"};
    struct plumb_known known[LARGEST] = {{.known = false}};
    plumb_record_step_begin(recorder, step);
    for (int visit = 0; visit < 4; visit++) {
        const char *op = ops[visit % 2];
        struct plumb_place *place =
            by_handle ? plumb_record_place(recorder, PLUMB_PHASE_BACKWARD, "m", op) : NULL;
        if (by_handle)
            plumb_record_enter_place(recorder, place, PLUMB_CALL_COUNTED);
        else
            plumb_record_enter(recorder, PLUMB_PHASE_BACKWARD, "m", op, PLUMB_CALL_COUNTED);
        for (int i = 0; i < LARGEST; i++) {
            int64_t shape[8];
            const int rank = shape_of(i, step, shape);
            if (by_handle) /* from the second visit on without the values */
                plumb_record_known(recorder, slot_of(i), PLUMB_F32, rank, shape,
                                   visit ? NULL : values, &known[i]);
            else
                record_plainly(recorder, step, i);
        }
        plumb_record_leave(recorder);
    }
    plumb_record_step_end(recorder);
}

struct row {
    int64_t step;
    char label[32], slot[96];
    int64_t shape[8];
    int dims, call;
    enum plumb_phase phase;
    uint64_t fingerprint;
    struct plumb_stats stats;
};

struct rows {
    struct row *rows;
    size_t count;
};

static bool gather(void *context, const struct plumb_tensor_record *record)
{
    struct rows *rows = context;
    struct row *row = &rows->rows[rows->count++];
    memset(row, 0, sizeof *row);
    row->step = record->step;
    (void)snprintf(row->label, sizeof row->label, "%s", record->label);
    (void)snprintf(row->slot, sizeof row->slot, "%s", record->slot);
    row->dims = record->dims;
    for (int i = 0; i < record->dims; i++)
        row->shape[i] = record->shape[i];
    row->call = record->call;
    row->phase = record->phase;
    row->fingerprint = record->fingerprint;
    row->stats = record->stats;
    return true;
}

static struct rows rows_of(const char *name)
{
    struct plumb_run *run = NULL;
    struct rows rows = {0};
    const struct plumb_run_query all = {.rank = -1};
    assert_int_equal(plumb_run_open(scratch_path(&scratch, name), &run, NULL), PLUMB_OK);
    rows.rows = calloc((size_t)plumb_run_rank(run, 0)->records + 1, sizeof *rows.rows);
    assert_non_null(rows.rows);
    assert_int_equal(plumb_run_visit_records(run, &all, gather, &rows, NULL), PLUMB_OK);
    plumb_run_close(run);
    return rows;
}

static void handles_record_the_same(void **state)
{
    (void)state;
    static const char *const names[] = {"plain", "handles"};
    struct rows rows[2];
    for (int i = 0; i < 2; i++) {
        struct plumb_recorder *recorder = open_named(names[i], PLUMB_SAVE_STATS);
        for (int64_t step = 0; step < STEPS; step++) {
            fill(step);
            record_twice(recorder, step, i == 1);
        }
        assert_int_equal(plumb_recorder_close(recorder, NULL, NULL), PLUMB_OK);
        rows[i] = rows_of(names[i]);
    }
    assert_int_equal(rows[0].count, STEPS * 4 * LARGEST);
    assert_int_equal(rows[1].count, rows[0].count);
    assert_memory_equal(rows[0].rows, rows[1].rows, rows[0].count * sizeof *rows[0].rows);
    assert_string_equal(rows[0].rows[2 * LARGEST].label, "m.first#1");
    assert_string_equal(rows[0].rows[3].slot, slot_of(3));
    assert_int_equal(rows[0].rows[2 + 4 * LARGEST].shape[0], 511);
    free(rows[0].rows);
    free(rows[1].rows);
}

/* What is known is believed; what is no longer known is computed anew. */
static void the_caller_vouches(void **state)
{
    (void)state;
    const int64_t shape[] = {COUNT};
    struct plumb_known known = {.known = false};
    struct plumb_recorder *recorder = open_named("vouch", PLUMB_SAVE_TENSORS);
    fill(0);
    plumb_record_step_begin(recorder, 0);
    plumb_record_known(recorder, "a", PLUMB_F32, 1, shape, values, &known);
    assert_true(known.known && known.has_stats);
    assert_int_equal(known.fingerprint, plumb_values_fingerprint(PLUMB_F32, values, COUNT));
    values[7] = 1e30F;
    plumb_record_known(recorder, "b", PLUMB_F32, 1, shape, NULL, &known);
    known.known = false;
    plumb_record_known(recorder, "c", PLUMB_F32, 1, shape, values, &known);
    known = (struct plumb_known){.known = true, .fingerprint = 5, .element = -1};
    plumb_record_known(recorder, "d", PLUMB_BF16, 1, shape, NULL, &known);
    known.known = false; /* unsound: nothing to compute it from */
    plumb_record_known(recorder, "e", PLUMB_F32, 1, shape, NULL, &known);
    plumb_record_step_end(recorder);
    struct plumb_dropped dropped;
    plumb_recorder_dropped(recorder, &dropped);
    assert_int_equal(dropped.tensors, 1);
    assert_int_equal(dropped.values, 0);
    assert_int_equal(plumb_recorder_close(recorder, NULL, NULL), PLUMB_OK);
    const struct rows rows = rows_of("vouch");
    assert_int_equal(rows.count, 4);
    assert_true(rows.rows[1].stats.max == rows.rows[0].stats.max);
    assert_true(rows.rows[2].stats.max > 1e29);
    assert_int_equal(rows.rows[3].fingerprint, 5);
    free(rows.rows);
    struct plumb_file *file = NULL;
    assert_int_equal(plumb_file_open(scratch_path(&scratch, "vouch/rank0000/step000000.npz"),
                                     NULL, &file, NULL),
                     PLUMB_OK);
    assert_int_equal(plumb_file_tensor_count(file), 2);
    assert_non_null(plumb_file_find(file, "a"));
    assert_non_null(plumb_file_find(file, "c"));
    plumb_file_close(file);
}

/* A place without room: its tensors are counted as dropped, the others arrive, leaving stays even. */
static void places_are_bounded(void **state)
{
    (void)state;
    enum { PLACES = 40000 };
    struct plumb_recorder *recorder = open_named("places", PLUMB_SAVE_FINGERPRINT);
    const int64_t shape[] = {4};
    size_t refused = 0;
    plumb_record_step_begin(recorder, 0);
    for (int i = 0; i < PLACES; i++) {
        char op[24];
        (void)snprintf(op, sizeof op, "op%d", i);
        struct plumb_place *place = plumb_record_place(recorder, PLUMB_PHASE_FORWARD, NULL, op);
        refused += !place;
        plumb_record_enter_place(recorder, place, PLUMB_CALL_COUNTED);
        plumb_record_tensor(recorder, "x", PLUMB_F32, 1, shape, values);
        plumb_record_leave(recorder);
    }
    plumb_record_tensor(recorder, "outside", PLUMB_F32, 1, shape, values);
    plumb_record_step_end(recorder);
    struct plumb_dropped dropped;
    plumb_recorder_dropped(recorder, &dropped);
    assert_true(refused > 0 && refused < PLACES / 2);
    assert_int_equal(dropped.tensors, refused);
    assert_int_equal(plumb_recorder_close(recorder, NULL, NULL), PLUMB_OK);
    const struct rows rows = rows_of("places");
    assert_int_equal(rows.count, PLACES - refused + 1);
    assert_string_equal(rows.rows[rows.count - 1].label, "");
    free(rows.rows);
}

static void no_recorder_no_place(void **state)
{
    (void)state;
    struct plumb_known known = {.known = false};
    const int64_t shape[] = {4};
    assert_null(plumb_record_place(NULL, PLUMB_PHASE_FORWARD, "m", "op"));
    plumb_record_enter_place(NULL, NULL, 0);
    plumb_record_known(NULL, "x", PLUMB_F32, 1, shape, values, &known);
    assert_false(known.known);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(handles_record_the_same),
        cmocka_unit_test(the_caller_vouches),
        cmocka_unit_test(places_are_bounded),
        cmocka_unit_test(no_recorder_no_place),
    };
    return cmocka_run_group_tests(tests, scratch_group_open, scratch_group_close);
}
