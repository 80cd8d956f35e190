/* capture_wish.c - see capture_wish.h. */
#include "capture_wish.h"

#include "command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WISH_SIZE = 65536, ROOM = 64, PATH_SIZE = 4096, WORD = 1024 };

static bool is_one_of(const char *what, const char *text, const char *const *words)
{
    if (!text)
        return true;
    for (size_t i = 0; words[i]; i++)
        if (strcmp(text, words[i]) == 0)
            return true;
    (void)fprintf(stderr, "plumb run: no %s '%s'; one of", what, text);
    for (size_t i = 0; words[i]; i++)
        (void)fprintf(stderr, "%s %s", i ? "," : "", words[i]);
    (void)fprintf(stderr, "\n");
    return false;
}

bool capture_wish_check(const struct capture_wish *wish)
{
    static const char *const levels[] = {"watch", "module", "op", NULL};
    static const char *const saves[] = {"stats", "fingerprint", "tensors", NULL};
    static const char *const references[] = {"cpu64", NULL};
    static const char *const computes[] = {"float64", NULL};
    struct plumb_error error;
    if (!is_one_of("level", wish->level, levels) ||
        !is_one_of("kind of saving", wish->save, saves) ||
        !is_one_of("reference", wish->reference, references) ||
        !is_one_of("type to compute in", wish->compute_in, computes))
        return false;
    if (wish->reference && (!wish->level || strcmp(wish->level, "op") != 0)) {
        (void)fprintf(stderr, "plumb run: --reference compares operations; add --level op\n");
        return false;
    }
    if (wish->compute_in && !wish->ops) {
        (void)fprintf(stderr,
                      "plumb run: --compute-in changes what ops compute; say which with "
                      "--ops LIST\n");
        return false;
    }
    if (plumb_selection_check(wish->steps, "steps", &error) ||
        plumb_selection_check(wish->ranks, "ranks", &error)) {
        (void)fail(&error);
        return false;
    }
    return true;
}

/* ---- as another run was recorded ---------------------------------------------------------------- */

/* A JSON string without escapes, copied; NULL if it is something else. */
static const char *plain_string(const char *json, char copy[WORD])
{
    const size_t length = strlen(json);
    if (length < 2 || length > WORD || json[0] != '"' || strchr(json, '\\'))
        return NULL;
    (void)snprintf(copy, WORD, "%.*s", (int)length - 2, json + 1);
    return copy;
}

static void take_settings(struct capture_wish *wish, const struct plumb_run *run)
{
    static char level[WORD], steps[WORD], ops[WORD];
    if (!wish->level && plumb_run_rank_count(run) && *plumb_run_rank(run, 0)->level) {
        (void)snprintf(level, sizeof level, "%s", plumb_run_rank(run, 0)->level);
        wish->level = level;
    }
    for (size_t i = 0; i < plumb_run_config_count(run); i++) {
        const struct plumb_run_config *config = plumb_run_config(run, i);
        if (!wish->steps && strcmp(config->key, "capture.steps") == 0)
            wish->steps = plain_string(config->json, steps);
        if (!wish->ops && strcmp(config->key, "capture.ops") == 0)
            wish->ops = plain_string(config->json, ops);
    }
}

bool capture_wish_like_other(struct capture_wish *wish)
{
    static char path[PATH_SIZE];
    struct plumb_error error;
    struct plumb_run *run = NULL;
    if (!wish->against)
        return true;
    if (plumb_run_open(wish->against, &run, &error)) {
        (void)fail(&error);
        return false;
    }
    take_settings(wish, run);
    plumb_run_close(run);
    if (realpath(wish->against, path)) /* the command may run elsewhere */
        wish->against = path;
    return true;
}

/* ---- what the Python side is told ---------------------------------------------------------------- */

struct telling {
    char text[WISH_SIZE];
    size_t size;
};

static void add_quoted(struct telling *telling, const char *value)
{
    char *wish = telling->text;
    size_t *at = &telling->size;
    wish[(*at)++] = '"';
    for (; *value && *at + ROOM < WISH_SIZE; value++) {
        if (*value == '"' || *value == '\\')
            wish[(*at)++] = '\\';
        if ((unsigned char)*value < ' ')
            *at += (size_t)snprintf(wish + *at, WISH_SIZE - *at, "\\u%04x", *value);
        else
            wish[(*at)++] = *value;
    }
    wish[(*at)++] = '"';
}

static void add_key(struct telling *telling, const char *key)
{
    if (telling->size + ROOM < WISH_SIZE)
        telling->size +=
            (size_t)snprintf(telling->text + telling->size, WISH_SIZE - telling->size,
                             "%s\"%s\": ", telling->size > 1 ? ", " : "", key);
}

static void add_text(struct telling *telling, const char *key, const char *value)
{
    if (!value)
        return;
    add_key(telling, key);
    add_quoted(telling, value);
}

static void add_list(struct telling *telling, const char *key, char *const *values)
{
    add_key(telling, key);
    telling->text[telling->size++] = '[';
    for (size_t i = 0; values[i] && telling->size + ROOM < WISH_SIZE; i++) {
        if (i)
            telling->text[telling->size++] = ',';
        add_quoted(telling, values[i]);
    }
    telling->text[telling->size++] = ']';
}

static bool put_first(const char *variable, const char *folder)
{
    const char *path = getenv(variable);
    const size_t size = strlen(folder) + (path ? strlen(path) : 0) + 2;
    char *longer = malloc(size);
    if (!longer)
        return false;
    (void)snprintf(longer, size, "%s%s%s", folder, path && *path ? ":" : "", path ? path : "");
    const bool set = setenv(variable, longer, 1) == 0;
    free(longer);
    return set;
}

bool capture_wish_tell(const struct capture_wish *wish, const char *directory, const char *site,
                       char *const *command)
{
    struct telling telling = {.text = "{", .size = 1};
    add_text(&telling, "level", wish->level ? wish->level : "watch");
    add_text(&telling, "save", wish->save ? wish->save : "stats");
    add_text(&telling, "steps", wish->steps);
    add_text(&telling, "ranks", wish->ranks);
    add_text(&telling, "ops", wish->ops);
    add_text(&telling, "reference", wish->reference);
    add_text(&telling, "compute_in", wish->compute_in);
    add_text(&telling, "against", wish->against);
    add_text(&telling, "out", directory);
    add_list(&telling, "command", command);
    if (telling.size + ROOM >= WISH_SIZE)
        return false;
    telling.text[telling.size++] = '}';
    telling.text[telling.size] = '\0';
    return put_first("PYTHONPATH", site) && setenv("PLUMB_CAPTURE", telling.text, 1) == 0;
}
