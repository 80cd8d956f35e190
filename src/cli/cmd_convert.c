/* cmd_convert.c - `plumb convert IN OUT`: another format, framework or precision. */
#include "command.h"
#include "progress.h"

#include <stdio.h>

struct convert_arguments {
    const char *to, *map, *dtype, *round, *format;
    bool json;
};

static const struct option_row rows[] = {
    {"to", "FRAMEWORK", "rename and reshape for 'mindspore' or 'pytorch'", OPTION_TEXT,
     offsetof(struct convert_arguments, to)},
    {"map", "FILE", "names in and names out: lines 'in out', JSON or YAML", OPTION_TEXT,
     offsetof(struct convert_arguments, map)},
    {"dtype", "D", "type of the floating-point tensors: f32, f16, bf16 ...", OPTION_TEXT,
     offsetof(struct convert_arguments, dtype)},
    {"round", "MODE", "nearest-even (default), nearest-away, odd, up, down, zero", OPTION_TEXT,
     offsetof(struct convert_arguments, round)},
    {"format", "NAME", "write this format instead of what OUT's name says", OPTION_TEXT,
     offsetof(struct convert_arguments, format)},
    {"json", NULL, "for programs", OPTION_FLAG, offsetof(struct convert_arguments, json)},
};

extern const struct command command_convert;

static bool understand(const struct convert_arguments *arguments,
                       struct plumb_convert_options *options)
{
    options->framework = arguments->to;
    options->map_path = arguments->map;
    options->format = arguments->format;
    options->change_dtype = arguments->dtype != NULL;
    if (arguments->dtype && !plumb_dtype_from_name(arguments->dtype, &options->dtype)) {
        (void)fprintf(stderr,
                      "plumb convert: no type '%s'; try f64 f32 f16 bf16 f8e4m3 f8e5m2 hif8\n",
                      arguments->dtype);
        return false;
    }
    if (arguments->round && !plumb_round_from_name(arguments->round, &options->round)) {
        (void)fprintf(stderr,
                      "plumb convert: no rounding mode '%s'; try nearest-even nearest-away odd "
                      "up down zero\n",
                      arguments->round);
        return false;
    }
    return true;
}

static int run(int argc, char **argv)
{
    struct convert_arguments arguments = {0};
    struct text_list operands = {0};
    if (!options_parse("convert", &command_convert.options, argc, argv, &arguments, &operands))
        return EXIT_TROUBLE;
    if (operands.count != 2)
        return fail_usage(&command_convert, "say what to read and what to write");
    struct plumb_convert_options options = {0};
    if (!understand(&arguments, &options))
        return EXIT_TROUBLE;
    struct plumb_error error;
    struct plumb_file *file = NULL;
    if (plumb_file_open(operands.items[0], NULL, &file, &error))
        return fail(&error);
    struct progress_bar bar;
    progress_begin(&bar);
    options.progress = &bar.callbacks;
    struct plumb_convert_result result = {0};
    const enum plumb_status status =
        plumb_convert(file, operands.items[1], &options, &result, &error);
    progress_end(&bar);
    plumb_file_close(file);
    if (status || plumb_report_conversion(operands.items[1], &result, arguments.json,
                                          &standard_output, &error))
        return fail(&error);
    return EXIT_ALIKE;
}

const struct command command_convert = {
    .name = "convert",
    .summary = "write a tensor file in another format, framework or precision",
    .operands = "IN OUT",
    .detail =
        "The output's format comes from its extension: .npy .npz .pth .ckpt .safetensors.\n"
        "It is written beside OUT and renamed, so a failure leaves nothing half-written.\n\n"
        "  plumb convert model.pth model.ckpt --to mindspore\n"
        "  plumb convert model.ckpt model.safetensors --dtype bf16 --round odd\n",
    .options = {rows, sizeof rows / sizeof *rows},
    .run = run,
};
