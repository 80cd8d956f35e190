/* test_msprobe.c - msprobe's dumps open as runs: names, slots, statistics, hashes, ranks, cuts. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <string.h>
#include <cmocka.h>

#include "plumb.h"
#include "unit/msprobe_samples.h"
#include "unit/scratch_group.h"

enum { MOST_ROWS = 64 };

/* What is kept of a record for looking at it later. */
struct row {
    char label[128], slot[64], origin[64], value_name[64];
    struct plumb_tensor_record record;
};

struct rows {
    struct row items[MOST_ROWS];
    size_t count;
};

static struct rows rows;

static bool keep(void *context, const struct plumb_tensor_record *record)
{
    struct rows *to = context;
    assert_true(to->count < MOST_ROWS);
    struct row *row = &to->items[to->count++];
    row->record = *record;
    (void)snprintf(row->label, sizeof row->label, "%s", record->label);
    (void)snprintf(row->slot, sizeof row->slot, "%s", record->slot);
    (void)snprintf(row->origin, sizeof row->origin, "%s", record->origin);
    (void)snprintf(row->value_name, sizeof row->value_name, "%s",
                   record->value_name ? record->value_name : "");
    return true;
}

static struct plumb_run *open_run(const char *name)
{
    struct plumb_run *run = NULL;
    struct plumb_error error;
    if (plumb_run_open(scratch_path(&scratch, name), &run, &error))
        fail_msg("%s", error.message);
    rows.count = 0;
    assert_int_equal(plumb_run_visit_records(run, NULL, keep, &rows, &error), PLUMB_OK);
    return run;
}

static const struct row *find(const char *label, enum plumb_phase phase, const char *slot)
{
    for (size_t i = 0; i < rows.count; i++)
        if (strcmp(rows.items[i].label, label) == 0 && strcmp(rows.items[i].slot, slot) == 0 &&
            rows.items[i].record.phase == phase)
            return &rows.items[i];
    fail_msg("no record %s %s", label, slot);
    return NULL;
}

static bool has_warning(const struct plumb_run *run, const char *part)
{
    for (size_t i = 0; i < plumb_run_warning_count(run); i++)
        if (strstr(plumb_run_warning(run, i), part))
            return true;
    return false;
}

static void make_dump(const char *directory, const char *dump, const char *construct)
{
    char path[256];
    scratch_directory(&scratch, directory);
    (void)snprintf(path, sizeof path, "%s/dump.json", directory);
    scratch_text(&scratch, path, dump);
    (void)snprintf(path, sizeof path, "%s/construct.json", directory);
    if (construct)
        scratch_text(&scratch, path, construct);
}

/* ---- tests ------------------------------------------------------------------------------------ */

static void modules_and_slots(void **state)
{
    (void)state;
    make_dump("named", msprobe_dump, msprobe_construct);
    assert_true(plumb_run_is(scratch_path(&scratch, "named")));
    struct plumb_run *run = open_run("named");
    assert_string_equal(plumb_run_format(run), "msprobe");
    assert_int_equal(plumb_run_warning_count(run), 0);
    assert_int_equal(rows.count, 10);
    assert_int_equal(plumb_run_rank(run, 0)->records, 10);
    /* Calls are counted in their module: 4 and 7 are the first and second there. */
    const char *first = "layer.0.conv.Functional.conv2d",
               *second = "layer.0.conv.Functional.conv2d#1";
    assert_true(find(first, PLUMB_PHASE_FORWARD, "input0")->record.stats.max == 1.5);
    assert_string_equal(find(first, PLUMB_PHASE_FORWARD, "input0")->origin,
                        "Functional.conv2d.4.forward");
    assert_int_equal(find(first, PLUMB_PHASE_FORWARD, "input2.0")->record.dtype, PLUMB_I64);
    const struct row *eps = find(first, PLUMB_PHASE_FORWARD, "input:eps");
    assert_true(eps->record.stats.min == 1e-5 && !eps->record.partial_stats);
    assert_int_equal(eps->record.fingerprint_kind, PLUMB_FINGERPRINT_OWN);
    assert_int_equal(find(second, PLUMB_PHASE_BACKWARD, "input0")->record.call, 1);
    (void)find("layer.0.conv.Conv2d", PLUMB_PHASE_FORWARD, "output:logits");
    (void)find("layer.0.conv.Conv2d", PLUMB_PHASE_FORWARD, "param:weight");
    (void)find("layer.0.conv.Conv2d", PLUMB_PHASE_BACKWARD, "grad:weight");
    plumb_run_close(run);
}

