/*
 * test_records_allocation.c - every allocation fails once while dumps and logs of other tools are
 * opened, shown, searched and exported. A probe that has no memory says no: then there is no run.
 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/memory.h"
#include "plumb.h"
#include "unit/log_samples.h"
#include "unit/msprobe_samples.h"
#include "unit/scratch.h"

static struct scratch scratch;
static const char *subject; /* what is opened, below the scratch directory */

static bool discard(void *context, const char *bytes, size_t size)
{
    (void)context;
    (void)bytes;
    (void)size;
    return true;
}

static bool count(void *context, const struct plumb_rank_collective *collective)
{
    (void)collective;
    ++*(size_t *)context;
    return true;
}

static enum plumb_status use(struct plumb_error *err)
{
    struct plumb_run *run = NULL;
    struct plumb_nan *nan = NULL;
    struct plumb_file *values = NULL;
    const struct plumb_sink sink = {discard, NULL};
    size_t collectives = 0;
    char out[600];
    (void)snprintf(out, sizeof out, "%s/out", scratch.root);
    enum plumb_status status = plumb_run_open(scratch_path(&scratch, subject), &run, err);
    for (int json = 0; json < 2 && !status; json++) {
        const struct plumb_run_report_options options = {.rank = -1, .json = json};
        status = plumb_report_run(run, &options, &sink, err);
    }
    if (!status)
        status = plumb_run_visit_collectives(run, NULL, count, &collectives, err);
    if (!status)
        status = plumb_nan_find(run, &nan, err);
    if (!status && plumb_run_rank(run, 0)->saved)
        status = plumb_run_open_values(run, 0, 0, &values, err);
    if (!status)
        status = plumb_export_msprobe(run, out, err);
    if (!status)
        status = plumb_run_refresh(run, err);
    plumb_file_close(values);
    plumb_nan_free(nan);
    plumb_run_close(run);
    return status;
}

static void torture(const char *name)
{
    struct plumb_error err = {0};
    subject = name;
    for (size_t n = 1;; n++) {
        err = (struct plumb_error){0};
        plumb_memory_fail_at(n);
        const enum plumb_status status = use(&err);
        const size_t asked = plumb_memory_fail_at(0);
        if (asked < n) {
            if (status)
                fail_msg("%s: %s", name, err.message);
            return;
        }
        if (status != PLUMB_OK && status != PLUMB_NO_MEMORY && status != PLUMB_NOT_FOUND)
            fail_msg("%s, allocation %zu: %s: %s", name, n, plumb_status_name(status),
                     err.message);
    }
}

static void save_array(const char *path)
{
    const float data[2] = {1, 2};
    const int64_t shape[1] = {2};
    const struct plumb_value value = {"x", PLUMB_F32, 1, shape, data};
    assert_int_equal(plumb_write_file(scratch_path(&scratch, path), "npy", &value, 1, NULL),
                     PLUMB_OK);
}

static void dumps(void **state)
{
    (void)state;
    static const char *const directories[] = {
        "probe",           "probe/dump_tensor_data", "ms",    "ms/rank_0",   "ms/rank_0/Net",
        "ms/rank_0/Net/0", "ms/rank_0/Net/0/0",      "catch", "catch/1_relu"};
    for (size_t i = 0; i < sizeof directories / sizeof *directories; i++)
        scratch_directory(&scratch, directories[i]);
    scratch_text(&scratch, "probe/dump.json", msprobe_dump);
    scratch_text(&scratch, "probe/construct.json", msprobe_construct);
    save_array("probe/dump_tensor_data/x.npy");
    save_array("ms/rank_0/Net/0/0/ReLU.Default_act-ReLU_ReLU-op0.0.0.5.output.0.D.Float32.npy");
    scratch_text(&scratch, "ms/rank_0/Net/0/0/mapping.csv", "a,b\n");
    scratch_text(&scratch, "catch/1_relu/mlu_self",
                 "Tensor : Type = Float : Shape = [2] : Stride = [1] : Dumped = 2\n1\n2\n");
    torture("probe");
    torture("ms");
    torture("catch");
    torture("probe/dump_tensor_data"); /* plain arrays */
}

static void logs(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof log_samples / sizeof *log_samples; i++) {
        scratch_text(&scratch, "log", log_samples[i].text);
        torture("log");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(dumps), cmocka_unit_test(logs)};
    scratch_open(&scratch);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    scratch_close(&scratch);
    return failed;
}
