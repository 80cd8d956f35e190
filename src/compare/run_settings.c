/* run_settings.c - see run_settings.h. */
#include "compare/run_settings.h"

#include "base/error.h"
#include "compare/setting_value.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { KEY_SIZE = 256, ACTS_PLAIN = PLUMB_STAGE_COUNT };

static const struct setting {
    const char *name;
    unsigned char acts;
    const char *aliases;
} known[] = {
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

/* Alias -> number of its setting. */
static bool index_aliases(struct plumb_arena *arena, struct plumb_table *aliases)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        for (const char *word = known[i].aliases; *word;) {
            const size_t length = strcspn(word, " ");
            const char *copy = plumb_arena_text(arena, word, length);
            if (!copy || !plumb_table_put(aliases, copy, i))
                return false;
            word += length + (word[length] == ' ');
        }
    return true;
}

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
static const struct setting *find_setting(const struct plumb_table *aliases, const char *plain)
{
    size_t number;
    for (const char *end = plain; end; end = strchr(end, '.') ? strchr(end, '.') + 1 : NULL)
        if (plumb_table_get(aliases, end, &number))
            return &known[number];
    return NULL;
}

const char *plumb_settings_module(const char *name)
{
    static const char mark[] = ".module:";
    const char *found = strstr(name, mark);
    return found ? found + strlen(mark) : NULL;
}

static bool add_entry(struct plumb_settings *settings, const struct plumb_table *aliases,
                      size_t i)
{
    const struct plumb_run_config *config = plumb_run_config(settings->run, i);
    char plain[KEY_SIZE];
    plain_key(config->key, plain);
    const bool of_module = plumb_settings_module(config->key) != NULL;
    const struct setting *setting = of_module ? NULL : find_setting(aliases, plain);
    settings->acts[i] = setting ? setting->acts : of_module ? PLUMB_STAGE_FORWARD : ACTS_PLAIN;
    settings->names[i] = setting     ? setting->name
                         : of_module ? config->key
                                     : plumb_arena_text(&settings->arena, plain, strlen(plain));
    if (!settings->names[i])
        return false;
    const char *place =
        plumb_arena_printf(&settings->arena, "%d %s", config->rank, settings->names[i]);
    size_t first;
    return place && (plumb_table_get(&settings->places, place, &first) ||
                     plumb_table_put(&settings->places, place, i));
}

enum plumb_status plumb_settings_open(struct plumb_settings *settings,
                                      const struct plumb_run *run, struct plumb_error *err)
{
    struct plumb_table aliases = {0};
    const size_t count = plumb_run_config_count(run);
    *settings = (struct plumb_settings){.run = run};
    settings->names = plumb_arena_alloc(&settings->arena, count + 1, sizeof *settings->names);
    settings->acts = plumb_arena_alloc(&settings->arena, count + 1, sizeof *settings->acts);
    bool made = settings->names && settings->acts && index_aliases(&settings->arena, &aliases);
    for (size_t i = 0; i < count && made; i++)
        made = add_entry(settings, &aliases, i);
    plumb_table_release(&aliases);
    if (made)
        return PLUMB_OK;
    plumb_settings_release(settings);
    return plumb_fail_memory(err);
}

void plumb_settings_release(struct plumb_settings *settings)
{
    plumb_table_release(&settings->places);
    plumb_arena_release(&settings->arena);
    *settings = (struct plumb_settings){0};
}

const struct plumb_run_config *plumb_settings_find(const struct plumb_settings *settings,
                                                   int rank, const char *name)
{
    char place[KEY_SIZE + 16];
    size_t number;
    if (rank < 0) {
        const struct plumb_run_config *found = NULL;
        for (size_t i = 0; i < plumb_run_rank_count(settings->run) && !found; i++)
            found = plumb_settings_find(settings, plumb_run_rank(settings->run, i)->rank, name);
        return found;
    }
    (void)snprintf(place, sizeof place, "%d %s", rank, name);
    return plumb_table_get(&settings->places, place, &number)
               ? plumb_run_config(settings->run, number)
               : NULL;
}

const char *plumb_settings_text(const struct plumb_settings *settings, int rank,
                                const char *name)
{
    const struct plumb_run_config *config = plumb_settings_find(settings, rank, name);
    return config ? config->json : NULL;
}

bool plumb_settings_number(const struct plumb_settings *settings, int rank, const char *name,
                           double *number)
{
    const char *text = plumb_settings_text(settings, rank, name);
    return text && plumb_setting_number(text, number);
}
