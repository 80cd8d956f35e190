/* show.c - gathers what a report about a file needs, then lets a form write it. */
#include "report/show.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/utf8.h"
#include "model/naming.h"

#include <stdlib.h>
#include <string.h>

static bool chosen(const struct plumb_show_options *options, const char *name)
{
    if (!options->names)
        return true;
    for (size_t i = 0; i < options->name_count; i++)
        if (strcmp(options->names[i], name) == 0 || plumb_text_matches(options->names[i], name))
            return true;
    return false;
}

static enum plumb_status choose_tensors(struct plumb_show *show, struct plumb_error *err)
{
    struct plumb_file *file = show->file;
    show->tensors = plumb_alloc_array(file->tensor_count, sizeof *show->tensors);
    show->tied_to = plumb_alloc_array(file->tensor_count, sizeof *show->tied_to);
    if (!show->tensors || !show->tied_to)
        return plumb_fail_memory(err);
    for (size_t i = 0; i < file->tensor_count; i++)
        if (chosen(show->options, file->tensors[i]->name))
            show->tensors[show->count++] = file->tensors[i];
    if (show->options->names && !show->count)
        return plumb_fail(err, PLUMB_NOT_FOUND, -1,
                          "%s: no tensor is called '%s'; `plumb show %s` lists them",
                          file->path, show->options->names[0], file->path);
    return PLUMB_OK;
}

struct tie {
    const struct plumb_tensor *tensor;
    size_t index;
};

static int by_numbers(const int64_t *a, const int64_t *b, int count)
{
    for (int i = 0; i < count; i++)
        if (a[i] != b[i])
            return a[i] < b[i] ? -1 : 1;
    return 0;
}

static int by_form(const struct plumb_tensor *a, const struct plumb_tensor *b)
{
    if (a->dtype != b->dtype)
        return a->dtype < b->dtype ? -1 : 1;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    const int shapes = by_numbers(a->shape, b->shape, a->rank);
    return shapes ? shapes : by_numbers(a->strides, b->strides, a->rank);
}

static int by_storage(const void *left, const void *right)
{
    const struct tie *a = left, *b = right;
    const uintptr_t sa = (uintptr_t)a->tensor->storage, sb = (uintptr_t)b->tensor->storage;
    if (sa != sb)
        return sa < sb ? -1 : 1;
    if (a->tensor->offset != b->tensor->offset)
        return a->tensor->offset < b->tensor->offset ? -1 : 1;
    /* Views of one storage that begin together, a matrix and its transpose, are not tied. */
    const int form = by_form(a->tensor, b->tensor);
    return form ? form : a->index < b->index ? -1 : a->index > b->index;
}

/* Sorting by storage brings tied tensors together, also among a million. */
static enum plumb_status find_ties(struct plumb_show *show, struct plumb_error *err)
{
    struct tie *ties = plumb_alloc_array(show->count, sizeof *ties);
    if (!ties)
        return plumb_fail_memory(err);
    for (size_t i = 0; i < show->count; i++)
        ties[i] = (struct tie){show->tensors[i], i};
    qsort(ties, show->count, sizeof *ties, by_storage);
    for (size_t i = 0; i < show->count; i++) {
        const size_t before = i ? show->tied_to[ties[i - 1].index] : 0;
        const bool tied = i && plumb_tensor_same_storage(show->tensors[before], ties[i].tensor);
        show->tied_to[ties[i].index] = tied ? before : ties[i].index;
    }
    plumb_free(ties);
    for (size_t i = 0; i < show->count; i++) {
        const struct plumb_tensor *tensor = show->tensors[i];
        if (show->tied_to[i] != i)
            continue;
        show->bytes += (uint64_t)tensor->count * plumb_dtype_size(tensor->dtype);
        if (tensor->parameter && !plumb_naming_is_buffer(tensor->name))
            show->parameters += (uint64_t)tensor->count;
    }
    return PLUMB_OK;
}

static enum plumb_status summarize(struct plumb_show *show, int parts, struct plumb_error *err)
{
    show->summaries = plumb_alloc_array(show->count, sizeof *show->summaries);
    if (!show->summaries)
        return plumb_fail_memory(err);
    if (show->count == show->file->tensor_count)
        return plumb_file_summarize(show->file, parts, &show->options->scan, show->summaries,
                                    err);
    enum plumb_status status = PLUMB_OK;
    for (size_t i = 0; i < show->count && status == PLUMB_OK; i++)
        status = plumb_tensor_summarize(show->tensors[i], parts, &show->options->scan,
                                        &show->summaries[i], err);
    return status;
}

enum plumb_status plumb_report_send(const struct plumb_buffer *report,
                                    const struct plumb_sink *sink, struct plumb_error *err)
{
    if (plumb_buffer_failed(report))
        return plumb_buffer_over_limit(report)
                   ? plumb_fail(
                         err, PLUMB_LIMIT, -1,
                         "the report is larger than 1 GiB; ask for fewer tensors by name")
                   : plumb_fail_memory(err);
    if (!sink->write(sink->context, plumb_buffer_string(report), report->size))
        return plumb_fail(err, PLUMB_IO, -1, "cannot write the output; is the disk full?");
    return PLUMB_OK;
}

static enum plumb_status gather(struct plumb_show *show, struct plumb_error *err)
{
    const struct plumb_show_options *options = show->options;
    enum plumb_status status = choose_tensors(show, err);
    if (status == PLUMB_OK)
        status = find_ties(show, err);
    if (status)
        return status;
    show->single = options->names && show->count == 1 && !options->json;
    int parts = 0;
    if (options->stats || show->single)
        parts |= PLUMB_SUMMARY_STATS;
    if (options->json || show->single)
        parts |= PLUMB_SUMMARY_FINGERPRINT;
    return parts ? summarize(show, parts, err) : PLUMB_OK;
}

static enum plumb_status write_form(const struct plumb_show *show, struct plumb_buffer *report,
                                    struct plumb_error *err)
{
    enum plumb_status status = PLUMB_OK;
    if (show->options->json)
        plumb_show_json(show, report);
    else if (show->single)
        status = plumb_show_one(show, report, err);
    else
        plumb_show_text(show, report);
    /* JSON escapes what is not printable; in text it would reach the terminal. */
    if (!show->options->json && report->data)
        plumb_utf8_make_printable(report->data, true);
    return status;
}

enum plumb_status plumb_report_file(struct plumb_file *file,
                                    const struct plumb_show_options *options,
                                    const struct plumb_sink *sink, struct plumb_error *err)
{
    struct plumb_show show = {.file = file, .options = options};
    struct plumb_buffer report;
    plumb_buffer_init(&report, REPORT_LIMIT);
    enum plumb_status status = gather(&show, err);
    if (status == PLUMB_OK)
        status = write_form(&show, &report, err);
    if (status == PLUMB_OK)
        status = plumb_report_send(&report, sink, err);
    plumb_buffer_release(&report);
    plumb_free(show.tensors);
    plumb_free(show.tied_to);
    plumb_free(show.summaries);
    return status;
}
