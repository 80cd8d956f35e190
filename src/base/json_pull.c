/* json_pull.c - a JSON text token by token; see json_pull.h. */
#include "base/json_pull.h"

#include "base/number.h"
#include "base/utf8.h"

#include <math.h>
#include <string.h>

enum state { BEFORE_VALUE, FIRST_OF_ARRAY, FIRST_OF_OBJECT, AFTER_VALUE };

struct plumb_json_pull plumb_json_pull_of(const void *bytes, size_t size)
{
    return (struct plumb_json_pull){.bytes = bytes, .size = size, .state = BEFORE_VALUE};
}

static enum plumb_json_token broken(struct plumb_json_pull *pull, const char *expected)
{
    if (!pull->problem)
        pull->problem = expected;
    return PLUMB_JSON_BROKEN;
}

static char peek(const struct plumb_json_pull *pull)
{
    return pull->at < pull->size ? pull->bytes[pull->at] : '\0';
}

/* ---- eight bytes at a time: half of an indented file is spaces ------------------------------ */

enum { WORD = 8 };
static const uint64_t ones = 0x0101010101010101u, tops = 0x8080808080808080u;

static uint64_t word_at(const char *bytes)
{
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    return word;
}

/* Which byte of the word, in the order of memory, is the first that is not zero. */
static size_t first_byte(uint64_t word)
{
    const bool little = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
    return (size_t)(little ? __builtin_ctzll(word) : __builtin_clzll(word)) / 8;
}

/* The top bits of the bytes that are `byte`; nothing carries from one byte to the next. */
static uint64_t has_byte(uint64_t word, unsigned char byte)
{
    const uint64_t other = word ^ (ones * byte);
    return ~(((other & ~tops) + ~tops) | other | ~tops);
}

static size_t skip_blanks(const char *bytes, size_t at, size_t size)
{
    while (at + WORD <= size) {
        const uint64_t other = word_at(bytes + at) ^ (ones * ' ');
        if (other)
            return at + first_byte(other);
        at += WORD;
    }
    while (at < size && bytes[at] == ' ')
        at++;
    return at;
}

static inline void skip_space(struct plumb_json_pull *pull)
{
    const char *bytes = pull->bytes;
    const size_t size = pull->size;
    size_t at = pull->at;
    while (at < size && (unsigned char)bytes[at] <= ' ') {
        if (bytes[at] == ' ')
            at = skip_blanks(bytes, at, size);
        else if (bytes[at] == '\n' || bytes[at] == '\r' || bytes[at] == '\t')
            at++;
        else
            break;
    }
    pull->at = at;
}

static bool in_object(const struct plumb_json_pull *pull)
{
    const size_t level = pull->depth - 1;
    return pull->is_object[level / 8] >> (level % 8) & 1U;
}

/* ---- scalars ---------------------------------------------------------------------------- */

/* The first quote or backslash from `at` on, or `end`. */
static const char *find_special(const char *at, const char *end)
{
    while (end - at >= WORD) {
        const uint64_t word = word_at(at);
        const uint64_t found = has_byte(word, '"') | has_byte(word, '\\');
        if (found)
            return at + first_byte(found);
        at += WORD;
    }
    while (at < end && *at != '"' && *at != '\\')
        at++;
    return at;
}

/* From after the opening quote to after the closing one. */
static bool take_string(struct plumb_json_pull *pull)
{
    const char *start = pull->bytes + pull->at, *end = pull->bytes + pull->size;
    const char *at = find_special(start, end);
    pull->escaped = false;
    while (at < end && *at == '\\') {
        pull->escaped = true;
        at = end - at > 2 ? find_special(at + 2, end) : end;
    }
    if (at >= end) {
        pull->at = pull->size;
        return false;
    }
    pull->text = start;
    pull->length = (size_t)(at - start);
    pull->at = (size_t)(at - pull->bytes) + 1;
    return true;
}

