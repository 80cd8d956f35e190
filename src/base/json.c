/* json.c - a JSON text as a tree in an arena; see json.h. */
#include "base/json.h"

#include "base/error.h"
#include "base/number.h"
#include "base/table.h"
#include "base/utf8.h"

#include <math.h>
#include <string.h>

struct parser {
    struct plumb_arena *arena;
    const struct plumb_json_source *source;
    const char *text;
    size_t size;
    size_t at;
    size_t nodes;
    int depth;
    struct plumb_error *err;
};

static enum plumb_status parse_value(struct parser *parser, struct plumb_json *node);

static enum plumb_status expected(const struct parser *parser, const char *what)
{
    const size_t offset = parser->source->offset + parser->at;
    char found[24] = "the end of the text";
    if (parser->at < parser->size) {
        static const char hex[] = "0123456789abcdef";
        const unsigned char c = (unsigned char)parser->text[parser->at];
        const bool printable = c > 0x20 && c < 0x7f;
        const char shown[] = {'\'', (char)c, '\'', '\0'};
        const char coded[] = {'b', 'y', 't',         'e',         ' ',
                              '0', 'x', hex[c >> 4], hex[c & 15], '\0'};
        memcpy(found, printable ? shown : coded, printable ? sizeof shown : sizeof coded);
    }
    return plumb_fail(
        parser->err, PLUMB_DAMAGED, (int64_t)offset,
        "%s: not valid JSON: byte %zu: expected %s, found %s; was the file copied "
        "or written to its end?",
        parser->source->path, offset, what, found);
}

static enum plumb_status too_much(const struct parser *parser, const char *what, int limit)
{
    const size_t offset = parser->source->offset + parser->at;
    return plumb_fail(parser->err, PLUMB_LIMIT, (int64_t)offset,
                      "%s: byte %zu: more than %d %s; no file that Plumb reads needs that",
                      parser->source->path, offset, limit, what);
}

static void skip_space(struct parser *parser)
{
    while (parser->at < parser->size) {
        const char c = parser->text[parser->at];
        if (c != ' ' && c != '\t' && c != '\n' && c != '\r')
            return;
        parser->at++;
    }
}

static char peek(const struct parser *parser)
{
    return parser->at < parser->size ? parser->text[parser->at] : '\0';
}

static bool eat(struct parser *parser, char c)
{
    if (parser->at >= parser->size || parser->text[parser->at] != c)
        return false;
    parser->at++;
    return true;
}

static bool eat_word(struct parser *parser, const char *word)
{
    const size_t length = strlen(word);
    if (parser->size - parser->at < length ||
        memcmp(parser->text + parser->at, word, length) != 0)
        return false;
    parser->at += length;
    return true;
}

/* ---- strings -------------------------------------------------------------------------- */

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The four digits after \u; UINT32_MAX if they are not. */
static uint32_t parse_hex(struct parser *parser)
{
    uint32_t code = 0;
    for (int i = 0; i < 4; i++) {
        const int digit = hex_digit(peek(parser));
        if (digit < 0)
            return UINT32_MAX;
        code = code << 4 | (uint32_t)digit;
        parser->at++;
    }
    return code;
}

static enum plumb_status parse_unicode(struct parser *parser, char *out, size_t *length)
{
    const size_t start = parser->at;
    uint32_t code = parse_hex(parser);
    if (code == UINT32_MAX)
        return expected(parser, "four hexadecimal digits");
    if (code >= 0xd800U && code < 0xdc00U && eat(parser, '\\') && eat(parser, 'u')) {
        const uint32_t low = parse_hex(parser);
        code = low >= 0xdc00U && low < 0xe000U
                   ? 0x10000U + ((code - 0xd800U) << 10) + (low - 0xdc00U)
                   : UINT32_MAX;
    }
    const size_t written = code ? plumb_utf8_encode(code, out) : 0;
    if (!written) {
        parser->at = start;
        return expected(parser, "the code of a character (no NUL, no half of a pair)");
    }
    *length = written;
    return PLUMB_OK;
}

static enum plumb_status parse_escape(struct parser *parser, char *out, size_t *length)
{
    const char c = peek(parser);
    static const struct {
        char letter, meaning;
    } escapes[] = {{'"', '"'},  {'\\', '\\'}, {'/', '/'},  {'b', '\b'},
                   {'f', '\f'}, {'n', '\n'},  {'r', '\r'}, {'t', '\t'}};
    if (c == 'u') {
        parser->at++;
        return parse_unicode(parser, out, length);
    }
    for (size_t i = 0; i < sizeof escapes / sizeof *escapes; i++)
        if (c == escapes[i].letter) {
            *out = escapes[i].meaning;
            *length = 1;
            parser->at++;
            return PLUMB_OK;
        }
    return expected(parser, "an escape: one of \"\\/bfnrtu");
}

