/* buffer.c - growable bytes with a limit; see buffer.h. */
#include "base/buffer.h"

#include "base/memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void plumb_buffer_init(struct plumb_buffer *buffer, size_t limit)
{
    *buffer = (struct plumb_buffer){.limit = limit};
}

void plumb_buffer_release(struct plumb_buffer *buffer)
{
    plumb_free(buffer->data);
    *buffer = (struct plumb_buffer){.limit = buffer->limit};
}

void plumb_buffer_clear(struct plumb_buffer *buffer)
{
    buffer->size = 0;
    if (buffer->data)
        buffer->data[0] = '\0';
}

char *plumb_buffer_reserve(struct plumb_buffer *buffer, size_t size)
{
    if (buffer->failed)
        return NULL;
    if (size > buffer->limit - buffer->size) {
        buffer->failed = buffer->over_limit = true;
        return NULL;
    }
    const size_t need = buffer->size + size + 1;
    if (need > buffer->capacity) {
        size_t capacity = buffer->capacity ? buffer->capacity * 2 : 256;
        if (capacity < need)
            capacity = need;
        char *data = plumb_realloc_array(buffer->data, capacity, 1);
        if (!data) {
            buffer->failed = true;
            return NULL;
        }
        buffer->data = data;
        buffer->capacity = capacity;
    }
    return buffer->data + buffer->size;
}

void plumb_buffer_append(struct plumb_buffer *buffer, const void *bytes, size_t size)
{
    char *end = plumb_buffer_reserve(buffer, size);
    if (!end)
        return;
    if (size)
        memcpy(end, bytes, size);
    buffer->size += size;
    buffer->data[buffer->size] = '\0';
}

void plumb_buffer_text(struct plumb_buffer *buffer, const char *text)
{
    plumb_buffer_append(buffer, text, strlen(text));
}

void plumb_buffer_printf(struct plumb_buffer *buffer, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    const int length = vsnprintf(NULL, 0, format, args);
    char *end = length < 0 ? NULL : plumb_buffer_reserve(buffer, (size_t)length);
    if (end) {
        (void)vsnprintf(end, (size_t)length + 1, format, again);
        buffer->size += (size_t)length;
    }
    va_end(again);
    va_end(args);
}

void plumb_buffer_fill(struct plumb_buffer *buffer, char byte, size_t count)
{
    char *end = plumb_buffer_reserve(buffer, count);
    if (!end)
        return;
    memset(end, byte, count);
    buffer->size += count;
    buffer->data[buffer->size] = '\0';
}

bool plumb_buffer_over_limit(const struct plumb_buffer *buffer)
{
    return buffer->over_limit;
}

bool plumb_buffer_failed(const struct plumb_buffer *buffer)
{
    return buffer->failed;
}

const char *plumb_buffer_string(const struct plumb_buffer *buffer)
{
    return buffer->data ? buffer->data : "";
}
