/*
 * run_module_settings.c - see run_module_settings.h.
 *
 * A run holds one entry a layer in its framework's own words: torch.module:norm = LayerNorm((64,), eps=1e-05). Of two
 * frameworks the words differ where the settings do not, so single settings are read out of them.
 */
#include "compare/run_module_settings.h"

#include "base/number.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { PATH_SIZE = 512, WORDS_SIZE = 400 };

/* Numbers and switches that change what a layer computes, as torch says them. */
static const struct setting {
    const char *name, *other; /* what MindSpore may call it */
    bool complement; /* which is the opposite share; without a name of its own, always */
} settings[] = {
    {"eps", "epsilon", false},
    {"p", "keep_prob", true},
    {"groups", "group", false},
    {"track_running_stats", "use_batch_statistics", false},
    {"momentum", NULL, true},
    {"affine", NULL, false},
    {"elementwise_affine", NULL, false},
    {"stride", NULL, false},
    {"dilation", NULL, false},
    {"padding_idx", NULL, false},
    {"negative_slope", NULL, false},
    {"alpha", NULL, false},
    {"num_heads", NULL, false},
    {"batch_first", NULL, false},
    {"ceil_mode", NULL, false},
};

/* The entry of a layer, that of the rank if it has one of its own. */
static const struct plumb_run_config *find_entry(const struct plumb_run *run, int rank,
                                                 const char *path)
{
    const struct plumb_run_config *found = NULL;
    for (size_t i = 0; i < plumb_run_config_count(run); i++) {
        const struct plumb_run_config *config = plumb_run_config(run, i);
        const char *layer = plumb_settings_module(config->key);
        if (layer && strcmp(layer, path) == 0 && (!found || config->rank == rank))
            found = config;
    }
    return found;
}

/* That of the layer which an op belongs to: its label without ever more of its end. */
static const struct plumb_run_config *find_layer(const struct plumb_run *run, int rank,
                                                 const char *label)
{
    char path[PATH_SIZE];
    if (snprintf(path, sizeof path, "%s", label) >= (int)sizeof path)
        return NULL;
    for (char *dot = strrchr(path, '.'); dot; dot = strrchr(path, '.')) {
        *dot = '\0';
        const struct plumb_run_config *entry = find_entry(run, rank, path);
        if (entry)
            return entry;
    }
    return NULL;
}

static bool read_value(const char *text, double *number)
{
    const size_t length = strcspn(text, ",)\"");
    *number = 1;
    if (length == 4 && memcmp(text, "True", 4) == 0)
        return true;
    *number = 0;
    if (length == 5 && memcmp(text, "False", 5) == 0)
        return true;
    return plumb_number_parse(text, length, number);
}

/* "eps" in "BatchNorm2d(12, eps=1e-05, momentum=0.1)". */
static bool find_named(const char *words, const char *name, double *number)
{
    const size_t length = strlen(name);
    for (const char *at = strstr(words, name); at; at = strstr(at + 1, name)) {
        const bool begins = at > words && at[-1] != '_' && !isalnum((unsigned char)at[-1]);
        if (begins && at[length] == '=' && read_value(at + length + 1, number))
            return true;
    }
    return false;
}

static bool find_number(const struct plumb_run_config *entry, const struct setting *setting,
                        double *number)
{
    const bool mindspore = strncmp(entry->key, "mindspore.", 10) == 0;
    const bool own = find_named(entry->json, setting->name, number);
    if (!own && (!setting->other || !find_named(entry->json, setting->other, number)))
        return false;
    if (setting->complement && (!own || (mindspore && !setting->other)))
        *number = 1 - *number;
    return true;
}

static void add_words(char *words, const char *name, double a, double b)
{
    const size_t length = strlen(words);
    char clause[128];
    (void)snprintf(clause, sizeof clause, "%s %s is %.9g in A and %.9g in B",
                   length ? "," : "; its setting", name, a, b);
    if (length + strlen(clause) < WORDS_SIZE)
        (void)snprintf(words + length, WORDS_SIZE - length, "%s", clause);
}

bool plumb_module_settings_explain(struct plumb_run_diff *diff, struct plumb_run_root *root)
{
    const struct plumb_run_config *a = find_layer(diff->a, root->rank, root->op);
    const struct plumb_run_config *b = find_layer(diff->b, root->rank, root->op);
    char words[WORDS_SIZE] = "";
    for (size_t i = 0; a && b && i < sizeof settings / sizeof *settings; i++) {
        double in_a, in_b;
        if (find_number(a, &settings[i], &in_a) && find_number(b, &settings[i], &in_b) &&
            fabs(in_a - in_b) > 1e-6 * fmax(fabs(in_a), fabs(in_b)))
            add_words(words, settings[i].name, in_a, in_b);
    }
    if (!words[0])
        return true;
    root->reason = plumb_arena_printf(&diff->arena, "%s%s", root->reason, words);
    return root->reason != NULL;
}
