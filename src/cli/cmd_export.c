/* cmd_export.c - `plumb export`: a run for other programs. */
#include "command.h"

struct export_arguments {
    const char *csv, *json, *npz;
};

static const struct option_row rows[] = {
    {"csv", "DIR", "one file a table into this directory", OPTION_TEXT,
     offsetof(struct export_arguments, csv)},
    {"json", "FILE", "everything in one file", OPTION_TEXT,
     offsetof(struct export_arguments, json)},
    {"npz", "FILE", "series and the numbers of tensor records, for numpy.load", OPTION_TEXT,
     offsetof(struct export_arguments, npz)},
};

extern const struct command command_export;

static int run(int argc, char **argv)
{
    struct export_arguments arguments = {0};
    struct text_list operands = {0};
    struct plumb_error error;
    struct plumb_run *recorded = NULL;
    if (!options_parse("export", &command_export.options, argc, argv, &arguments, &operands))
        return EXIT_TROUBLE;
    if (operands.count != 1)
        return fail_usage(&command_export, "say which run");
    const struct {
        const char *path;
        enum plumb_export form;
    } wanted[] = {{arguments.csv, PLUMB_EXPORT_CSV},
                  {arguments.json, PLUMB_EXPORT_JSON},
                  {arguments.npz, PLUMB_EXPORT_NPZ}};
    if (!arguments.csv && !arguments.json && !arguments.npz)
        return fail_usage(&command_export, "say --csv DIR, --json FILE or --npz FILE");
    enum plumb_status status = plumb_run_open(operands.items[0], &recorded, &error);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted && !status; i++)
        if (wanted[i].path)
            status = plumb_export_run(recorded, wanted[i].form, wanted[i].path, &error);
    plumb_run_close(recorded);
    return status ? fail(&error) : EXIT_ALIKE;
}

const struct command command_export = {
    .name = "export",
    .summary = "a recorded run as CSV, JSON or npz",
    .operands = "RUN",
    .detail = "Writes series, configuration, tensor records, spans, counters and collectives.\n"
              "Files appear whole or not at all. Saved values are npz files already, in the\n"
              "run's directory.\n\n"
              "  plumb export runs/first --csv tables\n"
              "  plumb export runs/first --npz numbers.npz\n",
    .options = {rows, sizeof rows / sizeof *rows},
    .run = run,
};
