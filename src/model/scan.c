/* scan.c - comparing two tensors in chunks on several threads. */
#include "scan.h"

#include "base/crc32.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/threads.h"
#include "kernel/kernel.h"
#include "model/scan_chunks.h"
#include "model/scan_compare.h"
#include "model/storage.h"
#include "model/tensor.h"

#include <math.h>

/* A block is counted as one, so a run is at least a block. */
enum { SMALLEST_RUN = PLUMB_BLOCK, MOST_RUNS = 65536 };

enum plumb_status plumb_block_map_new(int64_t elements, struct plumb_block_map **map,
                                      struct plumb_error *err)
{
    struct plumb_block_map *made = plumb_alloc_array(1, sizeof *made);
    if (!made)
        return plumb_fail_memory(err);
    made->block = SMALLEST_RUN;
    while (elements > made->block * MOST_RUNS)
        made->block *= 2;
    made->count = elements > 0 ? (size_t)((elements - 1) / made->block + 1) : 0;
    made->unequal = plumb_alloc_array(made->count + 1, sizeof *made->unequal);
    if (!made->unequal) {
        plumb_free(made);
        return plumb_fail_memory(err);
    }
    *map = made;
    return PLUMB_OK;
}

void plumb_block_map_free(struct plumb_block_map *map)
{
    if (map)
        plumb_free(map->unequal);
    plumb_free(map);
}

struct crc_pair {
    uint32_t a, b;
};

struct comparing {
    const struct plumb_tensor *a, *b;
    struct plumb_compare_task task;
    struct plumb_scan_buffers buffers;
    struct plumb_compare_state *states; /* one a chunk */
    bool checks_a, checks_b;            /* whether checksums are taken on the way */
    struct crc_pair *checksums;         /* one a chunk */
    int64_t chunk;
};

static int64_t smaller(int64_t x, int64_t y)
{
    return x < y ? x : y;
}

static enum plumb_status compare_chunk(void *context, size_t number, int worker,
                                       struct plumb_error *err)
{
    const struct comparing *job = context;
    struct plumb_compare_state *state = &job->states[number];
    void *buffer_a = plumb_scan_buffer(&job->buffers, worker, 0);
    void *buffer_b = plumb_scan_buffer(&job->buffers, worker, 1);
    const size_t size_a = plumb_dtype_size(job->a->dtype),
                 size_b = plumb_dtype_size(job->b->dtype);
    const int64_t most = PLUMB_SCAN_BUFFER / (int64_t)(size_a > size_b ? size_a : size_b);
    const int64_t begin = (int64_t)number * job->chunk;
    const int64_t end = smaller(begin + job->chunk, job->a->count);
    struct crc_pair *checksums = &job->checksums[number];
    plumb_compare_begin(state);
    for (int64_t at = begin, n; at < end; at += n) {
        n = smaller(most, end - at);
        const void *left = NULL, *right = NULL;
        enum plumb_status status = plumb_tensor_values(job->a, at, n, buffer_a, &left, err);
        if (status == PLUMB_OK)
            status = plumb_tensor_values(job->b, at, n, buffer_b, &right, err);
        if (status)
            return status;
        if (job->checks_a)
            checksums->a = plumb_crc32(checksums->a, left, (size_t)n * size_a);
        if (job->checks_b)
            checksums->b = plumb_crc32(checksums->b, right, (size_t)n * size_b);
        plumb_compare_add(state, &job->task, left, right, at, (size_t)n);
    }
    return PLUMB_OK;
}

static int64_t chunk_elements(const struct comparing *job, size_t number)
{
    return smaller(job->chunk, job->a->count - (int64_t)number * job->chunk);
}

static uint64_t chunk_weight(void *context, size_t number)
{
    return (uint64_t)chunk_elements(context, number);
}

/* Whether a pass over the tensor gives a checksum that somebody will ask for. */
static bool gives_checksum(const struct plumb_tensor *tensor)
{
    uint32_t noted;
    return tensor->storage->has_crc && !plumb_storage_noted_crc(tensor->storage, &noted) &&
           plumb_tensor_covers_storage(tensor);
}

