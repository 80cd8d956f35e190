/* torch_json.c - plain values of a pickle as JSON; see torch_json.h. */
#include "format/torch_json.h"

#include "base/bytes.h"
#include "base/text.h"

#include <string.h>

enum { DEEPEST_LIST = 16 };

/* Objects that stand for one value: what they hold is in their first argument. */
static bool is_value_call(const char *name)
{
    static const char *const names[] = {
        "torch.Size",
        "torch.device",
        "_codecs.encode",
        "builtins.set",
        "__builtin__.set",
        "builtins.frozenset",
        "builtins.complex",
        "__builtin__.complex",
        "__builtin__.frozenset",
        "builtins.bytearray",
        "__builtin__.bytearray",
        "numpy.core.multiarray.scalar",
        "numpy._core.multiarray.scalar",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return plumb_text_starts(name, "pathlib.");
}

static bool is_list(const struct plumb_pickle_node *node)
{
    return node->kind == PLUMB_PICKLE_LIST || node->kind == PLUMB_PICKLE_TUPLE ||
           node->kind == PLUMB_PICKLE_SET;
}

static bool is_plain_at(struct plumb_pickle_node *node, int depth, uint64_t *visits)
{
    if (++*visits > PLUMB_TORCH_MAX_VISITS)
        return false;
    if (node->kind == PLUMB_PICKLE_CALL)
        return is_value_call(plumb_pickle_callable(node));
    if (node->kind == PLUMB_PICKLE_DICT || node->kind == PLUMB_PICKLE_PERSISTENT)
        return false;
    if (!is_list(node))
        return true;
    if (depth >= DEEPEST_LIST)
        return false;
    for (uint32_t i = 0; i < node->count; i++)
        if (!is_plain_at(node->items[i], depth + 1, visits))
            return false;
    return true;
}

bool plumb_torch_is_plain(struct plumb_pickle_node *node, uint64_t *visits)
{
    return is_plain_at(node, 0, visits);
}

/* Bytes come as such, or (protocol 2) as text to be encoded in latin-1. Returns how many fit. */
static size_t raw_bytes(const struct plumb_pickle_node *node, unsigned char *to, size_t room)
{
    if (plumb_pickle_is(node, PLUMB_PICKLE_BYTES)) {
        const size_t size = node->length < room ? node->length : room;
        memcpy(to, node->text, size);
        return size;
    }
    const struct plumb_pickle_node *text =
        plumb_pickle_is_call(node, "_codecs.encode") ? plumb_pickle_argument(node, 0) : node;
    if (!plumb_pickle_is(text, PLUMB_PICKLE_STRING))
        return 0;
    size_t size = 0;
    for (size_t i = 0; i < text->length && size < room; i++) {
        unsigned byte = (unsigned char)text->text[i];
        if (byte >= 0xc0 && i + 1 < text->length) /* two bytes of UTF-8: U+0080 to U+00FF */
            byte = (byte & 3) << 6 | ((unsigned char)text->text[++i] & 0x3f);
        to[size++] = (unsigned char)byte;
    }
    return size;
}

static int64_t sign_extend(uint64_t bits, size_t size)
{
    const unsigned shift = (unsigned)(64 - 8 * size);
    return (int64_t)(bits << shift) >> shift;
}

/* scalar(dtype("f4", ...), bytes): numbers of numpy, as many trainers log them. */
static void put_numpy_scalar(struct plumb_json_writer *json,
                             const struct plumb_pickle_node *node)
{
    const char *type =
        plumb_pickle_text(plumb_pickle_argument(plumb_pickle_argument(node, 0), 0));
    unsigned char raw[8] = {0};
    const size_t size = raw_bytes(plumb_pickle_argument(node, 1), raw, sizeof raw);
    const uint64_t bits = plumb_load_u64(raw);
    float single = 0;
    double real = 0;
    if (type && strcmp(type, "f4") == 0 && size == 4) {
        memcpy(&single, &bits, sizeof single);
        plumb_json_put_double(json, (double)single);
    } else if (type && strcmp(type, "f8") == 0 && size == 8) {
        memcpy(&real, &bits, sizeof real);
        plumb_json_put_double(json, real);
    } else if (type && type[0] == 'i' && size) {
        plumb_json_put_int(json, sign_extend(bits, size));
    } else if (type && (type[0] == 'u' || type[0] == 'b') && size) {
        plumb_json_put_uint(json, bits);
    } else {
        plumb_json_put_string(json, "opaque: numpy scalar");
    }
}

static void put_at(struct plumb_json_writer *json, struct plumb_pickle_node *node, int depth);

static void put_items(struct plumb_json_writer *json, struct plumb_pickle_node *node, int depth)
{
    plumb_json_open_array(json);
    for (uint32_t i = 0; i < node->count && !plumb_buffer_failed(json->buffer); i++)
        put_at(json, node->items[i], depth + 1);
    plumb_json_close_array(json);
}

static void put_labelled(struct plumb_json_writer *json, const char *label, const char *text)
{
    struct plumb_buffer line;
    plumb_buffer_init(&line, 1 << 16);
    plumb_buffer_printf(&line, "%s%s", label, text);
    plumb_json_put_string(json, plumb_buffer_string(&line));
    plumb_buffer_release(&line);
}

static void put_size(struct plumb_json_writer *json, size_t size)
{
    struct plumb_buffer line;
    plumb_buffer_init(&line, 64);
    plumb_buffer_printf(&line, "%zu bytes", size);
    plumb_json_put_string(json, plumb_buffer_string(&line));
    plumb_buffer_release(&line);
}

static void put_path(struct plumb_json_writer *json, const struct plumb_pickle_node *parts)
{
    struct plumb_buffer line;
    plumb_buffer_init(&line, 1 << 16);
    for (size_t i = 0; plumb_pickle_item(parts, i); i++) {
        const char *part = plumb_pickle_text(plumb_pickle_item(parts, i));
        if (line.size && line.data[line.size - 1] != '/')
            plumb_buffer_text(&line, "/");
        plumb_buffer_text(&line, part ? part : "?");
    }
    plumb_json_put_string(json, plumb_buffer_string(&line));
    plumb_buffer_release(&line);
}

/* Of text that is to be encoded in latin-1: the number of its bytes then. */
static size_t character_count(const struct plumb_pickle_node *text)
{
    size_t count = 0;
    for (size_t i = 0; i < text->length; i++)
        count += ((unsigned char)text->text[i] & 0xc0) != 0x80;
    return count;
}

/* What a call makes: of a function that is given a class, that class. */
static const char *made_name(const struct plumb_pickle_node *node)
{
    const char *name = plumb_pickle_callable(node);
    const struct plumb_pickle_node *argument = plumb_pickle_argument(node, 0);
    if (plumb_text_ends(name, "econstruct") || plumb_text_ends(name, "_reconstructor"))
        if (plumb_pickle_is(argument, PLUMB_PICKLE_GLOBAL))
            return argument->text;
    return *name ? name : "an object";
}

static void put_call(struct plumb_json_writer *json, struct plumb_pickle_node *node, int depth)
{
    const char *name = plumb_pickle_callable(node);
    struct plumb_pickle_node *argument = plumb_pickle_argument(node, 0);
    if (plumb_text_ends(name, ".multiarray.scalar"))
        put_numpy_scalar(json, node);
    else if (plumb_text_starts(name, "pathlib."))
        put_path(json, node->call->arguments);
    else if (plumb_pickle_is(argument, PLUMB_PICKLE_STRING) &&
             strcmp(name, "_codecs.encode") == 0)
        put_size(json, character_count(argument));
    else if (is_value_call(name) && argument)
        put_at(json, argument, depth + 1);
    else
        put_labelled(json, "opaque: ", made_name(node));
}

static void put_at(struct plumb_json_writer *json, struct plumb_pickle_node *node, int depth)
{
    if (depth > DEEPEST_LIST) {
        plumb_json_put_string(json, "opaque: nested too deep");
        return;
    }
    switch (node->kind) {
    case PLUMB_PICKLE_NONE:
        plumb_json_put_null(json);
        break;
    case PLUMB_PICKLE_BOOL:
        plumb_json_put_bool(json, node->truth);
        break;
    case PLUMB_PICKLE_INT:
        plumb_json_put_int(json, node->integer);
        break;
    case PLUMB_PICKLE_FLOAT:
        plumb_json_put_double(json, node->real);
        break;
    case PLUMB_PICKLE_STRING:
        plumb_json_put_text(json, node->text, node->length);
        break;
    case PLUMB_PICKLE_BYTES:
        put_size(json, node->length);
        break;
    case PLUMB_PICKLE_BIG: /* as text: readers of JSON would round it */
    case PLUMB_PICKLE_GLOBAL:
        plumb_json_put_string(json, node->text);
        break;
    case PLUMB_PICKLE_LIST:
    case PLUMB_PICKLE_TUPLE:
    case PLUMB_PICKLE_SET:
        put_items(json, node, depth);
        break;
    case PLUMB_PICKLE_CALL:
        put_call(json, node, depth);
        break;
    case PLUMB_PICKLE_DICT:
        plumb_json_put_raw(json, node->count ? "\"opaque: dict\"" : "{}");
        break;
    case PLUMB_PICKLE_PERSISTENT:
        plumb_json_put_string(json, "opaque: a storage without a tensor");
        break;
    }
}

void plumb_torch_put_json(struct plumb_json_writer *json, struct plumb_pickle_node *node)
{
    put_at(json, node, 0);
}