static bool take_word(struct plumb_json_pull *pull, const char *word)
{
    const size_t length = strlen(word);
    if (pull->size - pull->at < length || memcmp(pull->bytes + pull->at, word, length) != 0)
        return false;
    pull->text = pull->bytes + pull->at;
    pull->length = length;
    pull->at += length;
    return true;
}

static bool is_number_character(char c)
{
    static const bool is_one[256] = {
        ['0'] = true, ['1'] = true, ['2'] = true, ['3'] = true, ['4'] = true,
        ['5'] = true, ['6'] = true, ['7'] = true, ['8'] = true, ['9'] = true,
        ['-'] = true, ['+'] = true, ['.'] = true, ['e'] = true, ['E'] = true};
    return is_one[(unsigned char)c];
}

static enum plumb_json_token take_number(struct plumb_json_pull *pull)
{
    const size_t start = pull->at;
    if (peek(pull) == '-')
        pull->at++;
    if (peek(pull) < '0' || peek(pull) > '9') {
        pull->at = start;
        return take_word(pull, "NaN") || take_word(pull, "Infinity") ||
                       take_word(pull, "-Infinity")
                   ? PLUMB_JSON_NUMBER
                   : broken(pull, "a value");
    }
    size_t at = pull->at;
    while (at < pull->size && is_number_character(pull->bytes[at]))
        at++;
    pull->at = at;
    if (pull->at == pull->size && pull->depth)
        return broken(pull, "the end of a number"); /* it may have had more digits */
    pull->text = pull->bytes + start;
    pull->length = pull->at - start;
    return PLUMB_JSON_NUMBER;
}

static enum plumb_json_token take_scalar(struct plumb_json_pull *pull)
{
    switch (peek(pull)) {
    case '"':
        pull->at++;
        return take_string(pull) ? PLUMB_JSON_TEXT
                                 : broken(pull, "the closing quote of a string");
    case 't':
        return take_word(pull, "true") ? PLUMB_JSON_TRUE : broken(pull, "a value");
    case 'f':
        return take_word(pull, "false") ? PLUMB_JSON_FALSE : broken(pull, "a value");
    case 'n':
        return take_word(pull, "null") ? PLUMB_JSON_NOTHING : broken(pull, "a value");
    default:
        return take_number(pull);
    }
}

/* ---- structure --------------------------------------------------------------------------- */

static enum plumb_json_token open_level(struct plumb_json_pull *pull, bool object)
{
    if (pull->depth == PLUMB_JSON_PULL_DEPTH)
        return broken(pull, "at most 512 levels");
    const unsigned char bit = (unsigned char)(1U << (pull->depth % 8));
    unsigned char *byte = &pull->is_object[pull->depth / 8];
    *byte = (unsigned char)(object ? *byte | bit : *byte & ~bit);
    pull->depth++;
    pull->at++;
    pull->state = object ? FIRST_OF_OBJECT : FIRST_OF_ARRAY;
    return object ? PLUMB_JSON_OPEN_OBJECT : PLUMB_JSON_OPEN_ARRAY;
}

static enum plumb_json_token close_level(struct plumb_json_pull *pull)
{
    const bool object = in_object(pull);
    pull->depth--;
    pull->at++;
    pull->state = AFTER_VALUE;
    return object ? PLUMB_JSON_CLOSE_OBJECT : PLUMB_JSON_CLOSE_ARRAY;
}

static enum plumb_json_token take_value(struct plumb_json_pull *pull)
{
    const char c = peek(pull);
    if (c == '{' || c == '[')
        return open_level(pull, c == '{');
    pull->state = AFTER_VALUE;
    return take_scalar(pull);
}

static enum plumb_json_token take_key(struct plumb_json_pull *pull)
{
    if (peek(pull) != '"')
        return broken(pull, "a key in double quotes");
    pull->at++;
    if (!take_string(pull))
        return broken(pull, "the closing quote of a key");
    skip_space(pull);
    if (peek(pull) != ':')
        return broken(pull, "a colon");
    pull->at++;
    pull->state = BEFORE_VALUE;
    return PLUMB_JSON_KEY;
}

