/* run_config.c - see run_config.h. */
#include "compare/run_config.h"

#include "base/error.h"
#include "base/text.h"
#include "compare/run_derived.h"
#include "compare/setting_value.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_RANKS = 64 };

/* Number of an entry among those of its run. */
static void add(struct plumb_config_diff *diff, const struct plumb_settings *of,
                const struct plumb_run_config *one, const struct plumb_run_config *a,
                const struct plumb_run_config *b)
{
    const size_t entry = (size_t)(one - plumb_run_config(of->run, 0));
    const bool acts = of->acts[entry] < PLUMB_STAGE_COUNT;
    diff->settings[diff->count++] = (struct plumb_setting_diff){
        .name = of->names[entry],
        .key_a = a ? a->key : NULL,
        .key_b = b ? b->key : NULL,
        .a = a ? a->json : NULL,
        .b = b ? b->json : NULL,
        .rank = one->rank,
        /* What only one side says may be the other's default. */
        .numeric = a && b && acts,
        .acts = acts ? (enum plumb_stage)of->acts[entry] : PLUMB_STAGE_CONFIG,
    };
}

/* Those of A, with B's where it has them; then those that B alone has. */
static void compare_entries(struct plumb_config_diff *diff, const struct plumb_settings *a,
                            const struct plumb_settings *b)
{
    for (size_t i = 0; i < plumb_run_config_count(a->run); i++) {
        const struct plumb_run_config *x = plumb_run_config(a->run, i);
        if (plumb_settings_find(a, x->rank, a->names[i]) != x)
            continue; /* another name of what came before */
        const struct plumb_run_config *y = plumb_settings_find(b, x->rank, a->names[i]);
        diff->compared += y != NULL;
        if (!y || !plumb_setting_same(a->names[i], x->json, y->json))
            add(diff, a, x, x, y);
    }
    for (size_t i = 0; i < plumb_run_config_count(b->run); i++) {
        const struct plumb_run_config *y = plumb_run_config(b->run, i);
        if (plumb_settings_find(b, y->rank, b->names[i]) == y &&
            !plumb_settings_find(a, y->rank, b->names[i]))
            add(diff, b, y, NULL, y);
    }
}

static int numeric_first(const void *x, const void *y)
{
    const struct plumb_setting_diff *a = x, *b = y;
    if (a->numeric != b->numeric)
        return a->numeric ? -1 : 1;
    if (a->derived != b->derived)
        return a->derived ? -1 : 1;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return strcmp(a->name, b->name);
}

/* What the settings of each rank amount to, where they are not the same. */
static enum plumb_status compare_derived(struct plumb_config_diff *diff,
                                         const struct plumb_settings *a,
                                         const struct plumb_settings *b,
                                         struct plumb_arena *arena, struct plumb_error *err)
{
    enum plumb_status status = PLUMB_OK;
    const size_t written = diff->count;
    for (size_t i = 0; i < plumb_run_rank_count(a->run) && i < MOST_RANKS && !status; i++) {
        const int rank = plumb_run_rank(a->run, i)->rank;
        bool differ = false;
        for (size_t k = 0; k < written && !differ; k++)
            differ = diff->settings[k].rank == rank;
        if (differ)
            status = plumb_derived_compare(arena, a, b, rank, diff, err);
    }
    return status;
}

enum plumb_status plumb_config_compare(struct plumb_arena *arena, struct plumb_run *a,
                                       struct plumb_run *b, struct plumb_config_diff *diff,
                                       struct plumb_error *err)
{
    *diff = (struct plumb_config_diff){0};
    const size_t most = plumb_run_config_count(a) + plumb_run_config_count(b) +
                        (size_t)MOST_RANKS * PLUMB_DERIVED_MOST;
    diff->settings = plumb_arena_alloc(arena, most, sizeof *diff->settings);
    enum plumb_status status = diff->settings ? PLUMB_OK : plumb_fail_memory(err);
    if (!status)
        status = plumb_settings_open(&diff->of_a, a, err);
    if (!status)
        status = plumb_settings_open(&diff->of_b, b, err);
    if (!status) {
        compare_entries(diff, &diff->of_a, &diff->of_b);
        status = compare_derived(diff, &diff->of_a, &diff->of_b, arena, err);
    }
    if (!status && diff->count)
        qsort(diff->settings, diff->count, sizeof *diff->settings, numeric_first);
    for (size_t i = 0; i < diff->count; i++)
        diff->numeric += diff->settings[i].numeric;
    return status;
}

