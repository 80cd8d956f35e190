/* diff.c - pairs the tensors of two files, judges each pair and sorts, worst first. */
#include "compare/diff.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/threads.h"
#include "compare/match.h"
#include "compare/transposed_view.h"
#include "model/naming.h"
#include "model/verify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Above this a pair is worth all threads; below, each thread takes pairs of its own. */
static const int64_t LARGE_PAIR_BYTES = 32 << 20;

struct judging {
    struct plumb_diff *diff;
    const struct plumb_diff_options *options;
    size_t *small; /* indices of pairs, for the parallel part */
    size_t small_count;
};

static int64_t pair_bytes(const struct plumb_pair *pair)
{
    return pair->a->count * (int64_t)plumb_dtype_size(pair->a->dtype) +
           pair->b->count * (int64_t)plumb_dtype_size(pair->b->dtype);
}

static void judge_shapes(struct plumb_pair *pair)
{
    pair->shape_differs = true;
    pair->judgement.verdict = PLUMB_DIFFERENT;
    pair->judgement.pattern = PLUMB_PATTERN_NONE;
    (void)snprintf(pair->judgement.reason, sizeof pair->judgement.reason,
                   "the shapes differ, so the values cannot be compared");
}

static enum plumb_status judge_pair(struct plumb_pair *pair,
                                    const struct plumb_compare_options *options,
                                    struct plumb_error *err)
{
    enum plumb_status status = PLUMB_OK;
    if (plumb_naming_same_layout(pair->a, pair->b)) {
        pair->reshaped = pair->a->rank != pair->b->rank;
        status = plumb_tensor_judge(pair->a, pair->b, options, &pair->comparison,
                                    &pair->judgement, err);
    } else {
        bool transposed = false;
        status = plumb_judge_transposed(pair, options, &transposed, err);
        if (status == PLUMB_OK && !transposed)
            judge_shapes(pair);
    }
    plumb_storage_drop(pair->a->storage);
    plumb_storage_drop(pair->b->storage);
    return status;
}

static enum plumb_status judge_small(void *context, size_t task, int worker,
                                     struct plumb_error *err)
{
    const struct judging *judging = context;
    struct plumb_compare_options options = judging->options->compare;
    (void)worker;
    options.scan = (struct plumb_scan_options){.threads = 1};
    return judge_pair(&judging->diff->pairs[judging->small[task]], &options, err);
}

static uint64_t small_weight(void *context, size_t task)
{
    const struct judging *judging = context;
    return (uint64_t)pair_bytes(&judging->diff->pairs[judging->small[task]]) + 1;
}

/* Produced content is shared by tied tensors and dropped after each pair: such pairs must not
 * run beside each other. */
static bool is_shared(const struct plumb_tensor *tensor)
{
    return tensor->storage->lazy != NULL;
}

static enum plumb_status judge_all(struct judging *judging, struct plumb_error *err)
{
    struct plumb_diff *diff = judging->diff;
    const struct plumb_scan_options *scan = &judging->options->compare.scan;
    enum plumb_status status = PLUMB_OK;
    judging->small = plumb_alloc_array(diff->pair_count, sizeof *judging->small);
    if (!judging->small)
        return plumb_fail_memory(err);
    for (size_t i = 0; i < diff->pair_count && status == PLUMB_OK; i++) {
        struct plumb_pair *pair = &diff->pairs[i];
        if (pair_bytes(pair) > LARGE_PAIR_BYTES || is_shared(pair->a) || is_shared(pair->b))
            status = judge_pair(pair, &judging->options->compare, err);
        else
            judging->small[judging->small_count++] = i;
    }
    const struct plumb_job job = {
        .task_count = judging->small_count,
        .run = judge_small,
        .context = judging,
        .weight = small_weight,
        .what = "comparing",
        .progress = scan->progress,
        .threads = plumb_thread_count(scan->threads),
    };
    if (status == PLUMB_OK)
        status = plumb_job_run(&job, err);
    plumb_free(judging->small);
    return status;
}

/* Worst first: by verdict, then by relative error, then as in the file. */
static int worst_first(const void *left, const void *right)
{
    const struct plumb_pair *x = left, *y = right;
    if (x->judgement.verdict != y->judgement.verdict)
        return x->judgement.verdict > y->judgement.verdict ? -1 : 1;
    if (x->shape_differs != y->shape_differs)
        return x->shape_differs ? -1 : 1;
    const double ex = x->comparison.relative_l2, ey = y->comparison.relative_l2;
    if (x->judgement.verdict != PLUMB_IDENTICAL && ex != ey)
        return ex > ey || ey != ey ? -1 : 1;
    return strcmp(x->a->name, y->a->name);
}

