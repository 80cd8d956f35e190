/*
 * test_run_allocation.c - every allocation fails once while a run is recorded, and while one is
 * read, shown, searched and exported. The recording program never notices more than a message.
 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/memory.h"
#include "property/toy_run.h"
#include "unit/scratch.h"

enum { STEPS = 3 };

static struct scratch scratch;

static void remove_tree(const char *name)
{
    if (access(scratch_path(&scratch, name), F_OK) == 0)
        assert_int_equal(nftw(scratch.path, scratch_remove, 16, FTW_DEPTH | FTW_PHYS), 0);
}

static enum plumb_status record(struct plumb_error *err)
{
    struct plumb_recorder *recorder = NULL;
    char path[600];
    (void)snprintf(path, sizeof path, "%s", scratch_path(&scratch, "run"));
    const struct plumb_recorder_options options = {
        .path = path, .no_thread = true, .save = PLUMB_SAVE_TENSORS};
    const enum plumb_status status = plumb_recorder_open(&options, &recorder, err);
    if (status)
        return status;
    plumb_record_config(recorder, "lr", "0.1");
    for (int64_t step = 0; step < STEPS; step++)
        toy_step(recorder, step);
    return plumb_recorder_close(recorder, NULL, err);
}

static bool discard(void *context, const char *bytes, size_t size)
{
    (void)context;
    (void)bytes;
    (void)size;
    return true;
}

static enum plumb_status report(struct plumb_run *run, struct plumb_error *err)
{
    const struct plumb_sink sink = {discard, NULL};
    const struct plumb_run_report_options forms[] = {
        {.rank = -1},
        {.rank = -1, .json = true},
        {.rank = -1, .series = "loss"},
        {.rank = -1, .op = "*", .json = true},
        {.rank = -1, .op = "*"},
        {.rank = -1, .values = true},
        {.rank = -1, .values = true, .json = true}};
    const struct plumb_run_report_options unknown = {.rank = -1, .op = "linaer"};
    enum plumb_status status = PLUMB_OK;
    for (size_t i = 0; i < sizeof forms / sizeof *forms && !status; i++)
        status = plumb_report_run(run, &forms[i], &sink, err);
    if (!status && plumb_report_run(run, &unknown, &sink, err) == PLUMB_NO_MEMORY)
        status = PLUMB_NO_MEMORY;
    struct plumb_nan *nan = NULL;
    if (!status)
        status = plumb_nan_find(run, &nan, err);
    if (!status)
        status = plumb_report_nan(nan, PLUMB_REPORT_JSON, &sink, err);
    plumb_nan_free(nan);
    return status;
}

static enum plumb_status read_all(struct plumb_error *err)
{
    struct plumb_run *run = NULL;
    char out[600];
    enum plumb_status status = plumb_run_open(scratch_path(&scratch, "run"), &run, err);
    if (!status)
        status = report(run, err);
    static const struct {
        const char *name;
        enum plumb_status (*write)(struct plumb_run *run, const char *path,
                                   struct plumb_error *err);
    } forms[] = {
        {"csv", plumb_export_csv},
        {"json", plumb_export_json},
#if HAVE_SQLITE
        {"sqlite", plumb_export_sqlite},
#endif
        {"npz", plumb_export_npz}
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms && !status; i++) {
        (void)snprintf(out, sizeof out, "%s/out.%s", scratch.root, forms[i].name);
        status = forms[i].write(run, out, err);
    }
    plumb_run_close(run);
    return status;
}

static void torture(enum plumb_status (*work)(struct plumb_error *err), const char *product)
{
    struct plumb_error err = {0};
    for (size_t n = 1;; n++) {
        err = (struct plumb_error){0};
        plumb_memory_fail_at(n);
        const enum plumb_status status = work(&err);
        const size_t asked = plumb_memory_fail_at(0);
        if (asked < n) {
            assert_int_equal(status, PLUMB_OK);
            return;
        }
        if (status != PLUMB_OK && status != PLUMB_NO_MEMORY)
            fail_msg("allocation %zu: %s: %s", n, plumb_status_name(status), err.message);
        if (product)
            remove_tree(product);
    }
}

static void while_recording(void **state)
{
    (void)state;
    torture(record, "run");
}

static void while_reading(void **state)
{
    (void)state;
    torture(read_all, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(while_recording), /* ends with a whole run, which the next one reads */
        cmocka_unit_test(while_reading),
    };
    scratch_open(&scratch);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    scratch_close(&scratch);
    return failed;
}
