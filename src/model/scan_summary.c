/*
 * scan_summary.c - statistics, fingerprints and checksums of many tensors in one pass.
 *
 * A task is one chunk of a large tensor, a run of small tensors, or a chunk of a storage whose
 * checksum no tensor's own pass can verify. Every tensor is read once; the checksum of a
 * storage is computed on the way if one plain tensor covers it, which is how checkpoints are
 * written.
 */
#include "base/crc32.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/threads.h"
#include "kernel/fingerprint.h"
#include "model/dtype.h"
#include "model/file.h"
#include "model/scan_chunks.h"
#include "model/scan_stats.h"
#include "model/tensor.h"
#include "model/verify.h"

#include <stdlib.h>

struct part {
    struct plumb_stats_state stats;
    uint64_t fingerprint;
    uint32_t crc;
};

struct task {
    size_t tensor, tensor_count; /* tensor_count 0: a chunk of a storage */
    size_t storage;
    uint64_t begin, end; /* elements of one tensor, or bytes of a storage */
    size_t part;         /* where the result of one chunk goes */
};

/* A storage with a checksum, and what the pass found. */
struct check {
    const struct plumb_storage *storage;
    size_t tensor; /* one that lies in it */
    bool covered;  /* that tensor is all of it: its parts give the checksum */
    bool failed;
    uint32_t found;
};

struct summing {
    const struct plumb_tensor *const *tensors;
    size_t tensor_count;
    int parts_wanted;
    struct plumb_summary *summaries;
    struct task *tasks;
    size_t task_count;
    struct part *parts;
    size_t part_count;
    struct check *checks; /* sorted by storage */
    size_t check_count;
    struct plumb_scan_buffers buffers;
};

static uint64_t smaller(uint64_t x, uint64_t y)
{
    return x < y ? x : y;
}

static int order_storages(const void *one, const void *two)
{
    const struct check *x = one, *y = two;
    if (x->storage != y->storage)
        return (uintptr_t)x->storage < (uintptr_t)y->storage ? -1 : 1;
    return 0;
}

static int order_checks(const void *one, const void *two)
{
    const struct check *x = one, *y = two;
    const int order = order_storages(one, two);
    return order ? order : x->tensor < y->tensor ? -1 : 1;
}

static struct check *find_check(const struct summing *job, const struct plumb_storage *storage)
{
    if (!storage->has_crc || job->check_count == 0)
        return NULL;
    const struct check key = {.storage = storage};
    return bsearch(&key, job->checks, job->check_count, sizeof key, order_storages);
}

/* The check that reading `tensor` makes, if it is the one chosen for it. */
static struct check *own_check(const struct summing *job, size_t tensor)
{
    struct check *check = find_check(job, job->tensors[tensor]->storage);
    return check && check->covered && check->tensor == tensor ? check : NULL;
}

/* ---- the passes ---------------------------------------------------------------------- */

static enum plumb_status sum_elements(const struct summing *job, size_t number, uint64_t begin,
                                      uint64_t end, void *buffer, struct part *part,
                                      struct plumb_error *err)
{
    const struct plumb_tensor *tensor = job->tensors[number];
    const uint64_t size = plumb_dtype_size(tensor->dtype), most = PLUMB_SCAN_BUFFER / size;
    const size_t values = (size_t)plumb_dtype_parts(tensor->dtype);
    const bool checks = own_check(job, number) != NULL;
    plumb_stats_begin(&part->stats);
    part->fingerprint = 0;
    part->crc = 0;
    for (uint64_t at = begin, n; at < end; at += n) {
        n = smaller(most, end - at);
        const void *here = NULL;
        enum plumb_status status =
            plumb_tensor_values(tensor, (int64_t)at, (int64_t)n, buffer, &here, err);
        if (status)
            return status;
        if (job->parts_wanted & PLUMB_SUMMARY_STATS)
            plumb_stats_add(&part->stats, plumb_dtype_part(tensor->dtype), here,
                            (size_t)n * values);
        if (job->parts_wanted & PLUMB_SUMMARY_FINGERPRINT)
            part->fingerprint += plumb_fingerprint_part(at * size, here, (size_t)(n * size));
        if (checks)
            part->crc = plumb_crc32(part->crc, here, (size_t)(n * size));
    }
    return PLUMB_OK;
}

static void finish_check(struct check *check, uint32_t found)
{
    check->found = found;
    check->failed = found != check->storage->crc;
}