static void what_was_not_said_is_not_known(void **state)
{
    (void)state;
    make_dump("partial", msprobe_dump, NULL);
    struct plumb_run *run = open_run("partial");
    /* Without construct.json msprobe's own number stays. */
    const struct plumb_stats *half =
        &find("Functional.conv2d#4", PLUMB_PHASE_FORWARD, "output0")->record.stats;
    assert_true(half->max == 1 && isnan(half->mean) && isnan(half->l2) && isnan(half->std));
    assert_int_equal(half->nan + half->pos_inf, 0);
    const struct plumb_stats *nan =
        &find("Functional.conv2d#7", PLUMB_PHASE_FORWARD, "output0.0")->record.stats;
    assert_true(nan->nan && !nan->pos_inf && isnan(nan->max));
    const struct plumb_stats *inf =
        &find("Functional.conv2d#7", PLUMB_PHASE_FORWARD, "output0.1")->record.stats;
    assert_true(!inf->nan && inf->pos_inf && !inf->neg_inf && inf->min == -1);
    plumb_run_close(run);
}

static void origin_of_nan(void **state)
{
    (void)state;
    struct plumb_error error;
    struct plumb_nan *nan = NULL;
    make_dump("nan", msprobe_dump, NULL);
    struct plumb_run *run = open_run("nan");
    assert_int_equal(plumb_nan_find(run, &nan, &error), PLUMB_OK);
    assert_string_equal(plumb_nan_origin(nan)->op, "Functional.conv2d#7");
    assert_string_equal(plumb_nan_origin(nan)->kind, "nan");
    plumb_nan_free(nan);
    plumb_run_close(run);
}

static void steps_and_ranks(void **state)
{
    (void)state;
    const char *const directories[] = {"tree/step2", "tree/step10"};
    scratch_directory(&scratch, "tree");
    for (size_t i = 0; i < 2; i++) {
        char path[64];
        scratch_directory(&scratch, directories[i]);
        for (int rank = 0; rank < 3; rank++) {
            (void)snprintf(path, sizeof path, "%s/rank%d", directories[i], rank);
            make_dump(path, msprobe_dump, msprobe_construct);
        }
    }
    struct plumb_run *run = open_run("tree");
    assert_int_equal(plumb_run_rank_count(run), 3);
    assert_int_equal(rows.count, 60);
    assert_int_equal(plumb_run_rank(run, 1)->first_step, 2);
    assert_int_equal(plumb_run_rank(run, 1)->last_step, 10);
    assert_int_equal(rows.items[0].record.step, 2); /* 10 comes after 2 */
    assert_int_equal(rows.items[10].record.step, 10);
    assert_int_equal(rows.items[20].record.rank, 1);
    rows.count = 0;
    const struct plumb_run_query query = {
        .rank = 2, .some_steps = true, .first_step = 10, .last_step = 10, .op = "*.Conv2d"};
    struct plumb_error error;
    assert_int_equal(plumb_run_visit_records(run, &query, keep, &rows, &error), PLUMB_OK);
    assert_int_equal(rows.count, 3);
    plumb_run_close(run);
    /* A part of it alone knows what it is. */
    run = open_run("tree/step10/rank1");
    assert_int_equal(rows.items[0].record.step, 10);
    assert_int_equal(rows.items[0].record.rank, 1);
    plumb_run_close(run);
    run = open_run("tree/step10/rank1/dump.json");
    assert_int_equal(rows.count, 10);
    assert_int_equal(rows.items[0].record.step, 10);
    plumb_run_close(run);
}

static void cut_off(void **state)
{
    (void)state;
    char part[sizeof msprobe_dump];
    const size_t size = (size_t)(strstr(msprobe_dump, "\"param") - msprobe_dump);
    memcpy(part, msprobe_dump, size);
    part[size] = '\0';
    make_dump("cut", part, msprobe_construct);
    struct plumb_run *run = open_run("cut");
    assert_int_equal(rows.count, 6); /* the module is not whole */
    assert_true(has_warning(run, "cut off at byte"));
    assert_true(has_warning(run, "Functional.conv2d.7.forward"));
    assert_int_equal(plumb_run_rank(run, 0)->ended, PLUMB_ENDED_STOPPED);
    plumb_run_close(run);
    scratch_text(&scratch, "cut/dump.json", "");
    run = open_run("cut");
    assert_int_equal(rows.count, 0);
    assert_true(has_warning(run, "cut off at byte 0"));
    plumb_run_close(run);
}

