/* called_at.c - see called_at.h. */
#include "report/called_at.h"

#include <stdio.h>
#include <string.h>

enum { MOST_STACKS = 8, LABEL_SIZE = 256 };

void plumb_stack_json(struct plumb_json_writer *json, const char *stack)
{
    char line[1024];
    size_t length = 0;
    if (!stack)
        return;
    const char *own = plumb_stack_line(stack, &length);
    (void)snprintf(line, sizeof line, "%.*s", (int)length, own);
    plumb_json_put_key(json, "called_at");
    plumb_json_put_string(json, line);
    plumb_json_put_key(json, "stack");
    plumb_json_open_array(json);
    for (const char *at = stack; *at; at += *at == '\n') {
        at += *at == ' ';
        length = strcspn(at, "\n");
        (void)snprintf(line, sizeof line, "%.*s", (int)length, at);
        plumb_json_put_string(json, line);
        at += length;
    }
    plumb_json_close_array(json);
}

/* ---- the stacks of a table --------------------------------------------------------------------- */

struct place {
    const char *stack;
    char op[LABEL_SIZE]; /* the first that was called there */
    bool others;         /* more were */
};

struct places {
    struct place places[MOST_STACKS];
    size_t count, more;
};

static bool keep_place(void *context, const struct plumb_tensor_record *record)
{
    struct places *places = context;
    size_t i = 0;
    if (!record->stack)
        return true;
    while (i < places->count && places->places[i].stack != record->stack &&
           strcmp(places->places[i].stack, record->stack) != 0) /* of another rank */
        i++;
    if (i == MOST_STACKS) {
        places->more++;
        return true;
    }
    struct place *place = &places->places[i];
    if (i == places->count) {
        places->count++;
        *place = (struct place){.stack = record->stack};
        (void)snprintf(place->op, sizeof place->op, "%s", record->label);
    } else if (strncmp(place->op, record->label, LABEL_SIZE - 1) != 0) {
        place->others = true;
    }
    return true;
}

static void write_place(const struct place *place, struct plumb_buffer *to)
{
    plumb_buffer_printf(to, "\n  %s%s called at\n", place->op,
                        place->others ? " and others" : "");
    for (const char *at = place->stack; *at; at += *at == '\n') {
        const size_t length = strcspn(at, "\n");
        plumb_buffer_printf(to, "    %.*s\n", (int)length, at);
        at += length;
    }
}

enum plumb_status plumb_stacks_text(struct plumb_run *run, const struct plumb_run_query *query,
                                    struct plumb_buffer *to, struct plumb_error *err)
{
    struct places places = {.count = 0};
    const enum plumb_status status =
        plumb_run_visit_records(run, query, keep_place, &places, err);
    for (size_t i = 0; i < places.count && !status; i++)
        write_place(&places.places[i], to);
    if (places.more)
        plumb_buffer_text(to, "\n  and from more places; --json has them all\n");
    return status;
}

/* ---- the first difference ------------------------------------------------------------------------ */

const char *plumb_root_stack(const struct plumb_run_diff *diff,
                             const struct plumb_run_root *root)
{
    const char *stack =
        plumb_run_called_at(diff->b, root->rank, root->step, root->op, root->slot);
    return stack ? stack
                 : plumb_run_called_at(diff->a, root->rank, root->step, root->op, root->slot);
}