static enum plumb_json_token after_value(struct plumb_json_pull *pull)
{
    if (!pull->depth)
        return PLUMB_JSON_TOKEN_END;
    const char c = peek(pull);
    if (c == (in_object(pull) ? '}' : ']'))
        return close_level(pull);
    if (c != ',')
        return broken(pull, "a comma or the end of an object or array");
    pull->at++;
    skip_space(pull);
    return in_object(pull) ? take_key(pull) : take_value(pull);
}

enum plumb_json_token plumb_json_pull_next(struct plumb_json_pull *pull)
{
    if (pull->problem)
        return PLUMB_JSON_BROKEN;
    skip_space(pull);
    switch ((enum state)pull->state) {
    case FIRST_OF_ARRAY:
        return peek(pull) == ']' ? close_level(pull) : take_value(pull);
    case FIRST_OF_OBJECT:
        return peek(pull) == '}' ? close_level(pull) : take_key(pull);
    case AFTER_VALUE:
        return after_value(pull);
    case BEFORE_VALUE:
        break;
    }
    return take_value(pull);
}

bool plumb_json_pull_skip(struct plumb_json_pull *pull, enum plumb_json_token token)
{
    size_t open = token == PLUMB_JSON_OPEN_OBJECT || token == PLUMB_JSON_OPEN_ARRAY;
    while (open && token != PLUMB_JSON_BROKEN) {
        token = plumb_json_pull_next(pull);
        if (token == PLUMB_JSON_OPEN_OBJECT || token == PLUMB_JSON_OPEN_ARRAY)
            open++;
        else if (token == PLUMB_JSON_CLOSE_OBJECT || token == PLUMB_JSON_CLOSE_ARRAY)
            open--;
    }
    return token != PLUMB_JSON_BROKEN;
}

/* ---- what a token says --------------------------------------------------------------------- */

static bool same_text(const char *bytes, size_t length, const char *text)
{
    return length && *bytes == *text && strlen(text) == length &&
           memcmp(text, bytes, length) == 0;
}

bool plumb_json_pull_is(const struct plumb_json_pull *pull, const char *text)
{
    return same_text(pull->text, pull->length, text);
}

