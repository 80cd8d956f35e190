/* json_syntax.h - is this text JSON (RFC 8259), in valid UTF-8? Written apart from the library's own parser,
 * so that writer and parser cannot be wrong together. */
#ifndef PLUMB_TESTS_JSON_SYNTAX_H
#define PLUMB_TESTS_JSON_SYNTAX_H

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Number of bytes of the UTF-8 character at `p`, 0 if it is none. */
static inline int json_utf8(const unsigned char *p, const unsigned char *end)
{
    const int length = *p < 0x80       ? 1
                       : *p >> 5 == 6  ? 2
                       : *p >> 4 == 14 ? 3
                       : *p >> 3 == 30 ? 4
                                       : 0;
    if (length == 0 || end - p < length)
        return 0;
    for (int i = 1; i < length; i++)
        if (p[i] >> 6 != 2)
            return 0;
    const bool overlong = (length == 2 && *p < 0xc2) ||
                          (length == 3 && *p == 0xe0 && p[1] < 0xa0) ||
                          (length == 4 && *p == 0xf0 && p[1] < 0x90);
    const bool surrogate = length == 3 && *p == 0xed && p[1] >= 0xa0;
    const bool beyond = length == 4 && (*p > 0xf4 || (*p == 0xf4 && p[1] >= 0x90));
    return overlong || surrogate || beyond ? 0 : length;
}

static inline const unsigned char *json_space(const unsigned char *p, const unsigned char *end)
{
    while (p < end && strchr(" \t\r\n", *p) && *p)
        p++;
    return p;
}

/* Each of these returns the first byte after what it read, or NULL. */
static inline const unsigned char *json_text(const unsigned char *p, const unsigned char *end)
{
    if (p >= end || *p++ != '"')
        return NULL;
    while (p < end && *p != '"') {
        if (*p < 0x20)
            return NULL;
        if (*p == '\\') {
            if (end - p < 2 || !strchr("\"\\/bfnrtu", p[1]) || !p[1])
                return NULL;
            if (p[1] == 'u') {
                for (int i = 2; i < 6; i++)
                    if (end - p <= i || !isxdigit(p[i]))
                        return NULL;
                p += 4;
            }
            p += 2;
        } else {
            const int length = json_utf8(p, end);
            if (length == 0)
                return NULL;
            p += length;
        }
    }
    return p < end ? p + 1 : NULL;
}

static inline const unsigned char *json_digits(const unsigned char *p, const unsigned char *end)
{
    const unsigned char *start = p;
    while (p < end && isdigit(*p))
        p++;
    return p > start ? p : NULL;
}

static inline const unsigned char *json_number(const unsigned char *p, const unsigned char *end)
{
    if (p < end && *p == '-')
        p++;
    if (end - p >= 2 && *p == '0' && isdigit(p[1]))
        return NULL;
    p = json_digits(p, end);
    if (p && p < end && *p == '.')
        p = json_digits(p + 1, end);
    if (p && p < end && (*p == 'e' || *p == 'E')) {
        p++;
        if (p < end && (*p == '+' || *p == '-'))
            p++;
        p = json_digits(p, end);
    }
    return p;
}

static inline const unsigned char *json_value(const unsigned char *p, const unsigned char *end,
                                              int depth);

static inline const unsigned char *json_members(const unsigned char *p,
                                                const unsigned char *end, int depth)
{
    const bool object = *p == '{';
    const unsigned char closing = object ? '}' : ']';
    p = json_space(p + 1, end);
    if (p < end && *p == closing)
        return p + 1;
    for (;;) {
        if (object) {
            p = json_text(json_space(p, end), end);
            p = p ? json_space(p, end) : NULL;
            if (!p || p >= end || *p++ != ':')
                return NULL;
        }
        p = json_value(json_space(p, end), end, depth + 1);
        p = p ? json_space(p, end) : NULL;
        if (!p || p >= end || (*p != ',' && *p != closing))
            return NULL;
        if (*p++ == closing)
            return p;
    }
}

static inline const unsigned char *json_value(const unsigned char *p, const unsigned char *end,
                                              int depth)
{
    static const char *const words[] = {"true", "false", "null"};
    if (p >= end || depth > 1000)
        return NULL;
    if (*p == '{' || *p == '[')
        return json_members(p, end, depth);
    if (*p == '"')
        return json_text(p, end);
    for (size_t i = 0; i < 3; i++) {
        const size_t length = strlen(words[i]);
        if ((size_t)(end - p) >= length && memcmp(p, words[i], length) == 0)
            return p + length;
    }
    return json_number(p, end);
}

static inline bool json_is_valid(const char *text, size_t size)
{
    const unsigned char *start = (const unsigned char *)text, *end = start + size;
    const unsigned char *p = json_value(json_space(start, end), end, 0);
    return p && json_space(p, end) == end;
}

#endif