static enum plumb_status list_pairs(struct plumb_diff *diff,
                                    const struct plumb_matching *matching,
                                    struct plumb_error *err)
{
    const struct plumb_file *a = diff->a, *b = diff->b;
    diff->pairs = plumb_arena_alloc(&diff->arena, a->tensor_count, sizeof *diff->pairs);
    diff->only_a = plumb_arena_alloc(&diff->arena, a->tensor_count, sizeof *diff->only_a);
    diff->only_b = plumb_arena_alloc(&diff->arena, b->tensor_count, sizeof *diff->only_b);
    diff->ignored = plumb_arena_alloc(&diff->arena, a->tensor_count + b->tensor_count,
                                      sizeof *diff->ignored);
    if (!diff->pairs || !diff->only_a || !diff->only_b || !diff->ignored)
        return plumb_fail_memory(err);
    for (size_t i = 0; i < a->tensor_count; i++) {
        const int64_t j = matching->partner[i];
        if (j >= 0)
            diff->pairs[diff->pair_count++] = (struct plumb_pair){
                .a = a->tensors[i], .b = b->tensors[j], .matched_by = matching->matched_by[i]};
        else if (plumb_naming_has_no_partner(a->tensors[i]->name))
            diff->ignored[diff->ignored_count++] = a->tensors[i];
        else
            diff->only_a[diff->only_a_count++] = a->tensors[i];
    }
    for (size_t j = 0; j < b->tensor_count; j++) {
        if (matching->taken[j])
            continue;
        if (plumb_naming_has_no_partner(b->tensors[j]->name))
            diff->ignored[diff->ignored_count++] = b->tensors[j];
        else
            diff->only_b[diff->only_b_count++] = b->tensors[j];
    }
    return PLUMB_OK;
}

/* Values that do not match their checksum make every verdict doubtful: say so. */
static enum plumb_status verify(struct plumb_diff *diff, const struct plumb_scan_options *scan,
                                struct plumb_error *err)
{
    const int parts = PLUMB_VERIFY_STRETCHES | PLUMB_VERIFY_STORAGES;
    enum plumb_status status = plumb_file_verify(diff->a, parts, scan, err);
    return status ? status : plumb_file_verify(diff->b, parts, scan, err);
}

enum plumb_status plumb_diff_new(struct plumb_file *a, struct plumb_file *b,
                                 const struct plumb_diff_options *options,
                                 struct plumb_diff **out, struct plumb_error *err)
{
    static const struct plumb_diff_options defaults;
    struct plumb_matching matching = {0};
    struct plumb_diff *diff = plumb_alloc_array(1, sizeof *diff);
    if (!diff)
        return plumb_fail_memory(err);
    diff->a = a;
    diff->b = b;
    options = options ? options : &defaults;
    struct judging judging = {.diff = diff, .options = options};
    enum plumb_status status = plumb_matching_find(a, b, options->map_path, &matching, err);
    if (status == PLUMB_OK)
        status = list_pairs(diff, &matching, err);
    if (status == PLUMB_OK)
        status = judge_all(&judging, err);
    if (status == PLUMB_OK)
        status = verify(diff, &options->compare.scan, err);
    if (status == PLUMB_OK) {
        qsort(diff->pairs, diff->pair_count, sizeof *diff->pairs, worst_first);
        status = plumb_diff_conclude(diff, err);
    }
    plumb_matching_release(&matching);
    if (status)
        plumb_diff_free(diff);
    else
        *out = diff;
    return status;
}

void plumb_diff_free(struct plumb_diff *diff)
{
    if (!diff)
        return;
    plumb_arena_release(&diff->arena);
    plumb_free(diff);
}

enum plumb_verdict plumb_diff_verdict(const struct plumb_diff *diff)
{
    return diff->verdict;
}

const char *plumb_diff_summary(const struct plumb_diff *diff)
{
    return diff->summary;
}

size_t plumb_diff_pair_count(const struct plumb_diff *diff)
{
    return diff->pair_count;
}

const struct plumb_pair *plumb_diff_pair(const struct plumb_diff *diff, size_t i)
{
    return i < diff->pair_count ? &diff->pairs[i] : NULL;
}
