/*
 * convert.c - a file in another format, under another framework's names, in another precision.
 *
 * Only floating-point tensors change their type; everything else is copied bit for bit. Tied
 * tensors are written under each of their names.
 */
#include "format/write_file.h"

#include "base/error.h"
#include "base/memory.h"
#include "model/name_map.h"
#include "model/naming.h"

#include <stdio.h>
#include <string.h>

struct conversion {
    struct plumb_file *in;
    const struct plumb_convert_options *options;
    struct plumb_convert_result *result;
    struct plumb_arena arena;
    struct plumb_name_map map;
    struct plumb_naming *names; /* one a tensor */
    struct plumb_write_item *items;
    size_t count;
};

static enum plumb_status translate(struct conversion *c, struct plumb_error *err)
{
    const size_t count = c->in->tensor_count;
    c->names = plumb_arena_alloc(&c->arena, count, sizeof *c->names);
    c->items = plumb_arena_alloc(&c->arena, count, sizeof *c->items);
    if (!c->names || !c->items)
        return plumb_fail_memory(err);
    if (c->options->framework)
        return plumb_naming_translate(&c->arena,
                                      (const struct plumb_tensor *const *)c->in->tensors, count,
                                      c->options->framework, c->names, err);
    for (size_t i = 0; i < count; i++)
        c->names[i] = (struct plumb_naming){.name = c->in->tensors[i]->name,
                                            .rank = c->in->tensors[i]->rank,
                                            .shape = c->in->tensors[i]->shape};
    return PLUMB_OK;
}

/* The user's map has the last word, also over what would be dropped. */
static enum plumb_status apply_map(struct conversion *c, struct plumb_error *err)
{
    if (!c->options->map_path)
        return PLUMB_OK;
    enum plumb_status status = plumb_name_map_read(c->options->map_path, &c->map, err);
    for (size_t n = 0; n < c->map.count && status == PLUMB_OK; n++) {
        size_t i;
        if (!plumb_table_get(&c->in->names, c->map.from[n], &i)) {
            status = plumb_fail(err, PLUMB_NOT_FOUND, -1,
                                "%s: '%s' is not in %s; `plumb show` lists the names there",
                                c->options->map_path, c->map.from[n], c->in->path);
            break;
        }
        c->names[i].name = c->map.to[n];
        c->names[i].renamed = strcmp(c->map.to[n], c->map.from[n]) != 0;
        c->names[i].dropped = false;
    }
    return status;
}

static void count_drop(struct conversion *c, const struct plumb_naming *naming,
                       const char *name)
{
    struct plumb_convert_result *result = c->result;
    if (!result->dropped)
        (void)snprintf(result->note, sizeof result->note, "left out: %.200s (%s)", name,
                       naming->why_dropped);
    result->dropped++;
}

static enum plumb_status list_items(struct conversion *c, struct plumb_error *err)
{
    struct plumb_table seen = {0};
    enum plumb_status status = PLUMB_OK;
    for (size_t i = 0; i < c->in->tensor_count && status == PLUMB_OK; i++) {
        const struct plumb_tensor *tensor = c->in->tensors[i];
        const struct plumb_naming *naming = &c->names[i];
        size_t other;
        if (naming->dropped) {
            count_drop(c, naming, tensor->name);
            continue;
        }
        const bool cast = c->options->change_dtype && plumb_dtype_is_float(tensor->dtype) &&
                          tensor->dtype != c->options->dtype;
        c->items[c->count++] = (struct plumb_write_item){
            .name = naming->name,
            .dtype = cast ? c->options->dtype : tensor->dtype,
            .rank = naming->rank,
            .shape = naming->shape,
            .source = tensor,
            .round = c->options->round,
        };
        c->result->renamed += naming->renamed;
        c->result->reshaped += naming->reshaped;
        c->result->cast += cast;
        if (plumb_table_get(&seen, naming->name, &other))
            status =
                plumb_fail(err, PLUMB_INVALID, -1,
                           "two tensors would be called '%s'; give one of them another name "
                           "with a map",
                           naming->name);
        else if (!plumb_table_put(&seen, naming->name, i))
            status = plumb_fail_memory(err);
    }
    c->result->tensors = c->count;
    plumb_table_release(&seen);
    return status;
}

static void note_the_rest(struct conversion *c)
{
    struct plumb_convert_result *result = c->result;
    const size_t at = strlen(result->note);
    if (result->dropped > 1)
        (void)snprintf(result->note + at, sizeof result->note - at, " and %zu more",
                       result->dropped - 1);
    const size_t end = strlen(result->note);
    if (c->in->note_count)
        (void)snprintf(result->note + end, sizeof result->note - end,
                       "%snot carried over: %zu entries that are not tensors", end ? "; " : "",
                       c->in->note_count);
}

enum plumb_status plumb_convert(struct plumb_file *in, const char *out_path,
                                const struct plumb_convert_options *options,
                                struct plumb_convert_result *result, struct plumb_error *err)
{
    struct plumb_convert_result unwanted;
    struct conversion c = {.in = in, .options = options, .result = result ? result : &unwanted};
    *c.result = (struct plumb_convert_result){0};
    if (options->change_dtype && !plumb_dtype_is_float(options->dtype))
        return plumb_fail(
            err, PLUMB_INVALID, -1,
            "floating-point tensors cannot become %s; choose f64 f32 f16 bf16 f8e4m3 "
            "f8e5m2 or hif8",
            plumb_dtype_name(options->dtype));
    enum plumb_status status = translate(&c, err);
    if (status == PLUMB_OK)
        status = apply_map(&c, err);
    if (status == PLUMB_OK)
        status = list_items(&c, err);
    const struct plumb_write_request request = {
        .items = c.items,
        .count = c.count,
        .framework = options->framework ? options->framework : in->framework,
        .progress = options->progress,
    };
    if (status == PLUMB_OK)
        status = plumb_write_request_to(out_path, options->format, &request, err);
    if (status == PLUMB_OK)
        note_the_rest(&c);
    plumb_name_map_release(&c.map);
    plumb_arena_release(&c.arena);
    return status;
}
