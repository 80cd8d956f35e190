/*
 * run_config_text.c - the settings of a run for people: what decides the training first, in words instead of JSON.
 *
 * Of many ranks those of the first are shown; `plumb diff` and JSON have them all.
 */
#include "report/run_report.h"

#include "base/json.h"

#include <string.h>

enum { MOST_SETTINGS = 48, LONGEST_VALUE = 100 };

/* By the beginning of the key; the rest comes between these and the last ones. */
static const char *const first_keys[] = {"arguments.", "model.",     "optimizer", "data",
                                         "seed",       "precision.", "parallel.", "capture."};
static const char *const last_keys[] = {"process.", "version.", "environment."};

enum {
    FIRST = sizeof first_keys / sizeof *first_keys,
    LAST = sizeof last_keys / sizeof *last_keys
};

static size_t place_of(const char *key)
{
    for (size_t i = 0; i < FIRST; i++)
        if (strncmp(key, first_keys[i], strlen(first_keys[i])) == 0)
            return i;
    for (size_t i = 0; i < LAST; i++)
        if (strncmp(key, last_keys[i], strlen(last_keys[i])) == 0)
            return FIRST + 1 + i;
    return FIRST;
}

static void write_parsed(const struct plumb_json *value, const char *json,
                         struct plumb_buffer *to)
{
    if (value && value->kind == PLUMB_JSON_STRING)
        plumb_buffer_printf(to, "%.*s%s", LONGEST_VALUE, value->text,
                            value->length > LONGEST_VALUE ? "..." : "");
    else if (value && strlen(json) > LONGEST_VALUE)
        plumb_buffer_printf(to, "(%zu %s)", value->count,
                            value->kind == PLUMB_JSON_OBJECT ? "names"
                            : value->count == 1              ? "entry"
                                                             : "entries");
    else
        plumb_buffer_text(to, json);
}

void plumb_setting_text(const char *json, struct plumb_buffer *to)
{
    struct plumb_arena arena = {0};
    const struct plumb_json *value = NULL;
    const struct plumb_json_source source = {.path = "", .bytes = json, .size = strlen(json)};
    if (plumb_json_parse(&arena, &source, &value, NULL))
        value = NULL;
    write_parsed(value, json, to);
    plumb_arena_release(&arena);
}

void plumb_run_config_text(const struct plumb_run *run, struct plumb_buffer *to)
{
    const size_t count = plumb_run_config_count(run);
    const int rank = count ? plumb_run_config(run, 0)->rank : 0;
    size_t shown = 0, more = 0;
    for (size_t place = 0; place <= FIRST + LAST; place++)
        for (size_t i = 0; i < count; i++) {
            const struct plumb_run_config *config = plumb_run_config(run, i);
            if (config->rank != rank || place_of(config->key) != place)
                continue;
            if (shown == MOST_SETTINGS) {
                more++;
                continue;
            }
            if (shown++ == 0)
                plumb_buffer_text(to, "\n  config\n");
            plumb_buffer_printf(to, "    %s = ", config->key);
            plumb_setting_text(config->json, to);
            plumb_buffer_text(to, "\n");
        }
    if (more)
        plumb_buffer_printf(to, "  and %zu more settings; --json has them all\n", more);
}
