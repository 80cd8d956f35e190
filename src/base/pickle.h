/*
 * pickle.h - reads Python pickles without Python: nothing is imported, nothing is called.
 *
 * A pickle is a program for a small stack machine. This one builds a tree of what the program
 * describes: a global stays the text "module.name", a call stays a callable with arguments.
 * So a hostile pickle can at worst be refused. A node that the pickle mentions twice is one
 * node with two parents, and a list can hold itself: walk with plumb_pickle_enter().
 */
#ifndef PLUMB_BASE_PICKLE_H
#define PLUMB_BASE_PICKLE_H

#include "base/arena.h"

enum plumb_pickle_kind {
    PLUMB_PICKLE_NONE,
    PLUMB_PICKLE_BOOL,
    PLUMB_PICKLE_INT,
    PLUMB_PICKLE_BIG, /* an integer beyond 64 bits: `text` holds its decimal digits */
    PLUMB_PICKLE_FLOAT,
    PLUMB_PICKLE_STRING,
    PLUMB_PICKLE_BYTES,
    PLUMB_PICKLE_TUPLE,
    PLUMB_PICKLE_LIST,
    PLUMB_PICKLE_DICT, /* items are key, value, key, value ... */
    PLUMB_PICKLE_SET,
    PLUMB_PICKLE_GLOBAL,     /* `text` is "module.name" */
    PLUMB_PICKLE_CALL,       /* an object: how it would be made, and what it would be given */
    PLUMB_PICKLE_PERSISTENT, /* a reference to outside; items[0] says to what */
};

struct plumb_pickle_node;

struct plumb_pickle_call {
    struct plumb_pickle_node *callable;
    struct plumb_pickle_node *arguments; /* usually a tuple */
    struct plumb_pickle_node *state;     /* what BUILD gave it, or NULL */
    bool mapping; /* the object's items are key, value, ... as in a dict */
};

struct plumb_pickle_node {
    enum plumb_pickle_kind kind;
    bool entered; /* see plumb_pickle_enter() */
    uint32_t count, capacity;
    size_t at; /* byte of the pickle that made it */
    union {
        bool truth;
        int64_t integer;
        double real;
        const char *text; /* ends with NUL, except of BYTES, which lie in the source */
        struct plumb_pickle_node **items;
    };
    union {
        size_t length; /* of `text` */
        struct plumb_pickle_call *call;
    };
};

struct plumb_pickle_source {
    const char *label; /* what messages call it: the path of a file */
    const void *bytes; /* must outlive the tree */
    size_t size;
    uint64_t offset; /* of bytes[0] in the file, for messages */
};

struct plumb_pickle {
    struct plumb_pickle_node *root;
    struct plumb_pickle_node *references; /* a list of all PERSISTENT nodes */
    size_t used;                          /* bytes up to and with its end */
};

/* Reads one pickle. Nodes are allocated in `arena`, whose limit bounds what it may ask for. */
enum plumb_status plumb_pickle_read(const struct plumb_pickle_source *source,
                                    struct plumb_arena *arena, struct plumb_pickle *pickle,
                                    struct plumb_error *err);

/* Marks a node as being walked; false if it is already (it contains itself). Leave again. */
bool plumb_pickle_enter(struct plumb_pickle_node *node);
void plumb_pickle_leave(struct plumb_pickle_node *node);

/* All of these take NULL for a node and say no. */
bool plumb_pickle_is(const struct plumb_pickle_node *node, enum plumb_pickle_kind kind);
bool plumb_pickle_is_global(const struct plumb_pickle_node *node, const char *name);
/* True for a call of that global. */
bool plumb_pickle_is_call(const struct plumb_pickle_node *node, const char *name);
/* The name of what is called, or "" if it is not a global. */
const char *plumb_pickle_callable(const struct plumb_pickle_node *node);
/* Item of a tuple, list or set, argument of a call; NULL if there is none. */
struct plumb_pickle_node *plumb_pickle_item(const struct plumb_pickle_node *node, size_t i);
struct plumb_pickle_node *plumb_pickle_argument(const struct plumb_pickle_node *node, size_t i);
/* Value of a dict (or an object that is one, as OrderedDict) by a string key; or NULL. */
struct plumb_pickle_node *plumb_pickle_find(const struct plumb_pickle_node *node,
                                            const char *key);
/* True if the node's items are pairs. */
bool plumb_pickle_is_mapping(const struct plumb_pickle_node *node);
bool plumb_pickle_int(const struct plumb_pickle_node *node, int64_t *value);
/* The text of a string, or NULL. */
const char *plumb_pickle_text(const struct plumb_pickle_node *node);

#endif
