/* json_write.c - JSON appended to a buffer; see json_write.h. */
#include "base/json_write.h"

#include "base/number.h"
#include "base/utf8.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

struct plumb_json_writer plumb_json_writer_of(struct plumb_buffer *buffer)
{
    return (struct plumb_json_writer){.buffer = buffer};
}

static void begin_value(struct plumb_json_writer *json)
{
    if (json->comma)
        plumb_buffer_append(json->buffer, ",", 1);
    json->comma = true;
}

static void open_with(struct plumb_json_writer *json, char bracket)
{
    begin_value(json);
    plumb_buffer_append(json->buffer, &bracket, 1);
    json->comma = false;
}

static void close_with(struct plumb_json_writer *json, char bracket)
{
    plumb_buffer_append(json->buffer, &bracket, 1);
    json->comma = true;
}

void plumb_json_open_object(struct plumb_json_writer *json)
{
    open_with(json, '{');
}

void plumb_json_close_object(struct plumb_json_writer *json)
{
    close_with(json, '}');
}

void plumb_json_open_array(struct plumb_json_writer *json)
{
    open_with(json, '[');
}

void plumb_json_close_array(struct plumb_json_writer *json)
{
    close_with(json, ']');
}

static void append_escape(struct plumb_buffer *buffer, char control)
{
    static const char names[] = "\"\"\\\\\bb\ff\nn\rr\tt"; /* pairs: character, its letter */
    for (size_t i = 0; i + 1 < sizeof names; i += 2)
        if (names[i] == control) {
            plumb_buffer_append(buffer, (const char[]){'\\', names[i + 1]}, 2);
            return;
        }
    plumb_buffer_printf(buffer, "\\u%04x", (unsigned)(unsigned char)control);
}

static bool is_plain(char c)
{
    return (unsigned char)c >= 0x20 && c != '"' && c != '\\' && (unsigned char)c < 0x80;
}

static void append_quoted(struct plumb_buffer *buffer, const char *text, size_t length)
{
    plumb_buffer_append(buffer, "\"", 1);
    for (size_t at = 0; at < length;) {
        size_t run = 0;
        while (at + run < length && is_plain(text[at + run]))
            run++;
        plumb_buffer_append(buffer, text + at, run);
        at += run;
        if (at == length)
            break;
        const size_t wide = plumb_utf8_length(text + at, length - at);
        if (wide > 1)
            plumb_buffer_append(buffer, text + at, wide);
        else if (wide == 1)
            append_escape(buffer, text[at]);
        else
            plumb_buffer_text(buffer, "\xef\xbf\xbd");
        at += wide ? wide : 1;
    }
    plumb_buffer_append(buffer, "\"", 1);
}

void plumb_json_put_text(struct plumb_json_writer *json, const char *text, size_t length)
{
    begin_value(json);
    append_quoted(json->buffer, text, length);
}

void plumb_json_put_string(struct plumb_json_writer *json, const char *text)
{
    if (text)
        plumb_json_put_text(json, text, strlen(text));
    else
        plumb_json_put_null(json);
}

void plumb_json_put_key(struct plumb_json_writer *json, const char *key)
{
    plumb_json_put_string(json, key);
    plumb_buffer_append(json->buffer, ":", 1);
    json->comma = false;
}

void plumb_json_put_int(struct plumb_json_writer *json, int64_t value)
{
    begin_value(json);
    plumb_buffer_printf(json->buffer, "%" PRId64, value);
}

void plumb_json_put_uint(struct plumb_json_writer *json, uint64_t value)
{
    begin_value(json);
    plumb_buffer_printf(json->buffer, "%" PRIu64, value);
}

void plumb_json_put_double(struct plumb_json_writer *json, double value)
{
    char text[PLUMB_NUMBER_TEXT];
    plumb_number_text(value, text);
    if (isfinite(value))
        plumb_json_put_raw(json, text);
    else
        plumb_json_put_string(json, text);
}

void plumb_json_put_bool(struct plumb_json_writer *json, bool value)
{
    plumb_json_put_raw(json, value ? "true" : "false");
}

void plumb_json_put_null(struct plumb_json_writer *json)
{
    plumb_json_put_raw(json, "null");
}

void plumb_json_put_raw(struct plumb_json_writer *json, const char *text)
{
    begin_value(json);
    plumb_buffer_text(json->buffer, text);
}

void plumb_json_new_line(struct plumb_json_writer *json)
{
    plumb_buffer_text(json->buffer, json->comma ? ",\n" : "\n");
    json->comma = false;
}
