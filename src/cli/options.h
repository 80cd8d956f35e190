/*
 * options.h - command-line options as a table: parsing, help, man page and completion all
 * read the same rows.
 */
#ifndef PLUMB_CLI_OPTIONS_H
#define PLUMB_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

enum option_kind {
    OPTION_FLAG,   /* bool */
    OPTION_TEXT,   /* const char * */
    OPTION_NUMBER, /* double */
    OPTION_COUNT,  /* size_t */
    OPTION_LIST,   /* struct text_list; may be repeated */
};

enum { LIST_MOST = 256 };

struct text_list {
    const char *items[LIST_MOST];
    size_t count;
};

struct option_row {
    const char *name;  /* without the dashes */
    const char *value; /* what the argument is called; NULL for a flag */
    const char *help;  /* one line */
    enum option_kind kind;
    size_t offset; /* of the variable in the command's struct */
};

struct option_table {
    const struct option_row *rows;
    size_t count;
};

/* Sets variables in `variables` and leaves the other arguments, in order, in `operands`.
 * "--" ends the options. Returns false after printing what is wrong. */
bool options_parse(const char *command, const struct option_table *table, int argc, char **argv,
                   void *variables, struct text_list *operands);

#endif
