/*
 * onnx.c - the weights of an ONNX model (.onnx).
 *
 *     ModelProto { ir_version 1, producer_name 2, producer_version 3, domain 4, model_version 5,
 *                  graph 7, opset_import 8, metadata_props 14, training_info 20, functions 25 }
 *     GraphProto { node 1, name 2, initializer 5, sparse_initializer 15 }
 *     NodeProto { attribute 5 }    AttributeProto { g 6, graphs 11 }: graphs inside graphs
 *
 * Only initializers are tensors here; for how they keep their values see onnx_tensor.h. There is
 * no magic number.
 */
#include "format/format.h"

#include "base/error.h"
#include "base/json_write.h"
#include "format/onnx_tensor.h"

#include <string.h>

enum { DEEPEST_GRAPH = 16, MAX_TEXT = 1 << 20, FIELDS_PROBED = 64 };

static const struct {
    uint32_t number;
    enum plumb_wire_type type;
    const char *note; /* key of the note that shows it; NULL: not shown */
} model_fields[] = {
    {1, PLUMB_WIRE_VARINT, "onnx.ir_version"},
    {2, PLUMB_WIRE_BYTES, "onnx.producer_name"},
    {3, PLUMB_WIRE_BYTES, "onnx.producer_version"},
    {4, PLUMB_WIRE_BYTES, "onnx.domain"},
    {5, PLUMB_WIRE_VARINT, "onnx.model_version"},
    {6, PLUMB_WIRE_BYTES, "onnx.doc_string"},
    {7, PLUMB_WIRE_BYTES, NULL},  /* graph */
    {8, PLUMB_WIRE_BYTES, NULL},  /* opset_import */
    {14, PLUMB_WIRE_BYTES, NULL}, /* metadata_props */
    {20, PLUMB_WIRE_BYTES, NULL},
    {25, PLUMB_WIRE_BYTES, NULL},
    {26, PLUMB_WIRE_BYTES, NULL},
};
enum { MODEL_FIELDS = sizeof model_fields / sizeof *model_fields };

static size_t known_field(const struct plumb_wire_field *field)
{
    size_t i = 0;
    while (i < MODEL_FIELDS &&
           !plumb_wire_is(field, model_fields[i].number, model_fields[i].type))
        i++;
    return i;
}

/* ir_version first, then only fields of a model. A file that was cut off still passes if two
 * fields are whole: reading it says what is wrong. */
static enum plumb_probe probe(const struct plumb_map *map)
{
    struct plumb_wire wire = plumb_wire_of(map->base, map->size, 0);
    struct plumb_wire_field field;
    size_t seen = 0;
    while (seen < FIELDS_PROBED && plumb_wire_next(&wire, &field)) {
        if (known_field(&field) == MODEL_FIELDS)
            return PLUMB_PROBE_NO;
        if (seen == 0 && (field.number != 1 || field.value == 0 || field.value > 100))
            return PLUMB_PROBE_NO;
        seen++;
    }
    return seen >= 2 ? PLUMB_PROBE_LIKELY : PLUMB_PROBE_NO;
}

/* ---- notes ---------------------------------------------------------------------------- */

static enum plumb_status add_note(struct plumb_onnx_reader *reader, const char *key,
                                  const struct plumb_wire_field *field)
{
    struct plumb_buffer text;
    plumb_buffer_init(&text, 8 * MAX_TEXT);
    struct plumb_json_writer json = plumb_json_writer_of(&text);
    if (field->type == PLUMB_WIRE_VARINT)
        plumb_json_put_int(&json, (int64_t)field->value);
    else
        plumb_json_put_text(&json, (const char *)field->bytes,
                            field->size < MAX_TEXT ? field->size : MAX_TEXT);
    enum plumb_status status =
        plumb_buffer_failed(&text)
            ? plumb_fail_memory(reader->err)
            : plumb_file_add_note(reader->file, key, text.data, reader->err);
    plumb_buffer_release(&text);
    return status;
}

/* A message of two fields, name and value: operator sets (domain, version) and metadata. */
static enum plumb_status add_pair(struct plumb_onnx_reader *reader, const char *prefix,
                                  const struct plumb_wire_field *outer)
{
    struct plumb_wire wire = plumb_wire_inside(outer);
    struct plumb_wire_field field, name = {0}, value = {.type = PLUMB_WIRE_VARINT};
    while (plumb_wire_next(&wire, &field)) {
        if (plumb_wire_is(&field, 1, PLUMB_WIRE_BYTES))
            name = field;
        if (field.number == 2)
            value = field;
    }
    enum plumb_status status = plumb_wire_check(&wire, reader->map->path, reader->err);
    if (status)
        return status;
    const size_t length = name.size < PLUMB_MAX_NAME ? name.size : PLUMB_MAX_NAME;
    char *key = plumb_arena_printf(&reader->file->arena, "%s%s%.*s", prefix, length ? "." : "",
                                   (int)length, length ? (const char *)name.bytes : "");
    if (!key)
        return plumb_fail_memory(reader->err);
    return add_note(reader, key, &value);
}

static bool is_text(const struct plumb_wire_field *field, const char *text)
{
    return field->size == strlen(text) && memcmp(field->bytes, text, field->size) == 0;
}

/* ---- graphs --------------------------------------------------------------------------- */

static enum plumb_status read_graph(struct plumb_onnx_reader *reader,
                                    const struct plumb_wire_field *outer, int depth);