/* Folds the parts of one tensor, in order. */
static void finish_tensor(const struct summing *job, size_t number, struct part *parts,
                          size_t count)
{
    const struct plumb_tensor *tensor = job->tensors[number];
    const uint64_t size = plumb_dtype_size(tensor->dtype);
    const uint64_t chunk = (uint64_t)plumb_scan_chunk(tensor->count);
    const uint64_t elements = (uint64_t)tensor->count;
    struct plumb_stats_state total;
    uint64_t fingerprint = 0;
    uint32_t crc = 0;
    plumb_stats_begin(&total);
    for (size_t i = 0; i < count; i++) {
        plumb_stats_merge(&total, &parts[i].stats);
        fingerprint += parts[i].fingerprint;
        crc =
            plumb_crc32_combine(crc, parts[i].crc, smaller(chunk, elements - i * chunk) * size);
    }
    struct plumb_summary *summary = &job->summaries[number];
    plumb_stats_finish(&total, &summary->stats);
    summary->fingerprint = plumb_fingerprint_finish(fingerprint, elements * size);
    struct check *check = own_check(job, number);
    if (check)
        finish_check(check, crc);
}

static enum plumb_status check_storage(const struct summing *job, const struct task *task,
                                       void *buffer, struct plumb_error *err)
{
    struct part *part = &job->parts[task->part];
    for (uint64_t at = task->begin, n; at < task->end; at += n) {
        n = smaller(PLUMB_SCAN_BUFFER, task->end - at);
        enum plumb_status status =
            plumb_storage_read(job->checks[task->storage].storage, at, (size_t)n, buffer, err);
        if (status)
            return status;
        part->crc = plumb_crc32(part->crc, buffer, (size_t)n);
    }
    return PLUMB_OK;
}

static enum plumb_status run_task(void *context, size_t number, int worker,
                                  struct plumb_error *err)
{
    const struct summing *job = context;
    const struct task *task = &job->tasks[number];
    void *buffer = plumb_scan_buffer(&job->buffers, worker, 0);
    if (task->tensor_count == 0)
        return check_storage(job, task, buffer, err);
    if (task->tensor_count == 1 && task->part != SIZE_MAX)
        return sum_elements(job, task->tensor, task->begin, task->end, buffer,
                            &job->parts[task->part], err);
    for (size_t i = task->tensor; i < task->tensor + task->tensor_count; i++) {
        struct part part;
        enum plumb_status status =
            sum_elements(job, i, 0, (uint64_t)job->tensors[i]->count, buffer, &part, err);
        if (status)
            return status;
        finish_tensor(job, i, &part, 1);
    }
    return PLUMB_OK;
}

static uint64_t tensor_bytes(const struct plumb_tensor *tensor)
{
    return (uint64_t)tensor->count * plumb_dtype_size(tensor->dtype);
}

static uint64_t task_bytes(void *context, size_t number)
{
    const struct summing *job = context;
    const struct task *task = &job->tasks[number];
    if (task->tensor_count == 0)
        return task->end - task->begin;
    if (task->part != SIZE_MAX)
        return (task->end - task->begin) * plumb_dtype_size(job->tensors[task->tensor]->dtype);
    uint64_t bytes = 0;
    for (size_t i = 0; i < task->tensor_count; i++)
        bytes += tensor_bytes(job->tensors[task->tensor + i]);
    return bytes;
}

/* ---- what there is to do --------------------------------------------------------------- */

/* Without `write` it only counts. */
static void plan_chunks(struct summing *job, bool write, struct task task, uint64_t total,
                        uint64_t chunk)
{
    for (uint64_t at = 0; at < total; at += chunk) {
        task.begin = at;
        task.end = smaller(at + chunk, total);
        task.part = job->part_count++;
        if (write)
            job->tasks[job->task_count] = task;
        job->task_count++;
    }
}

/* Small tensors are gathered until they are worth a task. */
static void plan(struct summing *job, bool write)
{
    size_t first = 0;
    uint64_t gathered = 0;
    job->task_count = job->part_count = 0;
    for (size_t i = 0; i <= job->tensor_count; i++) {
        const struct plumb_tensor *tensor = i < job->tensor_count ? job->tensors[i] : NULL;
        const bool large = tensor && plumb_scan_chunk_count(tensor->count) > 1;
        if ((!tensor || large || gathered >= PLUMB_SCAN_TASK) && i > first) {
            if (write)
                job->tasks[job->task_count] =
                    (struct task){.tensor = first, .tensor_count = i - first, .part = SIZE_MAX};
            job->task_count++;
            first = i;
            gathered = 0;
        }
        if (large) {
            plan_chunks(job, write, (struct task){.tensor = i, .tensor_count = 1},
                        (uint64_t)tensor->count, (uint64_t)plumb_scan_chunk(tensor->count));
            first = i + 1;
        } else if (tensor) {
            gathered += tensor_bytes(tensor) + 64;
        }
    }
    for (size_t i = 0; i < job->check_count; i++)
        if (!job->checks[i].covered)
            plan_chunks(job, write, (struct task){.storage = i}, job->checks[i].storage->size,
                        PLUMB_SCAN_TASK);
}