/* Where the string that starts at `at` ends (its closing quote); size if it does not. */
static size_t string_end(const struct parser *parser)
{
    size_t at = parser->at;
    while (at < parser->size && parser->text[at] != '"')
        at += parser->text[at] == '\\' ? 2 : 1;
    return at < parser->size ? at : parser->size;
}

static enum plumb_status parse_string(struct parser *parser, const char **text, size_t *length)
{
    if (!eat(parser, '"'))
        return expected(parser, "a string in double quotes");
    const size_t end = string_end(parser);
    if (end == parser->size) {
        parser->at = end;
        return expected(parser, "the closing quote of a string");
    }
    char *out = plumb_arena_alloc(parser->arena, end - parser->at + 1, 1);
    if (!out)
        return plumb_fail_memory(parser->err);
    size_t used = 0;
    while (parser->at < end) {
        size_t wide = plumb_utf8_length(parser->text + parser->at, end - parser->at);
        const unsigned char c = (unsigned char)peek(parser);
        if (c < 0x20 || !wide)
            return expected(parser, "UTF-8 text without control characters");
        if (c == '\\') {
            parser->at++;
            enum plumb_status status = parse_escape(parser, out + used, &wide);
            if (status)
                return status;
        } else {
            memcpy(out + used, parser->text + parser->at, wide);
            parser->at += wide;
        }
        used += wide;
    }
    parser->at = end + 1;
    *text = out;
    *length = used;
    return PLUMB_OK;
}

/* ---- numbers -------------------------------------------------------------------------- */

static size_t skip_digits(struct parser *parser)
{
    const size_t start = parser->at;
    while (peek(parser) >= '0' && peek(parser) <= '9')
        parser->at++;
    return parser->at - start;
}

/* Moves over a number in JSON's grammar and tells whether it has only digits. */
static enum plumb_status scan_number(struct parser *parser, bool *integral)
{
    *integral = true;
    (void)eat(parser, '-');
    if (!eat(parser, '0') && !skip_digits(parser))
        return expected(parser, "a value");
    if (eat(parser, '.')) {
        *integral = false;
        if (!skip_digits(parser))
            return expected(parser, "a digit after the decimal point");
    }
    if (eat(parser, 'e') || eat(parser, 'E')) {
        *integral = false;
        if (!eat(parser, '-'))
            (void)eat(parser, '+');
        if (!skip_digits(parser))
            return expected(parser, "a digit in the exponent");
    }
    return PLUMB_OK;
}

/* False if the digits do not fit; -0 does not either. */
static bool fits_integer(const char *text, size_t length, int64_t *integer)
{
    const bool negative = text[0] == '-';
    int64_t value = 0;
    for (size_t i = negative ? 1 : 0; i < length; i++) {
        const int digit = text[i] - '0';
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_sub_overflow(value, digit, &value))
            return false;
    }
    if (negative)
        *integer = value;
    else if (__builtin_sub_overflow(0, value, integer))
        return false;
    return !(negative && value == 0);
}

static enum plumb_status parse_number(struct parser *parser, struct plumb_json *node)
{
    const char *start = parser->text + parser->at;
    bool integral = false;
    enum plumb_status status = scan_number(parser, &integral);
    if (status)
        return status;
    node->length = (size_t)(parser->text + parser->at - start);
    node->text = plumb_arena_text(parser->arena, start, node->length);
    if (!node->text)
        return plumb_fail_memory(parser->err);
    node->kind = PLUMB_JSON_INT;
    if (integral && fits_integer(node->text, node->length, &node->value.integer))
        return PLUMB_OK;
    node->kind = PLUMB_JSON_DOUBLE;
    if (!plumb_number_parse(node->text, node->length, &node->value.number))
        return plumb_fail_memory(parser->err);
    return PLUMB_OK;
}

/* ---- values --------------------------------------------------------------------------- */

/* Elements or members up to the closing bracket. */
static enum plumb_status parse_children(struct parser *parser, struct plumb_json *parent)
{
    const bool object = parent->kind == PLUMB_JSON_OBJECT;
    const char close = object ? '}' : ']';
    const struct plumb_json **link = &parent->first;
    parser->at++;
    skip_space(parser);
    if (eat(parser, close))
        return PLUMB_OK;
    for (;;) {
        struct plumb_json *child = plumb_arena_alloc(parser->arena, 1, sizeof *child);
        if (!child)
            return plumb_fail_memory(parser->err);
        skip_space(parser);
        size_t length = 0;
        enum plumb_status status =
            object ? parse_string(parser, &child->key, &length) : PLUMB_OK;
        if (status)
            return status;
        skip_space(parser);
        if (object && !eat(parser, ':'))
            return expected(parser, "':' after a key");
        status = parse_value(parser, child);
        if (status)
            return status;
        *link = child;
        link = &child->next;
        parent->count++;
        skip_space(parser);
        if (eat(parser, close))
            return PLUMB_OK;
        if (!eat(parser, ','))
            return expected(parser, object ? "',' or '}'" : "',' or ']'");
    }
}