/* Graphs in the attributes of a node: the branches of If, the body of Loop. */
static enum plumb_status read_attribute(struct plumb_onnx_reader *reader,
                                        const struct plumb_wire_field *outer, int depth)
{
    struct plumb_wire wire = plumb_wire_inside(outer);
    struct plumb_wire_field field;
    enum plumb_status status = PLUMB_OK;
    while (!status && plumb_wire_next(&wire, &field))
        if (plumb_wire_is(&field, 6, PLUMB_WIRE_BYTES) ||
            plumb_wire_is(&field, 11, PLUMB_WIRE_BYTES))
            status = read_graph(reader, &field, depth + 1);
    return status ? status : plumb_wire_check(&wire, reader->map->path, reader->err);
}

static enum plumb_status read_node(struct plumb_onnx_reader *reader,
                                   const struct plumb_wire_field *outer, int depth)
{
    struct plumb_wire wire = plumb_wire_inside(outer);
    struct plumb_wire_field field;
    enum plumb_status status = PLUMB_OK;
    while (!status && plumb_wire_next(&wire, &field))
        if (plumb_wire_is(&field, 5, PLUMB_WIRE_BYTES))
            status = read_attribute(reader, &field, depth);
    return status ? status : plumb_wire_check(&wire, reader->map->path, reader->err);
}

static enum plumb_status read_graph(struct plumb_onnx_reader *reader,
                                    const struct plumb_wire_field *outer, int depth)
{
    struct plumb_wire wire = plumb_wire_inside(outer);
    struct plumb_wire_field field;
    enum plumb_status status = PLUMB_OK;
    if (depth > DEEPEST_GRAPH)
        return plumb_fail(reader->err, PLUMB_LIMIT, (int64_t)outer->start,
                          "%s: graphs inside graphs more than %d deep; the model is damaged or "
                          "made to mislead",
                          reader->map->path, DEEPEST_GRAPH);
    while (!status && plumb_wire_next(&wire, &field)) {
        if (plumb_wire_is(&field, 1, PLUMB_WIRE_BYTES))
            status = read_node(reader, &field, depth);
        else if (plumb_wire_is(&field, 5, PLUMB_WIRE_BYTES))
            status = plumb_onnx_add_tensor(reader, &field);
        else if (plumb_wire_is(&field, 2, PLUMB_WIRE_BYTES) && depth == 0)
            status = add_note(reader, "onnx.graph", &field);
        else if (plumb_wire_is(&field, 15, PLUMB_WIRE_BYTES))
            status = plumb_file_warn(reader->file, reader->err,
                                     "byte %llu: a sparse initializer is left out: Plumb reads "
                                     "dense tensors",
                                     (unsigned long long)field.start);
    }
    return status ? status : plumb_wire_check(&wire, reader->map->path, reader->err);
}

static enum plumb_status read_model_field(struct plumb_onnx_reader *reader,
                                          const struct plumb_wire_field *field)
{
    if (plumb_wire_is(field, 2, PLUMB_WIRE_BYTES) && is_text(field, "pytorch"))
        reader->file->framework = "pytorch";
    if (plumb_wire_is(field, 2, PLUMB_WIRE_BYTES) && is_text(field, "MindSpore"))
        reader->file->framework = "mindspore";
    if (plumb_wire_is(field, 7, PLUMB_WIRE_BYTES))
        return read_graph(reader, field, 0);
    if (plumb_wire_is(field, 8, PLUMB_WIRE_BYTES))
        return add_pair(reader, "onnx.opset", field);
    if (plumb_wire_is(field, 14, PLUMB_WIRE_BYTES))
        return add_pair(reader, "onnx.metadata", field);
    const size_t known = known_field(field);
    if (known < MODEL_FIELDS && model_fields[known].note)
        return add_note(reader, model_fields[known].note, field);
    return PLUMB_OK;
}

static enum plumb_status read(struct plumb_file *file, const struct plumb_map *map,
                              struct plumb_error *err)
{
    struct plumb_onnx_reader reader = {.file = file, .map = map, .err = err};
    struct plumb_wire wire = plumb_wire_of(map->base, map->size, 0);
    struct plumb_wire_field field;
    bool graph = false;
    enum plumb_status status = PLUMB_OK;
    while (!status && plumb_wire_next(&wire, &field)) {
        graph = graph || plumb_wire_is(&field, 7, PLUMB_WIRE_BYTES);
        status = read_model_field(&reader, &field);
    }
    if (status == PLUMB_OK)
        status = plumb_wire_check(&wire, map->path, err);
    if (status == PLUMB_OK && !graph)
        status =
            plumb_fail(err, PLUMB_DAMAGED, (int64_t)map->size,
                       "%s: expected a graph in this ONNX model, found the end of the file; "
                       "copy or export it again",
                       map->path);
    plumb_table_release(&reader.external);
    return status;
}

const struct plumb_format plumb_format_onnx = {
    .entry =
        {
            .name = "onnx",
            .summary = "weights of an ONNX model (.onnx, with external data)",
            .detail =
                "The initializers of the graph and of the graphs inside it, with values in\n"
                "raw_data, in typed fields or in external files below the model's directory.\n"
                "Producer, operator sets and metadata are shown. A missing external file is a\n"
                "warning that names the tensor; types of 4 bits and texts are listed only.",
        },
    .extensions = "onnx",
    .probe = probe,
    .read = read,
};
