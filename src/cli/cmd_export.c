/* cmd_export.c - `plumb export`: a run for other programs; exports.def lists the forms. */
#include "command.h"

enum form {
#define EXPORT(name, operand, help) FORM_##name,
#include "exports.def"
#undef EXPORT
    FORMS
};

struct export_arguments {
    const char *paths[FORMS]; /* NULL: not wanted */
};

static const struct option_row rows[FORMS] = {
#define EXPORT(name, operand, help)                                                            \
    {#name, operand, help, OPTION_TEXT, offsetof(struct export_arguments, paths[FORM_##name])},
#include "exports.def"
#undef EXPORT
};

static enum plumb_status (*const writers[FORMS])(struct plumb_run *run, const char *path,
                                                 struct plumb_error *err) = {
#define EXPORT(name, operand, help) plumb_export_##name,
#include "exports.def"
#undef EXPORT
};

#define EXPORT(name, operand, help) " --" #name " " operand
static const char choices[] = "say how, one or several of"
#include "exports.def"
    ;
#undef EXPORT

extern const struct command command_export;

static int run(int argc, char **argv)
{
    struct export_arguments arguments = {0};
    struct text_list operands = {0};
    struct plumb_error error;
    struct plumb_run *recorded = NULL;
    size_t wanted = 0;
    if (!options_parse("export", &command_export.options, argc, argv, &arguments, &operands))
        return EXIT_TROUBLE;
    if (operands.count != 1)
        return fail_usage(&command_export, "say which run");
    for (size_t i = 0; i < FORMS; i++)
        wanted += arguments.paths[i] != NULL;
    if (!wanted)
        return fail_usage(&command_export, choices);
    enum plumb_status status = plumb_run_open(operands.items[0], &recorded, &error);
    for (size_t i = 0; i < FORMS && !status; i++)
        if (arguments.paths[i])
            status = writers[i](recorded, arguments.paths[i], &error);
    plumb_run_close(recorded);
    return status ? fail(&error) : EXIT_ALIKE;
}

const struct command command_export = {
    .name = "export",
    .summary = "a recorded run as CSV, JSON, npz, SQLite or msprobe dump",
    .operands = "RUN",
    .detail = "Writes series, configuration, steps, tensor records, spans, counters and\n"
              "collectives. Files appear whole or not at all. Saved values are npz files\n"
              "already, in the run's directory.\n\n"
              "  plumb export runs/first --csv tables\n"
              "  plumb export runs/first --npz numbers.npz\n"
              "  plumb export runs/first --sqlite run.db\n"
              "  sqlite3 run.db \"SELECT op, slot, max(l2) FROM tensors GROUP BY op, slot\"\n",
    .options = {rows, FORMS},
    .run = run,
};
