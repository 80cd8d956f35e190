/* options.c - see options.h. */
#include "options.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct option_row *find_row(const struct option_table *table, const char *name,
                                         size_t length)
{
    for (size_t i = 0; i < table->count; i++)
        if (strncmp(table->rows[i].name, name, length) == 0 && !table->rows[i].name[length])
            return &table->rows[i];
    return NULL;
}

static bool append(struct text_list *list, const char *command, const char *text)
{
    if (list->count == LIST_MOST) {
        (void)fprintf(stderr, "plumb %s: more than %d arguments of one kind\n", command,
                      LIST_MOST);
        return false;
    }
    list->items[list->count++] = text;
    return true;
}

static bool complain(const char *command, const char *name, const char *text,
                     const char *wanted)
{
    (void)fprintf(stderr, "plumb %s: --%s needs %s, not '%s'\n", command, name, wanted, text);
    return false;
}

static bool parse_count(const char *text, size_t *value)
{
    size_t number = 0;
    if (!*text)
        return false;
    for (; *text; text++) {
        if (*text < '0' || *text > '9' || number > (SIZE_MAX - 9) / 10)
            return false;
        number = number * 10 + (size_t)(*text - '0');
    }
    *value = number;
    return true;
}

static bool parse_number(const char *text, double *value)
{
    char *end = NULL;
    errno = 0;
    *value = strtod(text, &end);
    return end != text && !*end && errno == 0 && *value == *value;
}

static bool store(const char *command, const struct option_row *row, const char *text,
                  void *variables)
{
    void *variable = (char *)variables + row->offset;
    switch (row->kind) {
    case OPTION_FLAG:
        *(bool *)variable = true;
        return true;
    case OPTION_TEXT:
        *(const char **)variable = text;
        return true;
    case OPTION_NUMBER:
        return parse_number(text, variable) || complain(command, row->name, text, "a number");
    case OPTION_COUNT:
        return parse_count(text, variable) ||
               complain(command, row->name, text, "a whole number from 0 on");
    case OPTION_LIST:
        return append(variable, command, text);
    }
    return false;
}

/* One "--name", "--name=value" or "--name value"; `next` is the argument after it. */
static bool take_option(const char *command, const struct option_table *table, char *argument,
                        char *next, void *variables, int *used)
{
    const char *name = argument + 2;
    const char *equals = strchr(name, '=');
    const size_t length = equals ? (size_t)(equals - name) : strlen(name);
    const struct option_row *row = find_row(table, name, length);
    *used = 1;
    if (!row) {
        (void)fprintf(stderr, "plumb %s: no option %s; `plumb %s --help` lists them\n", command,
                      argument, command);
        return false;
    }
    if (!row->value && equals)
        return complain(command, row->name, equals + 1, "no value");
    const char *text = equals ? equals + 1 : next;
    if (row->value && !text) {
        (void)fprintf(stderr, "plumb %s: --%s needs a value: --%s %s\n", command, row->name,
                      row->name, row->value);
        return false;
    }
    if (row->value && !equals)
        *used = 2;
    return store(command, row, text, variables);
}

bool options_parse(const char *command, const struct option_table *table, int argc, char **argv,
                   void *variables, struct text_list *operands)
{
    bool options_over = false;
    for (int i = 0; i < argc;) {
        int used = 1;
        if (!options_over && strcmp(argv[i], "--") == 0) {
            options_over = true;
        } else if (!options_over && strncmp(argv[i], "--", 2) == 0) {
            char *next = i + 1 < argc ? argv[i + 1] : NULL;
            if (!take_option(command, table, argv[i], next, variables, &used))
                return false;
        } else if (!options_over && argv[i][0] == '-' && argv[i][1]) {
            (void)fprintf(stderr, "plumb %s: no option %s; `plumb %s --help` lists them\n",
                          command, argv[i], command);
            return false;
        } else if (!append(operands, command, argv[i])) {
            return false;
        }
        i += used;
    }
    return true;
}
