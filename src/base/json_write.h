/*
 * json_write.h - JSON appended to a buffer; commas are put where they belong.
 *
 *     struct plumb_json_writer json = plumb_json_writer_of(&buffer);
 *     plumb_json_open_object(&json);
 *     plumb_json_put_key(&json, "bytes");
 *     plumb_json_put_uint(&json, 42);
 *     plumb_json_close_object(&json);
 *
 * Failure is the buffer's: see plumb_buffer_failed().
 */
#ifndef PLUMB_BASE_JSON_WRITE_H
#define PLUMB_BASE_JSON_WRITE_H

#include "base/buffer.h"

struct plumb_json_writer {
    struct plumb_buffer *buffer;
    bool comma; /* the next key or value needs one before it */
};

struct plumb_json_writer plumb_json_writer_of(struct plumb_buffer *buffer);
void plumb_json_open_object(struct plumb_json_writer *json);
void plumb_json_close_object(struct plumb_json_writer *json);
void plumb_json_open_array(struct plumb_json_writer *json);
void plumb_json_close_array(struct plumb_json_writer *json);
void plumb_json_put_key(struct plumb_json_writer *json, const char *key);
/* Escaped; bytes that are not UTF-8 become U+FFFD. NULL gives null. */
void plumb_json_put_string(struct plumb_json_writer *json, const char *text);
void plumb_json_put_text(struct plumb_json_writer *json, const char *text, size_t length);
void plumb_json_put_int(struct plumb_json_writer *json, int64_t value);
void plumb_json_put_uint(struct plumb_json_writer *json, uint64_t value);
/* Shortest text that reads back the same; "nan", "inf" and "-inf" are strings. */
void plumb_json_put_double(struct plumb_json_writer *json, double value);
void plumb_json_put_bool(struct plumb_json_writer *json, bool value);
void plumb_json_put_null(struct plumb_json_writer *json);
/* A value that is JSON already. */
void plumb_json_put_raw(struct plumb_json_writer *json, const char *text);
/* Starts a new line before the next key or value: makes long arrays readable. */
void plumb_json_new_line(struct plumb_json_writer *json);

#endif