static void note_checksums(const struct comparing *job, size_t chunks)
{
    struct crc_pair whole = {0, 0};
    for (size_t i = 0; i < chunks; i++) {
        const uint64_t count = (uint64_t)chunk_elements(job, i);
        whole.a = plumb_crc32_combine(whole.a, job->checksums[i].a,
                                      count * plumb_dtype_size(job->a->dtype));
        whole.b = plumb_crc32_combine(whole.b, job->checksums[i].b,
                                      count * plumb_dtype_size(job->b->dtype));
    }
    if (job->checks_a)
        plumb_storage_note_crc(job->a->storage, whole.a);
    if (job->checks_b)
        plumb_storage_note_crc(job->b->storage, whole.b);
}

static enum plumb_status check_pair(const struct plumb_tensor *a, const struct plumb_tensor *b,
                                    const struct plumb_block_map *map, struct plumb_error *err)
{
    if (a->count != b->count)
        return plumb_fail(err, PLUMB_INVALID, -1,
                          "'%s' has %lld elements and '%s' has %lld; only tensors of equal "
                          "count can be compared",
                          a->name, (long long)a->count, b->name, (long long)b->count);
    if (plumb_dtype_is_complex(a->dtype) != plumb_dtype_is_complex(b->dtype))
        return plumb_fail(err, PLUMB_INVALID, -1,
                          "'%s' is %s and '%s' is %s; convert the real one to complex first",
                          a->name, plumb_dtype_name(a->dtype), b->name,
                          plumb_dtype_name(b->dtype));
    if (map && map->block * (int64_t)map->count < a->count)
        return plumb_fail(err, PLUMB_INVALID, -1, "the block map is too small for '%s'",
                          a->name);
    return PLUMB_OK;
}

static enum plumb_status run_comparison(struct comparing *job,
                                        const struct plumb_compare_options *options,
                                        struct plumb_comparison *comparison,
                                        struct plumb_error *err)
{
    const size_t chunks = plumb_scan_chunk_count(job->a->count);
    const struct plumb_job threads = {
        .task_count = chunks,
        .run = compare_chunk,
        .context = job,
        .weight = chunk_weight,
        .what = job->a->name,
        .progress = options ? options->scan.progress : NULL,
        .threads = plumb_thread_count(options ? options->scan.threads : 0),
    };
    enum plumb_status status = plumb_scan_buffers_new(&job->buffers, threads.threads, 2, err);
    job->states = plumb_alloc_array(chunks, sizeof *job->states);
    job->checksums = plumb_alloc_array(chunks, sizeof *job->checksums);
    if (status == PLUMB_OK && (!job->states || !job->checksums))
        status = plumb_fail_memory(err);
    if (status == PLUMB_OK)
        status = plumb_job_run(&threads, err);
    if (status == PLUMB_OK) {
        struct plumb_compare_state total;
        plumb_compare_begin(&total);
        for (size_t i = 0; i < chunks; i++)
            plumb_compare_merge(&total, &job->states[i]);
        plumb_compare_finish(&total, comparison);
        note_checksums(job, chunks);
    }
    if (status == PLUMB_OK && job->task.brief) {
        comparison->close = 0;
        comparison->bias_outward = comparison->mean_abs_a = (double)NAN;
    }
    plumb_scan_buffers_free(&job->buffers);
    plumb_free(job->checksums);
    plumb_free(job->states);
    return status;
}

enum plumb_status plumb_scan_compare(const struct plumb_tensor *a, const struct plumb_tensor *b,
                                     const struct plumb_compare_options *options,
                                     struct plumb_comparison *comparison,
                                     struct plumb_block_map *map, struct plumb_error *err)
{
    enum plumb_status status = check_pair(a, b, map, err);
    if (status)
        return status;
    struct comparing job = {.a = a, .b = b, .chunk = plumb_scan_chunk(a->count)};
    job.task = plumb_compare_task(a->dtype, b->dtype, options ? options->rtol : 0,
                                  options ? options->atol : 0);
    job.checks_a = gives_checksum(a);
    job.checks_b = gives_checksum(b);
    job.task.map = map;
    job.task.brief = options && options->brief;
    return run_comparison(&job, options, comparison, err);
}

enum plumb_status plumb_tensor_compare(const struct plumb_tensor *a,
                                       const struct plumb_tensor *b,
                                       const struct plumb_compare_options *options,
                                       struct plumb_comparison *comparison,
                                       struct plumb_error *err)
{
    return plumb_scan_compare(a, b, options, comparison, NULL, err);
}
