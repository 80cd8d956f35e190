/*
 * run_value_rows.c - saved values of all records of a step, compared on several threads.
 *
 * Where a fingerprint says that values are equal they are not read. Statistics never say that: then
 * the values are. Large tensors get all threads, of the others each thread takes its own.
 */
#include "compare/run_value_pair.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/threads.h"
#include "compare/run_align.h"
#include "model/storage.h"
#include "model/tensor.h"

#include <math.h>

static const int64_t LARGE_PAIR_BYTES = 32 << 20;

/* Two saved tensors, and where the answer goes. */
struct value_task {
    const struct plumb_tensor *a, *b;
    struct plumb_row_error *error;
};

struct comparing {
    const struct plumb_value_pair *pair;
    struct value_task *tasks;
    size_t count;
};

/* A value that cannot be read leaves the statistics in place. */
static bool compare_one(const struct value_task *task, int threads)
{
    const struct plumb_compare_options options = {.scan = {.threads = threads}, .brief = true};
    struct plumb_row_error *error = task->error;
    struct plumb_comparison comparison;
    if (plumb_tensor_compare(task->a, task->b, &options, &comparison, NULL))
        return false;
    error->basis = PLUMB_BASIS_VALUES;
    error->same = comparison.first_index < 0;
    error->unknown = error->reordered = false;
    error->error = error->same                                          ? 0
                   : comparison.nan_mismatch || comparison.inf_mismatch ? HUGE_VAL
                   : comparison.norm_a > 0                              ? comparison.relative_l2
                                                                        : HUGE_VAL;
    error->distance = comparison.nan_mismatch || comparison.inf_mismatch
                          ? HUGE_VAL
                          : comparison.rmse * sqrt((double)comparison.finite);
    return true;
}

static enum plumb_status run_task(void *context, size_t task, int worker,
                                  struct plumb_error *err)
{
    const struct comparing *comparing = context;
    (void)worker;
    (void)err;
    if (!compare_one(&comparing->tasks[task], 1))
        comparing->tasks[task].error->values_lost = true;
    return PLUMB_OK;
}

static const struct plumb_tensor *find(const struct plumb_value_pair *pair,
                                       const struct plumb_file *file,
                                       const struct plumb_row *row)
{
    return row->value_name == PLUMB_NO_NAME
               ? NULL
               : plumb_file_find(file, pair->names->texts[row->value_name]);
}

/* Produced content is shared and dropped after use: not beside other threads. */
static bool is_for_all_threads(const struct value_task *task)
{
    const int64_t bytes = task->a->count * (int64_t)plumb_dtype_size(task->a->dtype) +
                          task->b->count * (int64_t)plumb_dtype_size(task->b->dtype);
    return bytes > LARGE_PAIR_BYTES || task->a->storage->lazy || task->b->storage->lazy;
}

static void take_row(struct comparing *comparing, const struct plumb_row *a,
                     const struct plumb_row *b, struct plumb_row_error *error)
{
    const struct plumb_value_pair *pair = comparing->pair;
    const bool is_known = error->same && !error->unknown && error->basis == PLUMB_BASIS_BITS;
    if (is_known || !a->has_values || !b->has_values || error->shape_differs || !a->count)
        return;
    const struct value_task task = {find(pair, pair->a, a), find(pair, pair->b, b), error};
    error->values_lost = !task.a || !task.b || task.a->count != task.b->count;
    if (error->values_lost)
        return;
    if (!is_for_all_threads(&task)) {
        comparing->tasks[comparing->count++] = task;
        return;
    }
    error->values_lost = !compare_one(&task, pair->threads);
    plumb_storage_drop(task.a->storage);
    plumb_storage_drop(task.b->storage);
}

bool plumb_value_pair_compare_rows(const struct plumb_value_pair *pair,
                                   const struct plumb_alignment *alignment,
                                   const struct plumb_row *a, const struct plumb_row *b,
                                   struct plumb_row_error *errors)
{
    const struct plumb_step_side *side = &alignment->a;
    struct comparing comparing = {.pair = pair};
    if (!pair || !pair->a)
        return true;
    comparing.tasks = plumb_alloc_array(side->row_count + 1, sizeof *comparing.tasks);
    if (!comparing.tasks)
        return false;
    for (size_t i = 0; i < side->row_count; i++)
        if (side->partner[i] != PLUMB_NO_ROW)
            take_row(&comparing, &a[i], &b[side->partner[i]], &errors[i]);
    const struct plumb_job job = {.task_count = comparing.count,
                                  .run = run_task,
                                  .context = &comparing,
                                  .threads = plumb_thread_count(pair->threads)};
    (void)plumb_job_run(&job, NULL); /* a task never fails */
    plumb_free(comparing.tasks);
    return true;
}
