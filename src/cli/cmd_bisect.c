/*
 * cmd_bisect.c - `plumb bisect`: which ops turn a bad run into a good one when they are computed in float64?
 *
 * All of the listed ops first: if that does not help, the cause is none of them. Then delta debugging.
 */
#include "bisect_try.h"
#include "command.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TRIES = 100, MOST_SHOWN = 10 };

/* Without --tolerance: good is what is ten times nearer than bad, or twice as far as with all ops in float64. */
static const double nearer = 0.1, as_all = 2, after_failure = 1e-3, no_help = 0.5;

struct bisect_arguments {
    const char *good, *bad, *ops, *series, *out;
    double tolerance;
    size_t most;
    bool json;
};

static const struct option_row rows[] = {
    {"good", "CMD", "the command that trains well, or a run of it", OPTION_TEXT,
     offsetof(struct bisect_arguments, good)},
    {"bad", "CMD", "the command that does not", OPTION_TEXT,
     offsetof(struct bisect_arguments, bad)},
    {"ops", "LIST", "names or patterns of ops, separated by commas (default: all of step 0)",
     OPTION_TEXT, offsetof(struct bisect_arguments, ops)},
    {"series", "NAME", "what is compared (loss)", OPTION_TEXT,
     offsetof(struct bisect_arguments, series)},
    {"tolerance", "T", "relative difference of the series up to which a try is good",
     OPTION_NUMBER, offsetof(struct bisect_arguments, tolerance)},
    {"most", "N", "tries at most; the same command goes on (100)", OPTION_COUNT,
     offsetof(struct bisect_arguments, most)},
    {"out", "DIR", "log and runs of the tries (runs/bisect)", OPTION_TEXT,
     offsetof(struct bisect_arguments, out)},
    {"json", NULL, "for programs", OPTION_FLAG, offsetof(struct bisect_arguments, json)},
};

extern const struct command command_bisect;

/* What is known so far. */
struct hunt {
    struct bisect bisect;
    size_t total; /* ops that were listed */
    double bad, all, limit, found;
    bool *set;     /* that does it */
    bool smallest; /* nothing can be left out */
    bool quiet;
    const char *end; /* why there is no answer; or NULL */
};

/* ---- trying ---------------------------------------------------------------------------------------- */

static size_t members_of(const struct hunt *hunt, const bool *set)
{
    size_t count = 0;
    for (size_t i = 0; i < hunt->bisect.op_count; i++) {
        const char *op = hunt->bisect.ops[i];
        for (count += set[i]; set[i] && (op = strchr(op, ',')); op++)
            count++;
    }
    return count;
}

static bool attempt(struct hunt *hunt, const bool *chosen, double *distance)
{
    const size_t before = hunt->bisect.result_count;
    if (!bisect_try(&hunt->bisect, chosen, distance))
        return false;
    if (!hunt->quiet && hunt->bisect.result_count > before)
        (void)fprintf(stderr, "plumb: try %zu, %zu of %zu ops in float64: %s off by %.3g\n",
                      hunt->bisect.result_count, chosen ? members_of(hunt, chosen) : 0,
                      hunt->total, hunt->bisect.series, *distance);
    return true;
}

static enum plumb_try test(void *context, const bool *chosen, size_t count)
{
    struct hunt *hunt = context;
    double distance = 0;
    (void)count;
    if (!attempt(hunt, chosen, &distance))
        return PLUMB_TRY_STOP;
    if (!(distance <= hunt->limit))
        return PLUMB_TRY_BAD;
    hunt->found = distance;
    return PLUMB_TRY_GOOD;
}

static void choose_all(struct hunt *hunt)
{
    for (size_t i = 0; i < hunt->bisect.op_count; i++)
        hunt->set[i] = true;
}

static bool try_ends(struct hunt *hunt)
{
    choose_all(hunt);
    if (!attempt(hunt, NULL, &hunt->bad))
        return false;
    return hunt->bad == 0 || attempt(hunt, hunt->set, &hunt->all);
}

/* Which kinds of ops, then in which modules. */
static enum plumb_status narrow(struct hunt *hunt, struct plumb_error *err)
{
    const struct plumb_minimize_options options = {test, hunt};
    bool changed = false;
    const enum plumb_status status =
        plumb_minimize(&options, hunt->set, hunt->bisect.op_count, &hunt->smallest, err);
    if (status || !hunt->smallest)
        return status;
    if (!bisect_ungroup_ops(&hunt->bisect, hunt->set, &changed))
        return PLUMB_NO_MEMORY;
    choose_all(hunt);
    return changed ? plumb_minimize(&options, hunt->set, hunt->bisect.op_count, &hunt->smallest,
                                    err)
                   : PLUMB_OK;
}

