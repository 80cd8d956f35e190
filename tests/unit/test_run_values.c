/* test_run_values.c - saved values are shown as they were recorded; what is missing is explained. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/json.h"
#include "base/buffer.h"
#include "unit/scratch.h"

#include <math.h>

enum { COUNT = 6, MANY = 70000 };

static struct scratch scratch;
static struct plumb_buffer printed;
static struct plumb_error error;

static const double expected[COUNT] = {0.5, -1.5, 2, -0.25, 8, 0};

/* Every type with values it can hold, in one step; and a tensor that is too long for JSON. */
static void record_types(const char *path, enum plumb_save save)
{
    static const int64_t shape[] = {2, 3}, long_shape[] = {MANY};
    static float many[MANY];
    struct plumb_recorder *recorder = NULL;
    const struct plumb_recorder_options options = {
        .path = path, .no_thread = true, .save = save};
    assert_int_equal(plumb_recorder_open(&options, &recorder, NULL), PLUMB_OK);
    plumb_record_step_begin(recorder, 4);
    for (int dtype = 0; dtype < PLUMB_DTYPE_COUNT; dtype++) {
        unsigned char values[COUNT * 16];
        double source[2 * COUNT] = {0};
        const bool complex = plumb_dtype_is_complex((enum plumb_dtype)dtype);
        for (int i = 0; i < COUNT; i++)
            source[complex ? 2 * i : i] = expected[i];
        assert_int_equal(plumb_convert_values(complex ? PLUMB_C128 : PLUMB_F64, source,
                                              (enum plumb_dtype)dtype, values, COUNT,
                                              PLUMB_ROUND_TO_ZERO, NULL),
                         PLUMB_OK);
        plumb_record_enter(recorder, PLUMB_PHASE_BACKWARD, "types",
                           plumb_dtype_name((enum plumb_dtype)dtype), PLUMB_CALL_COUNTED);
        plumb_record_tensor(recorder, "output0", (enum plumb_dtype)dtype, 2, shape, values);
        plumb_record_leave(recorder);
    }
    plumb_record_enter(recorder, PLUMB_PHASE_FORWARD, "long", "op", PLUMB_CALL_COUNTED);
    plumb_record_tensor(recorder, "output0", PLUMB_F32, 1, long_shape, many);
    plumb_record_leave(recorder);
    plumb_record_step_end(recorder);
    assert_int_equal(plumb_recorder_close(recorder, NULL, NULL), PLUMB_OK);
}

static int set_up(void **state)
{
    (void)state;
    scratch_open(&scratch);
    plumb_buffer_init(&printed, 1 << 24);
    record_types(scratch_path(&scratch, "saved"), PLUMB_SAVE_TENSORS);
    record_types(scratch_path(&scratch, "stats"), PLUMB_SAVE_STATS);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    plumb_buffer_release(&printed);
    scratch_close(&scratch);
    return 0;
}

static bool keep(void *context, const char *bytes, size_t size)
{
    plumb_buffer_append(context, bytes, size);
    return true;
}

/* What `plumb show` prints, or the reason in `error`. */
static enum plumb_status show(const char *name, struct plumb_run_report_options options)
{
    struct plumb_run *run = NULL;
    const struct plumb_sink sink = {keep, &printed};
    plumb_buffer_clear(&printed);
    options.rank = -1;
    assert_int_equal(plumb_run_open(scratch_path(&scratch, name), &run, NULL), PLUMB_OK);
    const enum plumb_status status = plumb_report_run(run, &options, &sink, &error);
    plumb_run_close(run);
    return status;
}

static const struct plumb_json *parsed(struct plumb_arena *arena)
{
    const struct plumb_json *root = NULL;
    const struct plumb_json_source source = {
        .path = "printed", .bytes = printed.data, .size = printed.size};
    assert_int_equal(plumb_json_parse(arena, &source, &root, NULL), PLUMB_OK);
    return plumb_json_get(root, "records")->first;
}

static double number(const struct plumb_json *value)
{
    if (value->kind == PLUMB_JSON_ARRAY)
        value = value->first;
    assert_true(value->kind == PLUMB_JSON_INT || value->kind == PLUMB_JSON_DOUBLE);
    return value->kind == PLUMB_JSON_INT ? (double)value->value.integer : value->value.number;
}