static void odd_content(void **state)
{
    (void)state;
    make_dump(
        "odd",
        MSPROBE_HEAD
        "\"Torch.linalg.norm.0.forward\": {\"input_args\": [{\"type\": \"torch.Tensor\", "
        "\"dtype\": \"torch.float4_e2m1\", \"shape\": [4], \"Max\": null, \"Min\": null, "
        "\"Mean\": null, \"Norm\": null}], \"output\": ["
        "{\"type\": \"torch.Tensor\", \"dtype\": \"torch.bool\", \"shape\": [4], \"Max\": "
        "true, \"Min\": false, \"Mean\": null, \"Norm\": null}]},"
        "\"Torch.linalg.norm.0.forward\": {\"is_nan\": true, \"output\": []},"
        "\"weights.3.debug\": {\"type\": \"torch.Tensor\", \"dtype\": \"torch.float16\", "
        "\"shape\": [], \"Max\": 65504.0, \"Min\": 0.0, \"Mean\": 1, \"Norm\": 1},"
        "\"strange\": 17}}",
        NULL);
    struct plumb_run *run = open_run("odd");
    assert_int_equal(rows.count, 2);
    assert_string_equal(rows.items[0].label, "Torch.linalg.norm");
    assert_true(rows.items[0].record.stats.max == 1 && rows.items[0].record.stats.min == 0);
    assert_string_equal(rows.items[1].label, "weights#3");
    assert_true(rows.items[1].record.stats.at_max);
    assert_true(has_warning(run, "1 operations have the name of an earlier one"));
    assert_true(has_warning(run, "torch.float4_e2m1"));
    assert_true(has_warning(run, "nan_check flagged 1"));
    plumb_run_close(run);
}

/* crc32 and xor are not each other's, and bf16 is hashed as f32 by MindSpore only. */
static void hashes(void **state)
{
    (void)state;
    static const struct {
        const char *framework, *dtype, *hash;
        enum plumb_fingerprint_kind kind;
        uint64_t value;
    } cases[] = {
        {"pytorch", "torch.bfloat16", "8f2a91c0", PLUMB_FINGERPRINT_CRC32, 0x8f2a91c0},
        {"mindspore", "BFloat16", "8f2a91c0", PLUMB_FINGERPRINT_CRC32_WIDE, 0x8f2a91c0},
        {"mindspore", "Float32", "8F2A91C0", PLUMB_FINGERPRINT_CRC32, 0x8f2a91c0},
        {"pytorch", "torch.float32", "0x0123456789abcdef", PLUMB_FINGERPRINT_XOR,
         0x0123456789abcdef},
        {"pytorch", "torch.float32", "not hex", PLUMB_FINGERPRINT_NONE, 0},
    };
    scratch_directory(&scratch, "md5");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512];
        (void)snprintf(
            text, sizeof text,
            "{\"task\": \"statistics\", \"framework\": \"%s\", \"dump_data_dir\": null,"
            " \"data\": {\"Tensor.add.0.forward\": {\"output\": [{\"type\": \"t\", "
            "\"dtype\": \"%s\", \"shape\": [2], \"md5\": \"%s\"}]}}}",
            cases[i].framework, cases[i].dtype, cases[i].hash);
        scratch_text(&scratch, "md5/dump.json", text);
        struct plumb_run *run = open_run("md5");
        assert_int_equal(rows.count, 1);
        assert_int_equal(rows.items[0].record.fingerprint_kind, cases[i].kind);
        assert_true(rows.items[0].record.fingerprint == cases[i].value);
        assert_false(rows.items[0].record.has_stats);
        plumb_run_close(run);
    }
}

static void values(void **state)
{
    (void)state;
    const float saved[6] = {1, 2, 3, 4, 5, 6};
    const int64_t shape[2] = {2, 3};
    const struct plumb_value value = {"x", PLUMB_F32, 2, shape, saved};
    struct plumb_error error;
    make_dump(
        "values",
        "{\"task\": \"tensor\", \"dump_data_dir\": \"elsewhere\", \"data\": {"
        "\"Tensor.add.0.forward\": {\"output\": [{\"type\": \"mindspore.Tensor\", \"dtype\": "
        "\"Float32\", \"shape\": [2, 3], \"Max\": 6.0, \"Min\": 1.0, \"Mean\": 3.5, "
        "\"Norm\": 9.5, \"data_name\": \"Tensor.add.0.forward.output.0.npy\"}]}}}",
        NULL);
    scratch_directory(&scratch, "values/dump_tensor_data");
    assert_int_equal(
        plumb_write_file(
            scratch_path(&scratch, "values/dump_tensor_data/Tensor.add.0.forward.output.0.npy"),
            NULL, &value, 1, &error),
        PLUMB_OK);
    struct plumb_run *run = open_run("values");
    struct plumb_file *file = NULL;
    assert_true(rows.items[0].record.has_values);
    assert_int_equal(plumb_run_open_values(run, 0, 0, &file, &error), PLUMB_OK);
    const struct plumb_tensor *tensor = plumb_file_find(file, rows.items[0].value_name);
    assert_non_null(tensor);
    float read[6];
    assert_int_equal(plumb_tensor_read(tensor, 0, 6, read, &error), PLUMB_OK);
    assert_memory_equal(read, saved, sizeof saved);
    plumb_file_close(file);
    assert_int_equal(plumb_run_open_values(run, 0, 1, &file, &error), PLUMB_NOT_FOUND);
    plumb_run_close(run);
}

