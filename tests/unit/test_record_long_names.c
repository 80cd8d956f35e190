/* test_record_long_names.c - no tensor is left out because its module is deep or has a long name. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "plumb.h"
#include "unit/scratch_group.h"

#include <stdlib.h>

enum { MOST = 400, LONGEST = 6000 };

/* What is in a run, in the order of its records. */
struct found {
    struct plumb_run *run;
    size_t count, with_values;
    char *labels[MOST];
    double mins[MOST];
};

static struct plumb_recorder *open_run(const char *name)
{
    struct plumb_recorder *recorder = NULL;
    const struct plumb_recorder_options options = {.path = scratch_path(&scratch, name),
                                                   .save = PLUMB_SAVE_TENSORS};
    assert_int_equal(plumb_recorder_open(&options, &recorder, NULL), PLUMB_OK);
    plumb_record_step_begin(recorder, 0);
    return recorder;
}

static void record_number(struct plumb_recorder *recorder, float number)
{
    plumb_record_tensor(recorder, "output0", PLUMB_F32, 0, NULL, &number);
}

static bool see(void *context, const struct plumb_tensor_record *record)
{
    struct found *found = context;
    assert_true(found->count < MOST);
    found->labels[found->count] = strdup(record->label);
    found->mins[found->count++] = record->stats.min;
    struct plumb_file *values = NULL;
    if (record->has_values && !plumb_run_open_values(found->run, 0, 0, &values, NULL))
        found->with_values += plumb_file_find(values, record->value_name) != NULL;
    plumb_file_close(values);
    return true;
}

static struct found read_back(struct plumb_recorder *recorder, const char *name)
{
    struct found found = {0};
    const struct plumb_run_query query = {.rank = -1};
    plumb_record_step_end(recorder);
    assert_int_equal(plumb_recorder_close(recorder, NULL, NULL), PLUMB_OK);
    assert_int_equal(plumb_run_open(scratch_path(&scratch, name), &found.run, NULL), PLUMB_OK);
    assert_int_equal(plumb_run_visit_records(found.run, &query, see, &found, NULL), PLUMB_OK);
    plumb_run_close(found.run);
    return found;
}

static void release(struct found *found)
{
    for (size_t i = 0; i < found->count; i++)
        free(found->labels[i]);
}

/* "layer.layer.", with one letter changed in the middle, `length` long. */
static const char *long_name(char *buffer, size_t length, bool changed)
{
    for (size_t i = 0; i < length; i++)
        buffer[i] = "layer."[i % 6];
    if (changed)
        buffer[length / 2] = 'X';
    buffer[length] = 0;
    return buffer;
}

static void every_length_is_kept_apart(void **state)
{
    static const size_t lengths[] = {200, 256, 300, 719, 720, 1023, 1024, 5999};
    char name[LONGEST + 1];
    (void)state;
    struct plumb_recorder *recorder = open_run("lengths");
    float number = 0;
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        for (int kind = 0; kind < 4; kind++) { /* of the module, of the op */
            long_name(name, lengths[i], kind & 1);
            plumb_record_enter(recorder, PLUMB_PHASE_FORWARD, kind & 2 ? name : "",
                               kind & 2 ? "add" : name, PLUMB_CALL_COUNTED);
            record_number(recorder, ++number);
            plumb_record_leave(recorder);
        }
    struct found found = read_back(recorder, "lengths");
    assert_int_equal(found.count, (size_t)number);
    assert_int_equal(found.with_values, found.count);
    for (size_t i = 0; i < found.count; i++) {
        assert_true(found.mins[i] == (double)i + 1);
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(found.labels[i], found.labels[k]);
    }
    assert_string_equal(found.labels[4], long_name(name, 256, false)); /* whole, if it fits */
    release(&found);
}

/* Deeper than any network is nested: the tensors there are dropped, and those outside stay theirs. */
static void what_is_too_deep_spoils_nothing_else(void **state)
{
    enum { NESTED = 300, ROOM = 256 };
    char name[32];
    (void)state;
    struct plumb_recorder *recorder = open_run("nested");
    for (int i = 0; i < NESTED; i++) {
        (void)snprintf(name, sizeof name, "m%d", i);
        plumb_record_enter(recorder, PLUMB_PHASE_FORWARD, "", name, PLUMB_CALL_COUNTED);
    }
    for (int i = NESTED; i-- > 0;) {
        record_number(recorder, (float)i);
        plumb_record_leave(recorder);
    }
    struct found found = read_back(recorder, "nested");
    assert_int_equal(found.count, ROOM);
    for (int i = 0; i < ROOM; i++) {
        (void)snprintf(name, sizeof name, "m%d", ROOM - 1 - i);
        assert_string_equal(found.labels[i], name);
        assert_true(found.mins[i] == ROOM - 1 - i);
    }
    release(&found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_length_is_kept_apart),
        cmocka_unit_test(what_is_too_deep_spoils_nothing_else),
    };
    return cmocka_run_group_tests(tests, scratch_group_open, scratch_group_close);
}