struct plumb_json_key plumb_json_pull_key(const struct plumb_json_pull *pull)
{
    return (struct plumb_json_key){pull->text, pull->length, pull->escaped};
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The character of "1f60" after \u; false if there are no four digits. */
static bool hex_code(const char *text, size_t left, uint32_t *code)
{
    *code = 0;
    for (size_t i = 0; i < 4; i++) {
        const int digit = i < left ? hex_digit(text[i]) : -1;
        if (digit < 0)
            return false;
        *code = *code << 4 | (uint32_t)digit;
    }
    return true;
}

/* What follows the backslash at `text`; returns how many characters it took. */
static size_t unescape_one(const char *text, size_t left, struct plumb_buffer *to)
{
    static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    const char *letter = left ? strchr(letters, *text) : NULL;
    uint32_t code = 0, low = 0;
    if (letter && *letter) {
        plumb_buffer_append(to, meanings + (letter - letters), 1);
        return 1;
    }
    if (!left || *text != 'u' || !hex_code(text + 1, left - 1, &code)) {
        plumb_buffer_text(to, "?");
        return left ? 1 : 0;
    }
    size_t used = 5;
    if (code >= 0xd800U && code < 0xdc00U && left >= 11 && text[5] == '\\' && text[6] == 'u' &&
        hex_code(text + 7, 4, &low) && low >= 0xdc00U && low < 0xe000U) {
        code = 0x10000U + ((code - 0xd800U) << 10) + (low - 0xdc00U);
        used = 11;
    }
    char utf8[8];
    const size_t length = code ? plumb_utf8_encode(code, utf8) : 0;
    plumb_buffer_append(to, length ? utf8 : "?", length ? length : 1);
    return used;
}

static bool is_plain(const char *text, size_t length)
{
    bool plain = true;
    for (size_t i = 0; i < length; i++)
        plain &= text[i] >= ' ' && text[i] < 0x7f;
    return plain;
}

/* Text without escapes; what is not UTF-8 or not printable becomes '?'. */
static void append_checked(const char *text, size_t length, struct plumb_buffer *to)
{
    if (is_plain(text, length)) {
        plumb_buffer_append(to, text, length);
        return;
    }
    for (size_t i = 0; i < length;) {
        const size_t wide = plumb_utf8_length(text + i, length - i);
        const bool good = wide && (unsigned char)text[i] >= ' ';
        plumb_buffer_append(to, good ? text + i : "?", good ? wide : 1);
        i += good ? wide : 1;
    }
}

void plumb_json_key_unescape(const struct plumb_json_key *key, struct plumb_buffer *to)
{
    for (size_t i = 0; i < key->length;) {
        const char *from = key->text + i;
        const char *backslash = key->escaped ? memchr(from, '\\', key->length - i) : NULL;
        const size_t plain = backslash ? (size_t)(backslash - from) : key->length - i;
        append_checked(from, plain, to);
        i += plain;
        if (backslash)
            i += 1 + unescape_one(key->text + i + 1, key->length - i - 1, to);
    }
}

void plumb_json_pull_unescape(const struct plumb_json_pull *pull, struct plumb_buffer *to)
{
    const struct plumb_json_key text = plumb_json_pull_key(pull);
    plumb_json_key_unescape(&text, to);
}

bool plumb_json_pull_integer(const struct plumb_json_pull *pull, int64_t *integer)
{
    const bool negative = pull->length && pull->text[0] == '-';
    int64_t value = 0;
    for (size_t i = negative; i < pull->length; i++) {
        const int digit = pull->text[i] - '0';
        if (digit < 0 || digit > 9 || __builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, digit, &value))
            return false;
    }
    *integer = negative ? -value : value;
    return pull->length > (size_t)negative;
}

/* Few digits and a small power of ten: one exact product or quotient of doubles. Others are left to
 * the careful way. */
static bool parse_short(const char *text, size_t length, double *number)
{
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                    1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    const bool negative = length && text[0] == '-';
    uint64_t digits = 0;
    int places = 0, power = 0;
    size_t i = negative, count = 0;
    bool point = false;
    for (; i < length && (text[i] == '.' || (text[i] >= '0' && text[i] <= '9')); i++) {
        if (text[i] == '.') {
            if (point)
                return false;
            point = true;
            continue;
        }
        digits = digits * 10 + (uint64_t)(text[i] - '0');
        places += point;
        if (++count > 18)
            return false;
    }
    if (i + 1 < length && (text[i] == 'e' || text[i] == 'E')) {
        const bool below = text[i + 1] == '-';
        size_t at = i + 1 + (below || text[i + 1] == '+');
        if (at == length || length - at > 3)
            return false;
        for (; at < length; at++) {
            if (text[at] < '0' || text[at] > '9')
                return false;
            power = power * 10 + (text[at] - '0');
        }
        power = below ? -power : power;
        i = length;
    }
    power -= places;
    if (i != length || !count || digits > 1ULL << 53 || power > 22 || power < -22)
        return false;
    const double value =
        power < 0 ? (double)digits / powers[-power] : (double)digits * powers[power];
    *number = negative ? -value : value;
    return true;
}

bool plumb_json_pull_double(const struct plumb_json_pull *pull, double *number)
{
    if (parse_short(pull->text, pull->length, number))
        return true;
    if (plumb_json_pull_is(pull, "NaN"))
        *number = (double)NAN;
    else if (plumb_json_pull_is(pull, "Infinity"))
        *number = (double)INFINITY;
    else if (plumb_json_pull_is(pull, "-Infinity"))
        *number = -(double)INFINITY;
    else
        return plumb_number_parse(pull->text, pull->length, number);
    return true;
}
