/*
 * export_msprobe.c - a run in msprobe's layout: step0/rank0/dump.json, stack.json, construct.json.
 *
 * Names are msprobe's where the run came from it; else an op in a module becomes a Module, a
 * collective Distributed, the optimizer's work Optimizer. Saved values become .pt files (.npy for
 * MindSpore) in dump_tensor_data. msprobe's own compare takes it.
 */
#include "base/error.h"
#include "base/text.h"
#include "format/format.h"
#include "format/torch_write.h"
#include "report/export_file.h"
#include "report/msprobe_op.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { PATH_SIZE = 4096, JSON_LIMIT = 1 << 30 };

struct export
{
    struct plumb_run *run;
    const char *out;
    bool mindspore;
    bool open; /* a step is being gathered */
    int rank;
    int64_t at;
    char directory[PATH_SIZE - 512];
    struct plumb_msprobe_step step;
    struct plumb_file *values; /* of this step; NULL: none */
    enum plumb_status status;
    struct plumb_error *err;
};

static enum plumb_status make_directory(const char *path, struct plumb_error *err)
{
    if (mkdir(path, 0777) == 0 || errno == EEXIST)
        return PLUMB_OK;
    return plumb_fail_errno(err, "make", path);
}

/* ---- values --------------------------------------------------------------------------------------- */

static enum plumb_status write_value(const struct export *export, const char *file,
                                     const struct plumb_tensor *tensor)
{
    char path[PATH_SIZE];
    struct plumb_output *output = NULL;
    const struct plumb_write_item item = {.name = "tensor",
                                          .dtype = tensor->dtype,
                                          .rank = tensor->rank,
                                          .shape = tensor->shape,
                                          .source = tensor};
    const struct plumb_write_request request = {
        .items = &item, .count = 1, .framework = "", .bare = true};
    if (snprintf(path, sizeof path, "%s/dump_tensor_data/%s", export->directory, file) >=
        (int)sizeof path)
        return plumb_fail(export->err, PLUMB_LIMIT, -1, "%s: the path is too long",
                          export->out);
    const struct plumb_format *npy = plumb_format_named("npy");
    enum plumb_status status = plumb_output_open(path, &output, export->err);
    if (!status)
        status = export->mindspore ? npy->write(&request, output, export->err)
                                   : plumb_torch_write(&request, output, export->err);
    if (!status)
        status = plumb_output_publish(output, export->err);
    plumb_output_close(output);
    return status;
}

/* The name of the file with the record's values; NULL if there are none, or PyTorch has no such type. */
static const char *save_value(struct export *export, const struct plumb_tensor_record *record,
                              const struct plumb_msprobe_target *target, char *file,
                              size_t size)
{
    const struct plumb_tensor *tensor =
        export->values && record->value_name
            ? plumb_file_find(export->values, record->value_name)
            : NULL;
    if (!tensor)
        return NULL;
    (void)snprintf(file, size, "%s.%s", target->file, export->mindspore ? "npy" : "pt");
    export->status = write_value(export, file, tensor);
    if (export->status == PLUMB_UNSUPPORTED) {
        export->status = PLUMB_OK;
        return NULL;
    }
    return file;
}

/* ---- the files of a step ---------------------------------------------------------------------------- */

static void put_setting(struct plumb_json_writer *json, const char *key, const char *value)
{
    plumb_json_new_line(json);
    plumb_json_put_key(json, key);
    if (value)
        plumb_json_put_string(json, value);
    else
        plumb_json_put_null(json);
}

static void put_dump(const struct export *export, struct plumb_json_writer *json)
{
    char data[PATH_SIZE];
    (void)snprintf(data, sizeof data, "%s/dump_tensor_data", export->directory);
    plumb_json_open_object(json);
    put_setting(json, "task", export->values ? "tensor" : "statistics");
    put_setting(json, "level", "mix");
    put_setting(json, "framework", export->mindspore ? "mindspore" : "pytorch");
    put_setting(json, "dump_data_dir", export->values ? data : NULL);
    plumb_json_put_key(json, "data");
    plumb_json_open_object(json);
    for (size_t i = 0; i < export->step.count; i++)
        plumb_msprobe_op_json(&export->step.ops[i], json);
    plumb_json_close_object(json);
    plumb_json_close_object(json);
}

/* "train.py:57 forward" as msprobe writes it; the text of the line is not kept. */
static void put_frame(struct plumb_json_writer *json, const char *line, size_t length)
{
    char text[2048];
    size_t space = length, colon;
    while (space && line[space] != ' ')
        space--;
    for (colon = space; colon && line[colon] != ':';)
        colon--;
    (void)snprintf(text, sizeof text, "File %.*s, line %.*s, in %.*s, \n ", (int)colon, line,
                   (int)(space - colon - (colon < space)), line + colon + (colon < space),
                   (int)(length - space - (space < length)), line + space + (space < length));
    plumb_json_put_string(json, text);
}

