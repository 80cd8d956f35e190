/* plan_command.c - the command lines that record what a plan wants. */
#include "compare/plan_capture.h"

#include "base/buffer.h"
#include "base/json.h"
#include "base/text.h"

#include <string.h>

/* The string that a JSON value is; NULL if it is none. */
static const char *string_of(struct plumb_plan *plan, const char *json)
{
    const struct plumb_json_source source = {.path = "", .bytes = json, .size = strlen(json)};
    const struct plumb_json *root = NULL;
    return plumb_json_parse(&plan->arena, &source, &root, NULL) == PLUMB_OK
               ? plumb_json_string(root)
               : NULL;
}

static const char *note_of(struct plumb_plan *plan, const struct plumb_run *run,
                           const char *key)
{
    for (size_t i = 0; i < plumb_run_note_count(run); i++)
        if (strcmp(plumb_run_note(run, i)->key, key) == 0)
            return string_of(plan, plumb_run_note(run, i)->json);
    return NULL;
}

/* What `plumb run` started, launcher and all; else what the process says of itself. */
static const char *command_of(struct plumb_plan *plan, const struct plumb_run *run)
{
    for (size_t i = 0; i < plumb_run_config_count(run); i++)
        if (strcmp(plumb_run_config(run, i)->key, "capture.command") == 0)
            return string_of(plan, plumb_run_config(run, i)->json);
    const char *said = note_of(plan, run, "command_line");
    return said && *said ? said : NULL;
}

static bool is_recorded_from_outside(struct plumb_plan *plan, const struct plumb_run *run)
{
    const char *framework = note_of(plan, run, "framework");
    return !framework || plumb_text_starts(framework, "torch") ||
           plumb_text_starts(framework, "mindspore");
}

static const char *place_of(struct plumb_plan *plan, const struct plumb_run *run)
{
    const char *path = plumb_run_path(run);
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        length--;
    return plumb_arena_printf(&plan->arena, "%.*s-%s-%s", (int)length, path, plan->level,
                              plan->save);
}

static const char *line_of(struct plumb_plan *plan, const struct plumb_run *run,
                           const char *place)
{
    const char *command = command_of(plan, run);
    if (!command || !is_recorded_from_outside(plan, run)) {
        plan->remark = command ? "a program that records itself: give its recorder these "
                                 "options"
                               : "put your own command in the place of COMMAND";
        command = command ? command : "COMMAND";
    }
    struct plumb_buffer text;
    plumb_buffer_init(&text, 1 << 20);
    plumb_buffer_printf(&text, "plumb run --level %s --save %s", plan->level, plan->save);
    if (strcmp(plan->level, "watch") != 0)
        plumb_buffer_printf(&text, " --steps %s", plan->steps);
    if (plan->ops)
        plumb_buffer_printf(&text, " --ops '%s'", plan->ops);
    if (plan->ranks)
        plumb_buffer_printf(&text, " --ranks %s", plan->ranks);
    plumb_buffer_printf(&text, " --out %s -- %s", place, command);
    const char *kept = plumb_buffer_failed(&text)
                           ? NULL
                           : plumb_arena_text(&plan->arena, text.data, text.size);
    plumb_buffer_release(&text);
    return kept;
}

bool plumb_plan_commands(struct plumb_plan *plan)
{
    const char *a = place_of(plan, plan->diff->a), *b = place_of(plan, plan->diff->b);
    if (!a || !b)
        return false;
    plan->command_a = line_of(plan, plan->diff->a, a);
    plan->command_b = line_of(plan, plan->diff->b, b);
    plan->then = plumb_arena_printf(&plan->arena, "plumb plan-capture %s %s", a, b);
    return plan->command_a && plan->command_b && plan->then;
}
