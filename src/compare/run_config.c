/* run_config.c - see run_config.h; the names are in run_settings.def. */
#include "compare/run_config.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/table.h"
#include "base/text.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_SIZE = 256, VALUE_SIZE = 512, ACTS_PLAIN = PLUMB_STAGE_COUNT };

static const struct setting {
    const char *name;
    int acts;
    const char *aliases;
} settings[] = {
#define ACTS_DATA PLUMB_STAGE_DATA
#define ACTS_WEIGHTS PLUMB_STAGE_WEIGHTS
#define ACTS_FORWARD PLUMB_STAGE_FORWARD
#define ACTS_BACKWARD PLUMB_STAGE_BACKWARD
#define ACTS_REDUCE PLUMB_STAGE_REDUCE
#define ACTS_UPDATE PLUMB_STAGE_UPDATE
#define SETTING(name, acts, aliases) {name, ACTS_##acts, aliases},
#include "compare/run_settings.def"
#undef SETTING
};

/* ---- names ------------------------------------------------------------------------------------- */

static void plain_key(const char *key, char plain[KEY_SIZE])
{
    size_t length = 0;
    for (; *key && length + 1 < KEY_SIZE; key++)
        plain[length++] = *key == '-' || *key == ' ' ? '_'
                          : *key == '/'              ? '.'
                                                     : (char)tolower((unsigned char)*key);
    plain[length] = '\0';
}

/* By the whole key, else by ever shorter ends of it: "args.optimizer.lr", "optimizer.lr", "lr". */
static const struct setting *find_setting(const char *key)
{
    char plain[KEY_SIZE];
    plain_key(key, plain);
    for (const char *end = plain; end; end = strchr(end, '.') ? strchr(end, '.') + 1 : NULL)
        for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
            if (plumb_text_has_word(settings[i].aliases, end))
                return &settings[i];
    return NULL;
}

/* ---- values ------------------------------------------------------------------------------------ */

static bool as_number(const char *json, double *number)
{
    char text[VALUE_SIZE];
    const size_t length = strlen(json);
    const bool quoted = length >= 2 && json[0] == '"' && json[length - 1] == '"';
    if (length >= sizeof text)
        return false;
    (void)snprintf(text, sizeof text, "%.*s", (int)(length - (quoted ? 2 : 0)),
                   json + (quoted ? 1 : 0));
    if (strcasecmp(text, "true") == 0 || strcasecmp(text, "false") == 0) {
        *number = tolower((unsigned char)text[0]) == 't';
        return true;
    }
    char *end;
    *number = strtod(text, &end);
    return end != text && *end == '\0';
}

/* "torch.bfloat16" is bf16, whatever it is called. */
static bool as_dtype(const char *json, enum plumb_dtype *dtype)
{
    char text[64];
    const char *dot = strrchr(json, '.'), *from = dot ? dot + 1 : json + (*json == '"');
    (void)snprintf(text, sizeof text, "%.*s", (int)strcspn(from, "\""), from);
    return plumb_dtype_from_name(text, dtype);
}

static bool same_value(const char *a, const char *b)
{
    double x, y;
    enum plumb_dtype of_a, of_b;
    if (as_number(a, &x) && as_number(b, &y))
        return x == y || fabs(x - y) <= 1e-12 * fabs(x);
    if (as_dtype(a, &of_a) && as_dtype(b, &of_b))
        return of_a == of_b;
    return strcasecmp(a, b) == 0;
}

/* ---- one rank's settings ------------------------------------------------------------------------ */

/* Is this entry the first of its setting on its rank? Later ones are other names of it. */
static char *key_of(struct plumb_arena *arena, const struct plumb_run_config *config)
{
    const struct setting *setting = find_setting(config->key);
    char plain[KEY_SIZE];
    plain_key(config->key, plain);
    return plumb_arena_printf(arena, "%d %s", config->rank, setting ? setting->name : plain);
}

static enum plumb_status index_settings(struct plumb_arena *arena, const struct plumb_run *run,
                                        struct plumb_table *table, struct plumb_error *err)
{
    for (size_t i = 0; i < plumb_run_config_count(run); i++) {
        char *key = key_of(arena, plumb_run_config(run, i));
        if (!key || !plumb_table_put(table, key, i))
            return plumb_fail_memory(err);
    }
    return PLUMB_OK;
}

struct comparing {
    struct plumb_arena *arena;
    struct plumb_config_diff *diff;
    size_t capacity;
    struct plumb_setting_diff *settings;
};