/* The ops that were called at the same place, and that. */
static void put_stack_of(const struct plumb_msprobe_step *step, size_t first,
                         struct plumb_json_writer *json)
{
    const char *stack = step->ops[first].stack;
    plumb_json_open_array(json);
    plumb_json_open_array(json);
    for (size_t i = first; i < step->count; i++)
        if (step->ops[i].stack == stack)
            plumb_json_put_string(json, step->ops[i].key);
    plumb_json_close_array(json);
    plumb_json_open_array(json);
    for (const char *at = stack ? stack : ""; *at; at += *at == '\n') {
        at += *at == ' ';
        const size_t length = strcspn(at, "\n");
        put_frame(json, at, length);
        at += length;
    }
    plumb_json_close_array(json);
    plumb_json_close_array(json);
}

static void put_stack(const struct export *export, struct plumb_json_writer *json)
{
    const struct plumb_msprobe_step *step = &export->step;
    unsigned number = 0;
    plumb_json_open_object(json);
    for (size_t i = 0; i < step->count; i++) {
        char key[16];
        size_t before = 0;
        while (before < i && step->ops[before].stack != step->ops[i].stack)
            before++;
        if (before < i)
            continue; /* written with that one */
        (void)snprintf(key, sizeof key, "%u", number++);
        plumb_json_put_key(json, key);
        put_stack_of(step, i, json);
    }
    plumb_json_close_object(json);
}

static void put_construct(const struct export *export, struct plumb_json_writer *json)
{
    plumb_json_open_object(json);
    for (size_t i = 0; i < export->step.count; i++)
        put_setting(json, export->step.ops[i].key, NULL);
    plumb_json_close_object(json);
}

static enum plumb_status write_json(const struct export *export, const char *name,
                                    void (*put)(const struct export *export,
                                                struct plumb_json_writer *json))
{
    char path[PATH_SIZE];
    struct plumb_export_file file;
    (void)snprintf(path, sizeof path, "%s/%s", export->directory, name);
    enum plumb_status status = plumb_export_file_open(&file, path, export->err);
    if (status)
        return status;
    file.row.limit = JSON_LIMIT;
    struct plumb_json_writer json = plumb_json_writer_of(&file.row);
    put(export, &json);
    plumb_buffer_text(&file.row, "\n");
    (void)plumb_export_file_row(&file);
    return plumb_export_file_close(&file, PLUMB_OK);
}

static void finish_step(struct export *export)
{
    if (export->open && !export->status)
        export->status = write_json(export, "construct.json", put_construct);
    if (export->open && !export->status)
        export->status = write_json(export, "stack.json", put_stack);
    if (export->open && !export->status)
        export->status = write_json(export, "dump.json", put_dump);
    plumb_msprobe_step_clear(&export->step);
    plumb_file_close(export->values);
    export->values = NULL;
    export->open = false;
}

static void begin_step(struct export *export, int rank, int64_t step)
{
    char path[PATH_SIZE];
    finish_step(export);
    if (export->status)
        return;
    export->open = true;
    export->rank = rank;
    export->at = step;
    if (snprintf(path, sizeof path, "%s/step%lld", export->out, (long long)step) >=
            (int)sizeof path ||
        snprintf(export->directory, sizeof export->directory, "%s/step%lld/rank%d", export->out,
                 (long long)step, rank) >= (int)sizeof export->directory) {
        export->status =
            plumb_fail(export->err, PLUMB_LIMIT, -1, "%s: the path is too long", export->out);
        return;
    }
    export->status = make_directory(path, export->err);
    if (!export->status)
        export->status = make_directory(export->directory, export->err);
    if (export->status || plumb_run_open_values(export->run, rank, step, &export->values, NULL))
        return;
    (void)snprintf(path, sizeof path, "%s/dump_tensor_data", export->directory);
    export->status = make_directory(path, export->err);
}

static bool take_record(void *context, const struct plumb_tensor_record *record)
{
    struct export *export = context;
    struct plumb_msprobe_target target;
    char file[sizeof target.file + 8];
    if (!export->open || export->rank != record->rank || export->at != record->step)
        begin_step(export, record->rank, record->step);
    if (export->status)
        return false;
    plumb_msprobe_target_of(record, &target);
    const char *saved = save_value(export, record, &target, file, sizeof file);
    if (!export->status &&
        !plumb_msprobe_step_add(&export->step, record, &target, export->mindspore, saved))
        export->status = plumb_fail_memory(export->err);
    return !export->status;
}

enum plumb_status plumb_export_msprobe(struct plumb_run *run, const char *directory,
                                       struct plumb_error *err)
{
    struct export export = {.run = run, .out = directory, .err = err};
    for (size_t i = 0; i < plumb_run_note_count(run); i++)
        export.mindspore |= strcmp(plumb_run_note(run, i)->key, "framework") == 0 &&
                            strstr(plumb_run_note(run, i)->json, "mindspore");
    enum plumb_status status = make_directory(directory, err);
    if (!status)
        status = plumb_run_visit_records(run, NULL, take_record, &export, err);
    finish_step(&export);
    return status ? status : export.status;
}
