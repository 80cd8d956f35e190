/* value_records.c - see value_records.h. */
#include "format/value_records.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LABEL_SIZE = 4096 };

bool plumb_value_files_add(struct plumb_value_files *files, const struct plumb_value_file *file)
{
    if (files->count == files->capacity) {
        const size_t larger = files->capacity ? files->capacity * 2 : 64;
        void *items = plumb_realloc_array(files->items, larger, sizeof *files->items);
        if (!items)
            return false;
        files->items = items;
        files->capacity = larger;
    }
    struct plumb_value_file *to = &files->items[files->count];
    *to = *file;
    const char **const texts[] = {&to->file, &to->module, &to->op, &to->slot};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        *texts[i] = plumb_arena_text(&files->arena, *texts[i], strlen(*texts[i]));
        if (!*texts[i])
            return false;
    }
    files->count++;
    return true;
}

static int by_order(const void *left, const void *right)
{
    const struct plumb_value_file *a = left, *b = right;
    if (a->order != b->order)
        return a->order < b->order ? -1 : 1;
    const int slots = strverscmp(a->slot, b->slot); /* input before output */
    return slots ? slots : strcmp(a->file, b->file);
}

void plumb_value_files_sort(struct plumb_value_files *files)
{
    if (files->count > 1)
        qsort(files->items, files->count, sizeof *files->items, by_order);
}

/* Fills what only the values know; false with the reason if they cannot be read. */
static bool examine(const struct plumb_tensor *tensor, struct plumb_tensor_record *record,
                    struct plumb_error *problem)
{
    const struct plumb_scan_options one_thread = {.threads = 1};
    struct plumb_summary summary = {.fingerprint = 0};
    if (plumb_tensor_summarize(tensor, PLUMB_SUMMARY_STATS | PLUMB_SUMMARY_FINGERPRINT,
                               &one_thread, &summary, problem))
        return false;
    record->has_stats = true;
    record->stats = summary.stats;
    record->fingerprint = summary.fingerprint;
    record->fingerprint_kind = PLUMB_FINGERPRINT_OWN;
    return true;
}

/* False: the feed wants no more. */
static bool emit(const struct plumb_value_file *item, const char *path, int64_t ordinal,
                 const struct plumb_record_part *part, const struct plumb_record_feed *feed,
                 struct plumb_error *problem)
{
    struct plumb_file *file = NULL;
    char label[LABEL_SIZE], number[16] = "";
    if (plumb_file_open(path, NULL, &file, problem))
        return true;
    const struct plumb_tensor *tensor = plumb_file_tensor(file, 0);
    if (item->call > 0)
        (void)snprintf(number, sizeof number, "#%d", item->call);
    (void)snprintf(label, sizeof label, "%s%s%s%s", item->module,
                   *item->module && *item->op ? "." : "", item->op, number);
    struct plumb_tensor_record record = {
        .rank = part->rank,
        .step = part->step,
        .time_ns = ordinal,
        .module = item->module,
        .op = item->op,
        .label = label,
        .call = item->call,
        .phase = item->phase,
        .slot = item->slot,
        .has_values = true,
        .element = -1,
        .value_name = item->file,
        .origin = item->file,
    };
    bool go_on = true;
    if (tensor && (feed->count_only || examine(tensor, &record, problem))) {
        record.dtype = tensor->dtype;
        record.dims = tensor->rank;
        record.shape = tensor->shape;
        go_on = feed->record(feed->context, &record);
    }
    plumb_file_close(file);
    return go_on;
}

enum plumb_status plumb_value_files_emit(const struct plumb_value_files *files,
                                         const struct plumb_record_part *part,
                                         const struct plumb_record_feed *feed,
                                         struct plumb_error *err)
{
    size_t bad = 0;
    int64_t ordinal = -1, order = INT64_MIN;
    struct plumb_error first = {0};
    for (size_t i = 0; i < files->count && feed->record; i++) {
        const struct plumb_value_file *item = &files->items[i];
        char path[4096];
        struct plumb_error problem = {0};
        ordinal += item->order != order;
        order = item->order;
        if (snprintf(path, sizeof path, "%s/%s", part->path, item->file) >= (int)sizeof path)
            continue;
        if (!emit(item, path, ordinal, part, feed, &problem))
            return plumb_fail(err, PLUMB_STOPPED, -1, "stopped");
        if (problem.status == PLUMB_NO_MEMORY)
            return plumb_fail_memory(err);
        if (problem.status && bad++ == 0)
            first = problem;
    }
    return bad ? plumb_record_warn(feed, false, err,
                                   "%s: %zu files cannot be read and are left out; the first: "
                                   "%.600s",
                                   part->path, bad, first.message)
               : PLUMB_OK;
}

void plumb_value_files_release(struct plumb_value_files *files)
{
    plumb_free(files->items);
    plumb_arena_release(&files->arena);
}
