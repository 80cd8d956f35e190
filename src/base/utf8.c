/* utf8.c - checking and writing UTF-8; see utf8.h. */
#include "base/utf8.h"

#include <string.h>

static bool is_continuation(unsigned char byte)
{
    return (byte & 0xc0U) == 0x80U;
}

/* The second byte decides about overlong forms, surrogates and codes above U+10FFFF. */
static bool second_byte_fits(unsigned char first, unsigned char second)
{
    switch (first) {
    case 0xe0:
        return second >= 0xa0;
    case 0xed:
        return second < 0xa0;
    case 0xf0:
        return second >= 0x90;
    case 0xf4:
        return second < 0x90;
    default:
        return true;
    }
}

size_t plumb_utf8_length(const char *text, size_t left)
{
    const unsigned char *bytes = (const unsigned char *)text;
    if (left == 0)
        return 0;
    const unsigned char first = bytes[0];
    if (first < 0x80)
        return 1;
    if (first < 0xc2 || first > 0xf4)
        return 0;
    const size_t length = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    if (length > left)
        return 0;
    for (size_t i = 1; i < length; i++)
        if (!is_continuation(bytes[i]))
            return 0;
    return second_byte_fits(first, bytes[1]) ? length : 0;
}

size_t plumb_utf8_encode(uint32_t code, char out[4])
{
    if (code > 0x10ffffU || (code >= 0xd800U && code < 0xe000U))
        return 0;
    const size_t length = code < 0x80U ? 1 : code < 0x800U ? 2 : code < 0x10000U ? 3 : 4;
    if (length == 1) {
        out[0] = (char)code;
        return 1;
    }
    for (size_t i = length - 1; i > 0; i--) {
        out[i] = (char)(0x80U | (code & 0x3fU));
        code >>= 6;
    }
    const uint32_t mark = length == 2 ? 0xc0U : length == 3 ? 0xe0U : 0xf0U;
    out[0] = (char)(mark | code);
    return length;
}

void plumb_utf8_make_printable(char *text, bool keep_lines)
{
    size_t left = strlen(text);
    while (left) {
        size_t length = plumb_utf8_length(text, left);
        const unsigned char first = (unsigned char)text[0];
        const bool c1_control = length == 2 && first == 0xc2 && (unsigned char)text[1] < 0xa0;
        const bool control = first < 0x20 && !(keep_lines && first == '\n');
        if (length == 0 || control || first == 0x7f || c1_control) {
            memset(text, '?', c1_control ? 2 : 1);
            length = c1_control ? 2 : 1;
        }
        text += length;
        left -= length;
    }
}
