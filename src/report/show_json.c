/* show_json.c - a file as JSON; the keys are a promise (DESIGN, section 6). */
#include "report/show.h"

#include "base/json_write.h"

#include <stdio.h>

void plumb_stats_json(struct plumb_json_writer *json, const struct plumb_stats *stats)
{
    const struct {
        const char *key;
        uint64_t value;
    } counts[] = {
        {"count", stats->count},     {"nan", stats->nan},   {"pos_inf", stats->pos_inf},
        {"neg_inf", stats->neg_inf}, {"zero", stats->zero}, {"subnormal", stats->subnormal},
        {"at_max", stats->at_max},
    };
    const struct {
        const char *key;
        double value;
    } numbers[] = {
        {"min", stats->min}, {"max", stats->max}, {"mean", stats->mean},
        {"std", stats->std}, {"l2", stats->l2},   {"abs_mean", stats->abs_mean},
    };
    plumb_json_put_key(json, "stats");
    plumb_json_open_object(json);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        plumb_json_put_key(json, counts[i].key);
        plumb_json_put_uint(json, counts[i].value);
    }
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        plumb_json_put_key(json, numbers[i].key);
        plumb_json_put_double(json, numbers[i].value);
    }
    plumb_json_close_object(json);
}

static void put_tensor(struct plumb_json_writer *json, const struct plumb_show *show, size_t i)
{
    const struct plumb_tensor *tensor = show->tensors[i];
    char fingerprint[17];
    (void)snprintf(fingerprint, sizeof fingerprint, "%016llx",
                   (unsigned long long)show->summaries[i].fingerprint);
    plumb_json_new_line(json);
    plumb_json_open_object(json);
    plumb_json_put_key(json, "name");
    plumb_json_put_string(json, tensor->name);
    plumb_json_put_key(json, "shape");
    plumb_json_open_array(json);
    for (int dim = 0; dim < tensor->rank; dim++)
        plumb_json_put_int(json, tensor->shape[dim]);
    plumb_json_close_array(json);
    plumb_json_put_key(json, "dtype");
    plumb_json_put_string(json, plumb_dtype_name(tensor->dtype));
    plumb_json_put_key(json, "bytes");
    plumb_json_put_uint(json, (uint64_t)tensor->count * plumb_dtype_size(tensor->dtype));
    plumb_json_put_key(json, "fingerprint");
    plumb_json_put_string(json, fingerprint);
    if (show->options->stats)
        plumb_stats_json(json, &show->summaries[i].stats);
    plumb_json_close_object(json);
}

/* [[first, second], [first, third]]: pairs of names of the same data. */
static void put_ties(struct plumb_json_writer *json, const struct plumb_show *show)
{
    plumb_json_put_key(json, "tied");
    plumb_json_open_array(json);
    for (size_t i = 0; i < show->count; i++) {
        if (show->tied_to[i] == i)
            continue;
        plumb_json_open_array(json);
        plumb_json_put_string(json, show->tensors[show->tied_to[i]]->name);
        plumb_json_put_string(json, show->tensors[i]->name);
        plumb_json_close_array(json);
    }
    plumb_json_close_array(json);
}

static void put_words(struct plumb_json_writer *json, const struct plumb_file *file)
{
    plumb_json_put_key(json, "other");
    plumb_json_open_object(json);
    for (size_t i = 0; i < file->note_count; i++) {
        plumb_json_new_line(json);
        plumb_json_put_key(json, file->notes[i].key);
        plumb_json_put_raw(json, file->notes[i].json);
    }
    plumb_json_close_object(json);
    plumb_json_put_key(json, "warnings");
    plumb_json_open_array(json);
    for (size_t i = 0; i < file->warning_count; i++)
        plumb_json_put_string(json, file->warnings[i]);
    if (file->warnings_left_out) {
        char more[64];
        (void)snprintf(more, sizeof more, "and %zu more warnings", file->warnings_left_out);
        plumb_json_put_string(json, more);
    }
    plumb_json_close_array(json);
}

void plumb_show_json(const struct plumb_show *show, struct plumb_buffer *to)
{
    struct plumb_json_writer writer = plumb_json_writer_of(to), *json = &writer;
    const struct plumb_file *file = show->file;
    plumb_json_open_object(json);
    plumb_json_put_key(json, "path");
    plumb_json_put_string(json, file->path);
    plumb_json_put_key(json, "format");
    plumb_json_put_string(json, file->format);
    plumb_json_put_key(json, "framework");
    plumb_json_put_string(json, file->framework);
    plumb_json_put_key(json, "tensors");
    plumb_json_open_array(json);
    for (size_t i = 0; i < show->count; i++)
        put_tensor(json, show, i);
    plumb_json_close_array(json);
    plumb_json_put_key(json, "parameters");
    plumb_json_put_uint(json, show->parameters);
    plumb_json_put_key(json, "bytes");
    plumb_json_put_uint(json, show->bytes);
    put_ties(json, show);
    put_words(json, file);
    plumb_json_close_object(json);
    plumb_buffer_text(to, "\n");
}
