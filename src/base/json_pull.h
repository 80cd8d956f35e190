/*
 * json_pull.h - a JSON text token by token, for files too large to be made a tree of.
 *
 * Memory does not grow with the text. Where the text is cut off or wrong the walk ends with
 * PLUMB_JSON_BROKEN; everything before that was good, and `problem` says what is missing. NaN,
 * Infinity and -Infinity are numbers here, as Python's json module writes them.
 */
#ifndef PLUMB_BASE_JSON_PULL_H
#define PLUMB_BASE_JSON_PULL_H

#include "base/buffer.h"

#include <string.h>

enum { PLUMB_JSON_PULL_DEPTH = 512 };

enum plumb_json_token {
    PLUMB_JSON_TOKEN_END, /* the one value of the text is over */
    PLUMB_JSON_BROKEN,
    PLUMB_JSON_OPEN_OBJECT,
    PLUMB_JSON_CLOSE_OBJECT,
    PLUMB_JSON_OPEN_ARRAY,
    PLUMB_JSON_CLOSE_ARRAY,
    PLUMB_JSON_KEY,
    PLUMB_JSON_TEXT,
    PLUMB_JSON_NUMBER,
    PLUMB_JSON_TRUE,
    PLUMB_JSON_FALSE,
    PLUMB_JSON_NOTHING, /* null */
};

struct plumb_json_pull {
    const char *bytes;
    size_t size, at;
    size_t depth;
    unsigned char is_object[PLUMB_JSON_PULL_DEPTH / 8];
    int state;
    /* The last key, text or number as it stands in the text, without quotes. */
    const char *text;
    size_t length;
    bool escaped;        /* it holds backslashes: plumb_json_pull_unescape() */
    const char *problem; /* what was expected where it is broken */
};

struct plumb_json_pull plumb_json_pull_of(const void *bytes, size_t size);
enum plumb_json_token plumb_json_pull_next(struct plumb_json_pull *pull);
/* Passes over the value that `token` began; false if it is broken. */
bool plumb_json_pull_skip(struct plumb_json_pull *pull, enum plumb_json_token token);
/* Is the last key or text exactly this? */
bool plumb_json_pull_is(const struct plumb_json_pull *pull, const char *text);
/* A key that is kept while its value is read. */
struct plumb_json_key {
    const char *text;
    size_t length;
    bool escaped;
};
struct plumb_json_key plumb_json_pull_key(const struct plumb_json_pull *pull);
/* Inline, because the length of a constant is then known and most keys fail on theirs. */
static inline bool plumb_json_key_is(const struct plumb_json_key *key, const char *text)
{
    return key->length == strlen(text) && memcmp(key->text, text, key->length) == 0;
}
void plumb_json_key_unescape(const struct plumb_json_key *key, struct plumb_buffer *to);
/* The last key or text, appended without its escapes; wrong escapes and NUL become '?'. */
void plumb_json_pull_unescape(const struct plumb_json_pull *pull, struct plumb_buffer *to);
/* The last number; false if it is none after all. */
bool plumb_json_pull_double(const struct plumb_json_pull *pull, double *number);
bool plumb_json_pull_integer(const struct plumb_json_pull *pull, int64_t *integer);

#endif