static enum plumb_status search(struct hunt *hunt, double tolerance, struct plumb_error *err)
{
    if (!try_ends(hunt)) {
        hunt->end = "the tries were stopped; the same command goes on";
        return PLUMB_OK;
    }
    hunt->limit = tolerance > 0
                      ? tolerance
                      : fmax(as_all * hunt->all,
                             isfinite(hunt->bad) ? nearer * hunt->bad : after_failure);
    hunt->found = hunt->all;
    if (tolerance > 0 ? hunt->bad <= tolerance : hunt->bad == 0)
        hunt->end = "the bad command is as good as the good one: there is nothing to find";
    else if (!isfinite(hunt->all) ||
             hunt->all > (tolerance > 0 ? tolerance : no_help * hunt->bad))
        hunt->end = "all of these ops in float64 do not make it good: the cause is another one "
                    "(other ops, data, settings, or an op that is wrong in float64, too)";
    if (hunt->end)
        return PLUMB_OK;
    return narrow(hunt, err);
}

/* ---- the answer -------------------------------------------------------------------------------------- */

static void print_ops(const struct hunt *hunt)
{
    const size_t size = members_of(hunt, hunt->set);
    size_t shown = 0;
    (void)printf("%s: %zu of %zu op%s, computed in float64, turn%s bad into good\n\n",
                 hunt->smallest ? "found" : "so far", size, hunt->total,
                 hunt->total == 1 ? "" : "s", size == 1 ? "s" : "");
    for (size_t i = 0; i < hunt->bisect.op_count; i++)
        if (hunt->set[i] && shown++ < MOST_SHOWN)
            (void)printf("  %s\n", hunt->bisect.ops[i]);
    if (shown > MOST_SHOWN)
        (void)printf("  and %zu more (--json lists them)\n", shown - MOST_SHOWN);
    (void)printf(
        "\nhow     %s is off by %.3g in the bad run, by %.3g with %s in float64 (good: up to "
        "%.3g)\n",
        hunt->bisect.series, hunt->bad, hunt->found, size == 1 ? "it" : "them", hunt->limit);
}

static void print_text(const struct hunt *hunt)
{
    const struct bisect *bisect = &hunt->bisect;
    if (hunt->end)
        (void)printf("not found: %s\n\n", hunt->end);
    else
        print_ops(hunt);
    if (hunt->end && bisect->result_count)
        (void)printf("how     %s is off by %.3g in the bad run, by %.3g with all %zu ops in "
                     "float64\n",
                     bisect->series, hunt->bad, hunt->all, hunt->total);
    if (!hunt->end && !hunt->smallest)
        (void)printf("sure    no: the tries were stopped; the same command goes on\n");
    (void)printf("tries   %zu, in %s/tries.log\n", bisect->result_count, bisect->folder);
    for (size_t i = 0; i < bisect->op_count && !hunt->end && hunt->smallest; i++)
        if (hunt->set[i]) {
            (void)printf(
                "next    plumb run --level op --reference cpu64 --steps 0 --ops '%s' -- %s\n",
                bisect->ops[i], bisect->bad);
            break;
        }
}

static void print_string(const char *text)
{
    (void)putchar('"');
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            (void)putchar('\\');
        if ((unsigned char)*text < ' ')
            (void)printf("\\u%04x", *text);
        else
            (void)putchar(*text);
    }
    (void)putchar('"');
}

static void print_number(const char *key, double value)
{
    if (isfinite(value))
        (void)printf(",\"%s\":%.9g", key, value);
    else
        (void)printf(",\"%s\":\"inf\"", key);
}

static void print_json(const struct hunt *hunt)
{
    const struct bisect *bisect = &hunt->bisect;
    bool first = true;
    (void)printf("{\"found\":%s,\"smallest\":%s,\"ops\":[", hunt->end ? "false" : "true",
                 hunt->smallest ? "true" : "false");
    for (size_t i = 0; i < bisect->op_count && !hunt->end; i++)
        if (hunt->set[i]) {
            (void)printf("%s", first ? "" : ",");
            print_string(bisect->ops[i]);
            first = false;
        }
    (void)printf("],\"of\":%zu,\"series\":", hunt->total);
    print_string(bisect->series);
    print_number("off_bad", hunt->bad);
    print_number("off_all", hunt->all);
    print_number("off_found", hunt->found);
    print_number("limit", hunt->limit);
    (void)printf(",\"reason\":");
    print_string(hunt->end ? hunt->end : "");
    (void)printf(",\"tries\":[");
    for (size_t i = 0; i < bisect->result_count; i++) {
        (void)printf("%s\n{\"ops\":", i ? "," : "");
        print_string(bisect->results[i].ops);
        print_number("off", bisect->results[i].distance);
        (void)printf("}");
    }
    (void)printf("],\"findings\":[]}\n");
}