static bool add(struct comparing *comparing, const struct plumb_run_config *a,
                const struct plumb_run_config *b)
{
    struct plumb_config_diff *diff = comparing->diff;
    const struct plumb_run_config *one = a ? a : b;
    const struct setting *setting = find_setting(one->key);
    const bool both = a && b;
    diff->settings[diff->count++] = (struct plumb_setting_diff){
        .name = setting ? setting->name : one->key,
        .key_a = a ? a->key : NULL,
        .key_b = b ? b->key : NULL,
        .a = a ? a->json : NULL,
        .b = b ? b->json : NULL,
        .rank = one->rank,
        /* What only one side says may be the other's default. */
        .numeric = both && setting && setting->acts != ACTS_PLAIN,
        .acts = setting && setting->acts != ACTS_PLAIN ? (enum plumb_stage)setting->acts
                                                       : PLUMB_STAGE_CONFIG,
    };
    return true;
}

static enum plumb_status compare_tables(struct comparing *comparing, struct plumb_run *a,
                                        struct plumb_run *b, const struct plumb_table *in_a,
                                        const struct plumb_table *in_b, struct plumb_error *err)
{
    for (size_t i = 0; i < plumb_run_config_count(a); i++) {
        const struct plumb_run_config *x = plumb_run_config(a, i);
        size_t at = 0, own = 0;
        char *key = key_of(comparing->arena, x);
        if (!key)
            return plumb_fail_memory(err);
        if (!plumb_table_get(in_a, key, &own) || own != i)
            continue;
        const bool found = plumb_table_get(in_b, key, &at);
        const struct plumb_run_config *y = found ? plumb_run_config(b, at) : NULL;
        comparing->diff->compared += found;
        if (!found || !same_value(x->json, y->json))
            add(comparing, x, y);
    }
    for (size_t i = 0; i < plumb_run_config_count(b); i++) {
        size_t at = 0, own = 0;
        char *key = key_of(comparing->arena, plumb_run_config(b, i));
        if (!key)
            return plumb_fail_memory(err);
        if (plumb_table_get(in_b, key, &own) && own == i && !plumb_table_get(in_a, key, &at))
            add(comparing, NULL, plumb_run_config(b, i));
    }
    return PLUMB_OK;
}

static int numeric_first(const void *x, const void *y)
{
    const struct plumb_setting_diff *a = x, *b = y;
    if (a->numeric != b->numeric)
        return a->numeric ? -1 : 1;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return strcmp(a->name, b->name);
}

enum plumb_status plumb_config_compare(struct plumb_arena *arena, struct plumb_run *a,
                                       struct plumb_run *b, struct plumb_config_diff *diff,
                                       struct plumb_error *err)
{
    struct plumb_table in_a = {0}, in_b = {0};
    struct plumb_arena keys = {0};
    *diff = (struct plumb_config_diff){0};
    diff->settings =
        plumb_arena_alloc(arena, plumb_run_config_count(a) + plumb_run_config_count(b) + 1,
                          sizeof *diff->settings);
    enum plumb_status status = diff->settings ? PLUMB_OK : plumb_fail_memory(err);
    struct comparing comparing = {.arena = &keys, .diff = diff};
    if (!status)
        status = index_settings(&keys, a, &in_a, err);
    if (!status)
        status = index_settings(&keys, b, &in_b, err);
    if (!status)
        status = compare_tables(&comparing, a, b, &in_a, &in_b, err);
    if (!status && diff->count)
        qsort(diff->settings, diff->count, sizeof *diff->settings, numeric_first);
    for (size_t i = 0; i < diff->count; i++)
        diff->numeric += diff->settings[i].numeric;
    plumb_table_release(&in_b);
    plumb_table_release(&in_a);
    plumb_arena_release(&keys);
    return status;
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
                           strcmp(setting->name, "type of sums") == 0 ||
                           strcmp(setting->name, "rounding") == 0;
    return precision && stage >= PLUMB_STAGE_WEIGHTS;
}

const struct plumb_setting_diff *plumb_config_find(const struct plumb_config_diff *diff,
                                                   enum plumb_stage stage, int rank)
{
    const struct plumb_setting_diff *elsewhere = NULL;
    for (size_t i = 0; i < diff->numeric; i++) {
        if (!acts_on(&diff->settings[i], stage))
            continue;
        if (diff->settings[i].rank == rank)
            return &diff->settings[i];
        if (!elsewhere)
            elsewhere = &diff->settings[i];
    }
    return elsewhere;
}

bool plumb_config_number(const struct plumb_run *run, int rank, const char *name,
                         double *number)
{
    for (size_t i = 0; i < plumb_run_config_count(run); i++) {
        const struct plumb_run_config *config = plumb_run_config(run, i);
        const struct setting *setting =
            rank < 0 || config->rank == rank ? find_setting(config->key) : NULL;
        if (setting && strcmp(setting->name, name) == 0 && as_number(config->json, number))
            return true;
    }
    return false;
}
