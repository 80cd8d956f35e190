/* cmd_explain.c - `plumb explain NAME`: any entry of any registry in some sentences. */
#include "command.h"

#include <stdio.h>
#include <string.h>

static int run(int argc, char **argv);

const struct command command_explain = {
    .name = "explain",
    .summary = "what a format, metric, verdict or pattern is",
    .operands = "NAME...",
    .detail = "  plumb explain cosine\n  plumb explain low-accumulation\n",
    .run = run,
};

/* "formats" -> "format": the kind of one entry. */
static void print_entry(const char *list, const struct plumb_entry *entry)
{
    (void)printf("%s (%.*s): %s\n\n%s\n", entry->name, (int)strlen(list) - 1, list,
                 entry->summary, entry->detail);
}

static bool explain(const char *name)
{
    bool found = false;
    for (int list = 0; list < PLUMB_LIST_COUNT; list++) {
        const struct plumb_entry *entry;
        for (size_t i = 0; (entry = plumb_list_entry((enum plumb_list)list, i)); i++) {
            if (strcmp(entry->name, name) != 0)
                continue;
            print_entry(plumb_list_name((enum plumb_list)list), entry);
            found = true;
        }
    }
    return found;
}

static int run(int argc, char **argv)
{
    struct text_list operands = {0};
    if (!options_parse("explain", &command_explain.options, argc, argv, NULL, &operands))
        return EXIT_TROUBLE;
    if (!operands.count)
        return fail_usage(&command_explain, "say what to explain");
    for (size_t i = 0; i < operands.count; i++) {
        if (explain(operands.items[i]))
            continue;
        (void)fprintf(stderr,
                      "plumb explain: nothing is called '%s'; `plumb list formats`, `metrics`, "
                      "`verdicts` and `patterns` show the names\n",
                      operands.items[i]);
        return EXIT_TROUBLE;
    }
    return EXIT_ALIKE;
}
