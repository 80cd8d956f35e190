/*
 * msprobe_names.h - what msprobe's name of an operation says, and where construct.json puts it.
 *
 *     Functional.conv2d.12.forward          the 13th conv2d of the step
 *     Module.layer1.0.conv1.Conv2d.backward.0   module layer1.0.conv1, of class Conv2d
 *     Module.fc.Linear.parameters_grad.0    (older: without the number)
 *     attention_scores.3.debug              saved by the program under a name of its own
 */
#ifndef PLUMB_FORMAT_MSPROBE_NAMES_H
#define PLUMB_FORMAT_MSPROBE_NAMES_H

#include "base/arena.h"
#include "base/table.h"

enum plumb_msprobe_kind {
    PLUMB_MSPROBE_API,
    PLUMB_MSPROBE_MODULE,
    PLUMB_MSPROBE_PARAMETERS_GRAD,
    PLUMB_MSPROBE_DEBUG,
    PLUMB_MSPROBE_OTHER, /* none of these: the whole name is the op */
};

/* A stretch of the name. */
struct plumb_msprobe_span {
    const char *text;
    size_t length;
};

struct plumb_msprobe_name {
    enum plumb_msprobe_kind kind;
    struct plumb_msprobe_span module, op;
    int call;
    bool backward;
    bool collective;
};

struct plumb_msprobe_name plumb_msprobe_name_parse(const char *name);

/* Where the operations of a step belong. With construct.json an API belongs to the module that
 * called it, and its calls are counted there, so that one more call elsewhere shifts nothing. */
struct plumb_msprobe_places {
    struct plumb_arena arena;
    struct plumb_table parents; /* name of an operation to its parent in `names` */
    const char **names;
    size_t count, capacity;
    struct plumb_table calls;  /* "module op.12" to the call in that module */
    struct plumb_table counts; /* "module op" to the calls so far */
    bool broken;               /* construct.json ended early */
};

struct plumb_msprobe_place {
    char module[1024], op[256];
    int call;
};

/* An absent file leaves it empty; a broken one is read as far as it goes. */
enum plumb_status plumb_msprobe_places_read(struct plumb_msprobe_places *places,
                                            const char *construct_path,
                                            struct plumb_error *err);
void plumb_msprobe_places_release(struct plumb_msprobe_places *places);
/* False when out of memory. */
bool plumb_msprobe_place_of(struct plumb_msprobe_places *places, const char *name,
                            const struct plumb_msprobe_name *parsed,
                            struct plumb_msprobe_place *place);

#endif