static enum plumb_status parse_container(struct parser *parser, struct plumb_json *node,
                                         enum plumb_json_kind kind)
{
    node->kind = kind;
    if (parser->depth == PLUMB_JSON_MAX_DEPTH)
        return too_much(parser, "levels of nesting", PLUMB_JSON_MAX_DEPTH);
    parser->depth++;
    enum plumb_status status = parse_children(parser, node);
    parser->depth--;
    return status;
}

/* true, false, null, and Python's non-finite numbers where they are allowed. */
static bool parse_word(struct parser *parser, struct plumb_json *node)
{
    static const struct {
        const char *word;
        enum plumb_json_kind kind;
        bool boolean;
        double number;
    } words[] = {
        {"true", PLUMB_JSON_BOOL, true, 0},
        {"false", PLUMB_JSON_BOOL, false, 0},
        {"null", PLUMB_JSON_NULL, false, 0},
        {"NaN", PLUMB_JSON_DOUBLE, false, (double)NAN},
        {"Infinity", PLUMB_JSON_DOUBLE, false, (double)INFINITY},
        {"-Infinity", PLUMB_JSON_DOUBLE, false, -(double)INFINITY},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const bool number = words[i].kind == PLUMB_JSON_DOUBLE;
        if ((number && !parser->source->allow_nan) || !eat_word(parser, words[i].word))
            continue;
        node->kind = words[i].kind;
        node->boolean = words[i].boolean;
        if (number)
            node->value.number = words[i].number;
        node->text = words[i].word;
        node->length = strlen(words[i].word);
        return true;
    }
    return false;
}

static enum plumb_status parse_value(struct parser *parser, struct plumb_json *node)
{
    skip_space(parser);
    if (parser->nodes == PLUMB_JSON_MAX_NODES)
        return too_much(parser, "values", PLUMB_JSON_MAX_NODES);
    parser->nodes++;
    node->offset = parser->source->offset + parser->at;
    switch (peek(parser)) {
    case '{':
        return parse_container(parser, node, PLUMB_JSON_OBJECT);
    case '[':
        return parse_container(parser, node, PLUMB_JSON_ARRAY);
    case '"':
        node->kind = PLUMB_JSON_STRING;
        return parse_string(parser, &node->text, &node->length);
    default:
        return parse_word(parser, node) ? PLUMB_OK : parse_number(parser, node);
    }
}

enum plumb_status plumb_json_parse(struct plumb_arena *arena,
                                   const struct plumb_json_source *source,
                                   const struct plumb_json **root, struct plumb_error *err)
{
    struct parser parser = {.arena = arena,
                            .source = source,
                            .text = source->bytes,
                            .size = source->size,
                            .err = err};
    struct plumb_json *node = plumb_arena_alloc(arena, 1, sizeof *node);
    if (!node)
        return plumb_fail_memory(err);
    enum plumb_status status = parse_value(&parser, node);
    if (status)
        return status;
    skip_space(&parser);
    if (parser.at != parser.size)
        return expected(&parser, "nothing more");
    *root = node;
    return PLUMB_OK;
}

/* ---- looking things up ---------------------------------------------------------------- */

const struct plumb_json *plumb_json_get(const struct plumb_json *object, const char *key)
{
    if (!object || object->kind != PLUMB_JSON_OBJECT)
        return NULL;
    const struct plumb_json *member = object->first;
    while (member && strcmp(member->key, key) != 0)
        member = member->next;
    return member;
}

const char *plumb_json_string(const struct plumb_json *value)
{
    return value && value->kind == PLUMB_JSON_STRING ? value->text : NULL;
}

bool plumb_json_integer(const struct plumb_json *value, int64_t *integer)
{
    if (!value || value->kind != PLUMB_JSON_INT)
        return false;
    *integer = value->value.integer;
    return true;
}

bool plumb_json_number(const struct plumb_json *value, double *number)
{
    if (!value || (value->kind != PLUMB_JSON_INT && value->kind != PLUMB_JSON_DOUBLE))
        return false;
    *number =
        value->kind == PLUMB_JSON_INT ? (double)value->value.integer : value->value.number;
    return true;
}

enum plumb_status plumb_json_find_duplicate(const struct plumb_json *object,
                                            const struct plumb_json **duplicate,
                                            struct plumb_error *err)
{
    struct plumb_table seen = {0};
    enum plumb_status status = PLUMB_OK;
    *duplicate = NULL;
    for (const struct plumb_json *member = object->first; member; member = member->next) {
        size_t index = 0;
        if (plumb_table_get(&seen, member->key, &index)) {
            *duplicate = member;
            break;
        }
        if (!plumb_table_put(&seen, member->key, 1)) {
            status = plumb_fail_memory(err);
            break;
        }
    }
    plumb_table_release(&seen);
    return status;
}
