/* pickle_tree.c - questions about a pickle that has been read. */
#include "base/pickle.h"

#include <string.h>

bool plumb_pickle_enter(struct plumb_pickle_node *node)
{
    if (node->entered)
        return false;
    node->entered = true;
    return true;
}

void plumb_pickle_leave(struct plumb_pickle_node *node)
{
    node->entered = false;
}

bool plumb_pickle_is(const struct plumb_pickle_node *node, enum plumb_pickle_kind kind)
{
    return node && node->kind == kind;
}

bool plumb_pickle_is_global(const struct plumb_pickle_node *node, const char *name)
{
    return plumb_pickle_is(node, PLUMB_PICKLE_GLOBAL) && strcmp(node->text, name) == 0;
}

const char *plumb_pickle_callable(const struct plumb_pickle_node *node)
{
    const bool named = plumb_pickle_is(node, PLUMB_PICKLE_CALL) &&
                       node->call->callable->kind == PLUMB_PICKLE_GLOBAL;
    return named ? node->call->callable->text : "";
}

bool plumb_pickle_is_call(const struct plumb_pickle_node *node, const char *name)
{
    return plumb_pickle_is(node, PLUMB_PICKLE_CALL) &&
           plumb_pickle_is_global(node->call->callable, name);
}

struct plumb_pickle_node *plumb_pickle_item(const struct plumb_pickle_node *node, size_t i)
{
    if (!plumb_pickle_is(node, PLUMB_PICKLE_TUPLE) &&
        !plumb_pickle_is(node, PLUMB_PICKLE_LIST) && !plumb_pickle_is(node, PLUMB_PICKLE_SET))
        return NULL;
    return i < node->count ? node->items[i] : NULL;
}

struct plumb_pickle_node *plumb_pickle_argument(const struct plumb_pickle_node *node, size_t i)
{
    return plumb_pickle_is(node, PLUMB_PICKLE_CALL)
               ? plumb_pickle_item(node->call->arguments, i)
               : NULL;
}

bool plumb_pickle_is_mapping(const struct plumb_pickle_node *node)
{
    return plumb_pickle_is(node, PLUMB_PICKLE_DICT) ||
           (plumb_pickle_is(node, PLUMB_PICKLE_CALL) && node->call->mapping);
}

struct plumb_pickle_node *plumb_pickle_find(const struct plumb_pickle_node *node,
                                            const char *key)
{
    if (!plumb_pickle_is_mapping(node))
        return NULL;
    for (uint32_t i = node->count; i >= 2; i -= 2) { /* a later key replaces an earlier one */
        const char *text = plumb_pickle_text(node->items[i - 2]);
        if (text && strcmp(text, key) == 0)
            return node->items[i - 1];
    }
    return NULL;
}

bool plumb_pickle_int(const struct plumb_pickle_node *node, int64_t *value)
{
    if (!plumb_pickle_is(node, PLUMB_PICKLE_INT))
        return false;
    *value = node->integer;
    return true;
}

const char *plumb_pickle_text(const struct plumb_pickle_node *node)
{
    return plumb_pickle_is(node, PLUMB_PICKLE_STRING) ? node->text : NULL;
}