/* ---- the command --------------------------------------------------------------------------------------- */

/* "a,b*,c" as a list of copies. True if one of them is a pattern. */
static bool split(struct bisect *bisect, const char *list, bool *patterns)
{
    size_t most = 1;
    for (const char *c = list; *c; c++)
        most += *c == ',';
    bisect->ops = calloc(most, sizeof *bisect->ops);
    while (bisect->ops && *list) {
        const size_t length = strcspn(list, ",");
        if (length) {
            char *name = strndup(list, length);
            if (!name)
                return false;
            *patterns |= strpbrk(name, "*?") != NULL;
            bisect->ops[bisect->op_count++] = name;
        }
        list += length + (list[length] == ',');
    }
    return bisect->ops != NULL;
}

static int hunt_ops(struct hunt *hunt, const struct bisect_arguments *arguments)
{
    struct plumb_error error = {.status = PLUMB_NO_MEMORY, .message = "out of memory"};
    bool patterns = false;
    if (!split(&hunt->bisect, arguments->ops ? arguments->ops : "*", &patterns) ||
        !bisect_open(&hunt->bisect) || !bisect_run_good(&hunt->bisect) ||
        (patterns && !bisect_list_ops(&hunt->bisect)))
        return EXIT_TROUBLE;
    hunt->total = hunt->bisect.op_count;
    hunt->set = calloc(hunt->total + 1, sizeof *hunt->set);
    if (!hunt->set || !bisect_group_ops(&hunt->bisect))
        return EXIT_TROUBLE;
    if (search(hunt, arguments->tolerance, &error))
        return fail(&error);
    if (arguments->json)
        print_json(hunt);
    else
        print_text(hunt);
    return hunt->bad == 0 && hunt->end ? EXIT_ALIKE : EXIT_DIFFERENT;
}

static int run(int argc, char **argv)
{
    struct bisect_arguments arguments = {
        .series = "loss", .out = "runs/bisect", .most = MOST_TRIES};
    struct text_list operands = {0};
    if (!options_parse("bisect", &command_bisect.options, argc, argv, &arguments, &operands))
        return EXIT_TROUBLE;
    if (operands.count)
        return fail_usage(&command_bisect,
                          "commands are given with --good and --bad, in quotes");
    if (!arguments.good || !arguments.bad)
        return fail_usage(&command_bisect, "say --good CMD and --bad CMD");
    struct hunt hunt = {.bisect = {.good = arguments.good,
                                   .bad = arguments.bad,
                                   .series = arguments.series,
                                   .folder = arguments.out,
                                   .most = arguments.most},
                        .quiet = arguments.json};
    const int code = hunt_ops(&hunt, &arguments);
    free(hunt.set);
    bisect_close(&hunt.bisect);
    return code;
}

const struct command command_bisect = {
    .name = "bisect",
    .summary = "which ops turn a bad run into a good one when computed in float64",
    .operands = "--good CMD --bad CMD",
    .detail =
        "Runs the bad command again and again under plumb run, each time with some of the\n"
        "listed ops computed in float64 on the CPU (plumb run --compute-in float64 --ops "
        "...),\n"
        "and compares its loss with that of the good command. Ends with the smallest set of\n"
        "ops that makes it good. Of n ops one culprit takes about 2 log2 n tries. Every try "
        "is\n"
        "logged: the same command goes on where it was interrupted. Keep the commands short:\n"
        "a few steps, fixed seeds. Torch only.\n"
        "Exit code 0 if bad is as good as good, 1 if not, 2 for trouble.\n\n"
        "  plumb bisect --good 'python train.py' --bad 'python train.py --fused' --ops "
        "'blocks.*'\n"
        "  plumb bisect --good runs/reference --bad 'python train.py' --ops "
        "gelu,softmax,addmm\n",
    .options = {rows, sizeof rows / sizeof *rows},
    .run = run,
};
