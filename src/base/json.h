/*
 * json.h - a JSON text as a tree in an arena.
 *
 * For headers, indexes and configuration: things a program reads whole. The parser is strict
 * (RFC 8259), bounded in depth and nodes, and names the byte where it stopped.
 */
#ifndef PLUMB_BASE_JSON_H
#define PLUMB_BASE_JSON_H

#include "base/arena.h"

enum {
    PLUMB_JSON_MAX_DEPTH = 64,
    PLUMB_JSON_MAX_NODES = 4 << 20,
};

enum plumb_json_kind {
    PLUMB_JSON_NULL,
    PLUMB_JSON_BOOL,
    PLUMB_JSON_INT,    /* digits only, and fits int64 */
    PLUMB_JSON_DOUBLE, /* any other number; `text` has its digits */
    PLUMB_JSON_STRING,
    PLUMB_JSON_ARRAY,
    PLUMB_JSON_OBJECT,
};

struct plumb_json {
    enum plumb_json_kind kind;
    bool boolean;
    const char *key;  /* of this member in its object, else NULL */
    const char *text; /* string: unescaped UTF-8 without NUL; number: as it was written */
    size_t length;    /* of text */
    union {
        int64_t integer;
        double number;
    } value;
    size_t count;                   /* of children */
    const struct plumb_json *first; /* child, in the order of the text; duplicates are kept */
    const struct plumb_json *next;  /* sibling */
    size_t offset;                  /* byte in the file */
};

struct plumb_json_source {
    const char *path; /* for messages */
    const void *bytes;
    size_t size;
    size_t offset;  /* of `bytes` in the file, for messages */
    bool allow_nan; /* NaN, Infinity and -Infinity, as Python's json module writes them */
};

enum plumb_status plumb_json_parse(struct plumb_arena *arena,
                                   const struct plumb_json_source *source,
                                   const struct plumb_json **root, struct plumb_error *err);

/* The first member of that name; NULL if there is none or `object` is NULL or not an object. */
const struct plumb_json *plumb_json_get(const struct plumb_json *object, const char *key);
/* The text of a string; NULL for anything else, NULL included. */
const char *plumb_json_string(const struct plumb_json *value);
/* False if `value` is NULL or not an integer that fits. */
bool plumb_json_integer(const struct plumb_json *value, int64_t *integer);
/* Any number as a double; false if `value` is NULL or none. */
bool plumb_json_number(const struct plumb_json *value, double *number);
/* The first member whose key an earlier one has, NULL in *duplicate if there is none. */
enum plumb_status plumb_json_find_duplicate(const struct plumb_json *object,
                                            const struct plumb_json **duplicate,
                                            struct plumb_error *err);

#endif