static void values_of_every_type(void **state)
{
    (void)state;
    struct plumb_arena arena = {0};
    assert_int_equal(
        show("saved",
             (struct plumb_run_report_options){
                 .op = "types.*", .one_step = true, .step = 4, .values = true, .json = true}),
        PLUMB_OK);
    const struct plumb_json *record = parsed(&arena);
    int seen = 0;
    for (; record; record = record->next, seen++) {
        const char *dtype = plumb_json_string(plumb_json_get(record, "dtype"));
        const struct plumb_json *values = plumb_json_get(record, "values");
        const struct plumb_json *value = values->first;
        assert_string_equal(dtype, plumb_dtype_name((enum plumb_dtype)seen));
        assert_int_equal(values->count, COUNT);
        const bool exact = plumb_dtype_is_float((enum plumb_dtype)seen) ||
                           plumb_dtype_is_complex((enum plumb_dtype)seen);
        for (int i = 0; i < COUNT; i++, value = value->next) {
            double want = exact ? expected[i] : trunc(expected[i]);
            if (want < 0 && dtype[0] == 'u')
                want = 0;
            if (seen == PLUMB_BOOL)
                continue;
            assert_true(number(value) == want);
        }
    }
    assert_int_equal(seen, PLUMB_DTYPE_COUNT);
    plumb_arena_release(&arena);
}

static void long_tensors_say_what_is_left_out(void **state)
{
    (void)state;
    struct plumb_arena arena = {0};
    assert_int_equal(
        show("saved",
             (struct plumb_run_report_options){.op = "long.op", .values = true, .json = true}),
        PLUMB_OK);
    const struct plumb_json *record = parsed(&arena);
    const size_t written = plumb_json_get(record, "values")->count;
    int64_t left_out = 0;
    assert_true(plumb_json_integer(plumb_json_get(record, "values_left_out"), &left_out));
    assert_int_equal((int64_t)written + left_out, MANY);
    plumb_arena_release(&arena);
}

static void for_people(void **state)
{
    (void)state;
    assert_int_equal(
        show("saved", (struct plumb_run_report_options){.op = "types.bf16", .values = true}),
        PLUMB_OK);
    assert_non_null(
        strstr(printed.data, "step 4, rank 0\ntypes.bf16/backward/output0  [2, 3]"));
    assert_non_null(strstr(printed.data, "0.5         -1.5            2\n"));
    assert_non_null(strstr(printed.data, "2^3 .. 2^4"));
    assert_null(strstr(printed.data, "warning"));
    assert_null(strstr(printed.data, "more"));
    assert_int_equal(show("saved", (struct plumb_run_report_options){.values = true}),
                     PLUMB_OK);
    assert_non_null(strstr(printed.data, "and 3 more")); /* 19 tensors, 16 shown */
}

static void what_is_missing_is_explained(void **state)
{
    (void)state;
    const struct {
        const char *run;
        struct plumb_run_report_options options;
        const char *says;
    } cases[] = {
        {"stats",
         {.op = "types.f32", .values = true},
         "1 tensor record matches, but no values"},
        {"stats", {.op = "types.f32", .values = true, .json = true}, "PLUMB_SAVE_TENSORS"},
        {"stats", {.op = "f31"}, "no op is called 'f31'; the nearest: types.f32"},
        {"stats", {.op = "type.BF16"}, "the nearest: types.bf16"},
        {"stats", {.op = "f31", .json = true}, "the nearest: types.f32"},
        {"saved", {.op = "f31", .values = true}, "the nearest: types.f32"},
        {"stats", {.op = "types.f32", .slot = "outptu*"}, "the nearest: output0"},
        {"stats", {.one_step = true, .step = 5}, "no tensor records at step 5; there are some"},
        {"stats", {.op = "types.f32", .one_step = true, .step = 5}, "from step 4 to 4"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(show(cases[i].run, cases[i].options), PLUMB_NOT_FOUND);
        if (!strstr(error.message, cases[i].says))
            fail_msg("case %zu: %s", i, error.message);
        assert_int_equal(printed.size, 0);
    }
}

/* The npz is gone, or was changed behind the run's back. */
static void lost_and_changed_values(void **state)
{
    (void)state;
    static const float other[COUNT] = {1, 2, 3, 4, 5, 6};
    static const int64_t shape[] = {2, 3};
    const struct plumb_value value = {.name = "types.f32/backward/output0",
                                      .dtype = PLUMB_F32,
                                      .rank = 2,
                                      .shape = shape,
                                      .data = other};
    const char *path = scratch_path(&scratch, "saved/rank0000/step000004.npz");
    assert_int_equal(plumb_write_file(path, NULL, &value, 1, NULL), PLUMB_OK);
    assert_int_equal(
        show("saved", (struct plumb_run_report_options){.op = "types.f*", .values = true}),
        PLUMB_OK);
    assert_non_null(strstr(printed.data, "the saved values have changed"));
    assert_non_null(strstr(printed.data, "and 4 whose values are lost"));
    assert_int_equal(unlink(scratch_path(&scratch, "saved/rank0000/step000004.npz")), 0);
    assert_int_not_equal(show("saved", (struct plumb_run_report_options){.values = true}),
                         PLUMB_OK);
    assert_non_null(strstr(error.message, "step000004.npz"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_of_every_type),
        cmocka_unit_test(long_tensors_say_what_is_left_out),
        cmocka_unit_test(for_people),
        cmocka_unit_test(what_is_missing_is_explained),
        cmocka_unit_test(lost_and_changed_values), /* last: it spoils the run */
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
