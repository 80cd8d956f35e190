/* run_module_settings.c - see run_module_settings.h. Runs hold them as the setting model.settings. */
#include "compare/run_module_settings.h"

#include "base/json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { PATH_SIZE = 512, WORDS_SIZE = 400 };

/* Names that frameworks have for one setting; some say the opposite share. */
static const struct other_name {
    const char *name, *usual;
    bool complement;
} other_names[] = {
    {"epsilon", "eps", false},
    {"keep_prob", "p", true},
    {"group", "groups", false},
    {"use_batch_statistics", "track_running_stats", false},
};

static const struct plumb_json *read_settings(struct plumb_run_diff *diff,
                                              const struct plumb_run *run, int rank)
{
    const struct plumb_json *found = NULL;
    for (size_t i = 0; i < plumb_run_config_count(run); i++) {
        const struct plumb_run_config *config = plumb_run_config(run, i);
        if (strcmp(config->key, "model.settings") != 0 || (found && config->rank != rank))
            continue;
        const struct plumb_json_source source = {
            .path = plumb_run_path(run), .bytes = config->json, .size = strlen(config->json)};
        if (plumb_json_parse(&diff->arena, &source, &found, NULL))
            found = NULL;
    }
    return found;
}

/* The settings of the module that an op belongs to: its label without ever more of its end. */
static const struct plumb_json *find_module(const struct plumb_json *all, const char *label)
{
    char path[PATH_SIZE];
    if (!all || snprintf(path, sizeof path, "%s", label) >= (int)sizeof path)
        return NULL;
    for (char *dot = strrchr(path, '.'); dot; dot = strrchr(path, '.')) {
        *dot = '\0';
        const struct plumb_json *module = plumb_json_get(all, path);
        if (module)
            return module;
    }
    return NULL;
}

static bool number_of(const struct plumb_json *value, double *number)
{
    if (value->kind == PLUMB_JSON_INT)
        *number = (double)value->value.integer;
    else if (value->kind == PLUMB_JSON_DOUBLE)
        *number = value->value.number;
    else if (value->kind == PLUMB_JSON_BOOL)
        *number = value->boolean;
    else
        return false;
    return true;
}

/* A setting by its usual name. */
static bool find_number(const struct plumb_json *module, const char *usual, double *number)
{
    const struct plumb_json *value = plumb_json_get(module, usual);
    if (value && number_of(value, number))
        return true;
    for (size_t i = 0; i < sizeof other_names / sizeof *other_names; i++) {
        value = strcmp(other_names[i].usual, usual) == 0
                    ? plumb_json_get(module, other_names[i].name)
                    : NULL;
        if (!value || !number_of(value, number))
            continue;
        *number = other_names[i].complement ? 1 - *number : *number;
        return true;
    }
    return false;
}

static const char *usual_name(const char *name)
{
    for (size_t i = 0; i < sizeof other_names / sizeof *other_names; i++)
        if (strcmp(other_names[i].name, name) == 0)
            return other_names[i].usual;
    return name;
}

static void add_words(char *words, const char *name, double a, double b)
{
    const size_t length = strlen(words);
    char clause[128];
    (void)snprintf(clause, sizeof clause, "%s %s is %.9g in A and %.9g in B",
                   length ? "," : "; its setting", name, a, b);
    if (length + strlen(clause) < WORDS_SIZE && !strstr(words, clause))
        (void)snprintf(words + length, WORDS_SIZE - length, "%s", clause);
}

bool plumb_module_settings_explain(struct plumb_run_diff *diff, struct plumb_run_root *root)
{
    const struct plumb_json *a =
        find_module(read_settings(diff, diff->a, root->rank), root->op);
    const struct plumb_json *b =
        find_module(read_settings(diff, diff->b, root->rank), root->op);
    char words[WORDS_SIZE] = "";
    for (const struct plumb_json *setting = a && b ? a->first : NULL; setting;
         setting = setting->next) {
        const char *name = usual_name(setting->key);
        double in_a, in_b;
        if (find_number(a, name, &in_a) && find_number(b, name, &in_b) &&
            fabs(in_a - in_b) > 1e-6 * fmax(fabs(in_a), fabs(in_b)))
            add_words(words, name, in_a, in_b);
    }
    if (!words[0])
        return true;
    root->reason = plumb_arena_printf(&diff->arena, "%s%s", root->reason, words);
    return root->reason != NULL;
}