/* Finds the storages that carry a checksum and, for each, a tensor that covers it. */
static enum plumb_status plan_checks(struct summing *job, struct plumb_error *err)
{
    size_t count = 0;
    for (size_t i = 0; i < job->tensor_count; i++)
        count += job->tensors[i]->storage->has_crc;
    job->checks = plumb_alloc_array(count + 1, sizeof *job->checks);
    if (!job->checks)
        return plumb_fail_memory(err);
    for (size_t i = 0; i < job->tensor_count; i++)
        if (job->tensors[i]->storage->has_crc)
            job->checks[job->check_count++] =
                (struct check){.storage = job->tensors[i]->storage, .tensor = i};
    qsort(job->checks, job->check_count, sizeof *job->checks, order_checks);
    size_t kept = 0;
    for (size_t i = 0; i < job->check_count; i++)
        if (i == 0 || job->checks[i].storage != job->checks[kept - 1].storage)
            job->checks[kept++] = job->checks[i];
    job->check_count = kept;
    for (size_t i = 0; i < job->tensor_count; i++) {
        struct check *check = find_check(job, job->tensors[i]->storage);
        if (check && !check->covered && plumb_tensor_covers_storage(job->tensors[i])) {
            check->covered = true;
            check->tensor = i;
        }
    }
    return PLUMB_OK;
}

/* ---- all of it ------------------------------------------------------------------------- */

static void fold_parts(struct summing *job)
{
    for (size_t i = 0; i < job->task_count;) {
        const struct task *task = &job->tasks[i];
        size_t count = 1;
        if (task->part == SIZE_MAX) {
            i++;
            continue;
        }
        while (i + count < job->task_count && job->tasks[i + count].begin > 0)
            count++;
        if (task->tensor_count) {
            finish_tensor(job, task->tensor, &job->parts[task->part], count);
        } else {
            uint32_t crc = 0;
            for (size_t k = i; k < i + count; k++)
                crc = plumb_crc32_combine(crc, job->parts[job->tasks[k].part].crc,
                                          job->tasks[k].end - job->tasks[k].begin);
            finish_check(&job->checks[task->storage], crc);
        }
        i += count;
    }
}

static enum plumb_status run_summing(struct summing *job,
                                     const struct plumb_scan_options *options,
                                     struct plumb_error *err)
{
    plan(job, false);
    job->tasks = plumb_alloc_array(job->task_count + 1, sizeof *job->tasks);
    job->parts = plumb_alloc_array(job->part_count + 1, sizeof *job->parts);
    if (!job->tasks || !job->parts)
        return plumb_fail_memory(err);
    plan(job, true);
    const struct plumb_job threads = {
        .task_count = job->task_count,
        .run = run_task,
        .context = job,
        .weight = task_bytes,
        .what = "reading values",
        .progress = options ? options->progress : NULL,
        .threads = plumb_thread_count(options ? options->threads : 0),
    };
    enum plumb_status status = plumb_scan_buffers_new(&job->buffers, threads.threads, 1, err);
    if (status == PLUMB_OK)
        status = plumb_job_run(&threads, err);
    if (status == PLUMB_OK)
        fold_parts(job);
    return status;
}

static void release(struct summing *job)
{
    plumb_scan_buffers_free(&job->buffers);
    plumb_free(job->tasks);
    plumb_free(job->parts);
    plumb_free(job->checks);
}

static enum plumb_status warn_of_failures(const struct summing *job, struct plumb_file *file,
                                          struct plumb_error *err)
{
    for (size_t i = 0; i < job->check_count; i++) {
        const struct check *check = &job->checks[i];
        if (!check->failed)
            continue;
        enum plumb_status status = plumb_file_warn(
            file, err,
            "the data of '%s' (%s) do not match their checksum: crc32 is %08x, the file says "
            "%08x; the file is damaged, copy or write it again",
            job->tensors[check->tensor]->name, check->storage->label, check->found,
            check->storage->crc);
        if (status)
            return status;
    }
    return PLUMB_OK;
}

enum plumb_status plumb_file_summarize(struct plumb_file *file, int parts,
                                       const struct plumb_scan_options *options,
                                       struct plumb_summary *summaries, struct plumb_error *err)
{
    struct summing job = {.tensors = (const struct plumb_tensor *const *)file->tensors,
                          .tensor_count = file->tensor_count,
                          .parts_wanted = parts,
                          .summaries = summaries};
    enum plumb_status status = plan_checks(&job, err);
    if (status == PLUMB_OK)
        status = run_summing(&job, options, err);
    if (status == PLUMB_OK)
        status = warn_of_failures(&job, file, err);
    if (status == PLUMB_OK)
        status = plumb_file_verify(file, PLUMB_VERIFY_STRETCHES, options, err);
    release(&job);
    return status;
}

enum plumb_status plumb_tensor_summarize(const struct plumb_tensor *tensor, int parts,
                                         const struct plumb_scan_options *options,
                                         struct plumb_summary *summary, struct plumb_error *err)
{
    struct summing job = {
        .tensors = &tensor, .tensor_count = 1, .parts_wanted = parts, .summaries = summary};
    const enum plumb_status status = run_summing(&job, options, err);
    release(&job);
    return status;
}