void plumb_config_excuse(struct plumb_config_diff *diff, const char *pattern)
{
    for (size_t i = 0; i < diff->count; i++)
        if (plumb_text_matches(pattern, diff->settings[i].name))
            diff->settings[i].numeric = false;
    if (diff->count)
        qsort(diff->settings, diff->count, sizeof *diff->settings, numeric_first);
    diff->numeric = 0;
    for (size_t i = 0; i < diff->count; i++)
        diff->numeric += diff->settings[i].numeric;
}

void plumb_config_release(struct plumb_config_diff *diff)
{
    plumb_settings_release(&diff->of_a);
    plumb_settings_release(&diff->of_b);
}

/* A seed and a batch size decide over data, weights and chance. */
static bool acts_on(const struct plumb_setting_diff *setting, enum plumb_stage stage)
{
    if (!setting->numeric)
        return false;
    if (setting->acts == stage)
        return true;
    if (strcmp(setting->name, "seed") == 0)
        return stage <= PLUMB_STAGE_FORWARD;
    const bool precision = strcmp(setting->name, "type of computation") == 0 ||
                           strcmp(setting->name, "operators compute in") == 0 ||
                           strcmp(setting->name, "type of sums") == 0 ||
                           strcmp(setting->name, "rounding") == 0;
    return precision && stage >= PLUMB_STAGE_WEIGHTS;
}

/* Is the op in the layer whose setting it is? Without an op, any may be meant. */
static bool is_of_layer(const struct plumb_setting_diff *setting, const char *op)
{
    const char *module = plumb_settings_module(setting->name);
    const size_t length = module ? strlen(module) : 0;
    return !length || !op || (plumb_text_starts(op, module) && op[length] == '.');
}

/* One that somebody wrote is a better answer than what it amounts to, one of this rank than another's. */
const struct plumb_setting_diff *plumb_config_find(const struct plumb_config_diff *diff,
                                                   enum plumb_stage stage, int rank,
                                                   const char *op)
{
    const struct plumb_setting_diff *best = NULL;
    int most = -1;
    for (size_t i = 0; i < diff->numeric; i++) {
        const struct plumb_setting_diff *setting = &diff->settings[i];
        const bool known_layer = op && plumb_settings_module(setting->name);
        const int worth = 4 * known_layer + 2 * (setting->rank == rank) + !setting->derived;
        if (acts_on(setting, stage) && is_of_layer(setting, op) && worth > most) {
            most = worth;
            best = setting;
        }
    }
    return best;
}

/* ---- words ------------------------------------------------------------------------------------- */

/* A JSON string without its quotes, if nothing in it is escaped. */
static const char *unquoted(struct plumb_arena *arena, const char *json)
{
    const size_t length = strlen(json);
    const bool plain =
        length >= 2 && json[0] == '"' && json[length - 1] == '"' && !strchr(json, '\\');
    return plain ? plumb_arena_text(arena, json + 1, length - 2) : json;
}

const char *plumb_setting_sentence(struct plumb_arena *arena,
                                   const struct plumb_setting_diff *setting)
{
    const char *module = plumb_settings_module(setting->name);
    const char *a = unquoted(arena, setting->a), *b = unquoted(arena, setting->b);
    if (!a || !b)
        return NULL;
    if (module)
        return plumb_arena_printf(arena, "layer %s is %s in A and %s in B", module, a, b);
    const char *key = setting->key_b ? setting->key_b : setting->key_a;
    if (setting->derived || !key || strcasecmp(key, setting->name) == 0)
        return plumb_arena_printf(arena, "%s is %s in A and %s in B", setting->name, a, b);
    return plumb_arena_printf(arena, "%s (%s) is %s in A and %s in B", setting->name, key, a,
                              b);
}
