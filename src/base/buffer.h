/*
 * buffer.h - a growable run of bytes that cannot be made without a limit.
 *
 * A failed append marks the buffer; later appends do nothing and plumb_buffer_failed() says so.
 * So a report is written straight through and checked once at its end.
 */
#ifndef PLUMB_BASE_BUFFER_H
#define PLUMB_BASE_BUFFER_H

#include "plumb.h"

struct plumb_buffer {
    char *data; /* always NUL-terminated once anything was appended */
    size_t size;
    size_t capacity;
    size_t limit;
    bool failed;
    bool over_limit; /* why it failed; else memory was short */
};

void plumb_buffer_init(struct plumb_buffer *buffer, size_t limit);
void plumb_buffer_release(struct plumb_buffer *buffer);
void plumb_buffer_clear(struct plumb_buffer *buffer);
void plumb_buffer_append(struct plumb_buffer *buffer, const void *bytes, size_t size);
void plumb_buffer_text(struct plumb_buffer *buffer, const char *text);
void plumb_buffer_printf(struct plumb_buffer *buffer, const char *format, ...)
    PLUMB_PRINTF(2, 3);
void plumb_buffer_fill(struct plumb_buffer *buffer, char byte, size_t count);
/* Makes room for `size` more bytes at the end; NULL on failure. Size is not changed. */
char *plumb_buffer_reserve(struct plumb_buffer *buffer, size_t size);
bool plumb_buffer_failed(const struct plumb_buffer *buffer);
bool plumb_buffer_over_limit(const struct plumb_buffer *buffer);
/* What was written so far; "" if nothing. */
const char *plumb_buffer_string(const struct plumb_buffer *buffer);

#endif