/* ---- collectives -------------------------------------------------------------------------------- */

struct heard {
    char text[512];
};

static bool hear(void *context, const struct plumb_rank_collective *row)
{
    struct heard *heard = context;
    const size_t length = strlen(heard->text);
    (void)snprintf(heard->text + length, sizeof heard->text - length, "%s %s %lld;",
                   row->collective.name, row->collective.group,
                   (long long)row->collective.sequence);
    return true;
}

static void collectives(void **state)
{
    (void)state;
    static const char group[] = "{\"group\": {\"type\": \"torch.ProcessGroup\", "
                                "\"group_ranks\": [0, 2], \"group_id\": \"aa\"}}";
    char text[2048];
    (void)snprintf(
        text, sizeof text,
        MSPROBE_HEAD
        "\"Distributed.all_reduce.0.forward\": {\"input_args\": [], \"input_kwargs\": %s},"
        "\"Distributed.all_reduce.1.forward\": {\"input_args\": [], \"input_kwargs\": "
        "{\"group\": null}},"
        "\"Distributed.all_reduce.2.forward\": {\"input_args\": [], \"input_kwargs\": %s},"
        "\"Distributed.send.0.forward\": {\"input_args\": [null, {\"type\": \"int\", "
        "\"value\": 1}]},"
        "\"Distributed.recv.0.forward\": {\"input_args\": [null], \"input_kwargs\": {\"src\": "
        "{\"type\": \"int\", \"value\": 3}}},"
        "\"Distributed.batch_isend_irecv.0.forward\": {\"input_args\": [[{\"class_type\": "
        "\"torch.distributed.P2POp\", \"op\": \"isend\", \"peer\": 1, \"tag\": 0}, "
        "{\"class_type\": \"torch.distributed.P2POp\", \"op\": \"irecv\", \"peer\": 1}]]}}}",
        group, group);
    make_dump("comm", text, NULL);
    struct plumb_run *run = open_run("comm");
    struct heard heard = {""};
    struct plumb_error error;
    assert_int_equal(plumb_run_visit_collectives(run, NULL, hear, &heard, &error), PLUMB_OK);
    assert_string_equal(heard.text,
                        "all_reduce 0,2 0;all_reduce world 0;all_reduce 0,2 1;send 0>1 0;"
                        "recv 3>0 0;isend 0>1 1;irecv 1>0 0;");
    assert_int_equal(plumb_run_rank(run, 0)->collectives, 7);
    plumb_run_close(run);
}

static void mixed_versions(void **state)
{
    (void)state;
    scratch_directory(&scratch, "mixed");
    scratch_directory(&scratch, "mixed/step0");
    scratch_directory(&scratch, "mixed/step1");
    make_dump("mixed/step0/proc9", msprobe_dump, NULL);
    make_dump("mixed/step0/proc10", msprobe_dump, NULL);
    make_dump("mixed/step1/proc9",
              "{\"task\": \"tensor\", \"dump_data_dir\": null, \"data\": {}}", NULL);
    scratch_directory(&scratch, "mixed/step1/proc10");
    scratch_directory(&scratch, "mixed/step1/proc10/dump_tensor_data");
    struct plumb_run *run = open_run("mixed");
    assert_int_equal(plumb_run_rank_count(run), 2);
    assert_true(has_warning(run, "task is \"tensor\" here and \"statistics\" earlier"));
    assert_true(has_warning(run, "2 processes without a rank"));
    assert_true(has_warning(run, "saved tensors without a dump.json"));
    assert_int_equal(rows.count, 20);
    plumb_run_close(run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(modules_and_slots),
        cmocka_unit_test(what_was_not_said_is_not_known),
        cmocka_unit_test(origin_of_nan),
        cmocka_unit_test(steps_and_ranks),
        cmocka_unit_test(cut_off),
        cmocka_unit_test(odd_content),
        cmocka_unit_test(hashes),
        cmocka_unit_test(values),
        cmocka_unit_test(collectives),
        cmocka_unit_test(mixed_versions),
    };
    return cmocka_run_group_tests(tests, scratch_group_open, scratch_group_close);
}
