/* cmd_list.c - `plumb list`: what is in the registries. */
#include "command.h"

#include <stdio.h>
#include <string.h>

struct list_arguments {
    bool json;
};

static const struct option_row rows[] = {
    {"json", NULL, "for programs", OPTION_FLAG, offsetof(struct list_arguments, json)},
};

extern const struct command command_list;

static void print_json(enum plumb_list list)
{
    const struct plumb_entry *entry;
    /* Names and summaries are our own text: letters, digits and plain punctuation. */
    (void)printf("{\"%s\":[", plumb_list_name(list));
    for (size_t i = 0; (entry = plumb_list_entry(list, i)); i++)
        (void)printf("%s\n  {\"name\":\"%s\",\"summary\":\"%s\"}", i ? "," : "", entry->name,
                     entry->summary);
    (void)puts("\n]}");
}

static void print_text(enum plumb_list list)
{
    const struct plumb_entry *entry;
    for (size_t i = 0; (entry = plumb_list_entry(list, i)); i++)
        (void)printf("%-18s %s\n", entry->name, entry->summary);
}

static int run(int argc, char **argv)
{
    struct list_arguments arguments = {0};
    struct text_list operands = {0};
    if (!options_parse("list", &command_list.options, argc, argv, &arguments, &operands))
        return EXIT_TROUBLE;
    if (operands.count != 1)
        return fail_usage(&command_list, "say which list");
    for (int list = 0; list < PLUMB_LIST_COUNT; list++) {
        if (strcmp(operands.items[0], plumb_list_name((enum plumb_list)list)) != 0)
            continue;
        if (arguments.json)
            print_json((enum plumb_list)list);
        else
            print_text((enum plumb_list)list);
        return EXIT_ALIKE;
    }
    return fail_usage(&command_list, "no such list");
}

const struct command command_list = {
    .name = "list",
    .summary = "the formats, metrics, verdicts or patterns Plumb knows",
    .operands = "formats|metrics|verdicts|patterns",
    .detail = "  plumb list formats\n  plumb explain safetensors   more about one entry\n",
    .options = {rows, sizeof rows / sizeof *rows},
    .run = run,
};
