/*
 * cmd_demo.c - `plumb demo`: a first look for a newcomer. Two small networks are trained by the lab, a
 * healthy and a sick one, and every command that looks at them is printed before it is run.
 *
 * Plumb's own commands run in this process, as main() would run them.
 */
#include "command.h"
#include "lab_place.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATH_SIZE = 4096, MOST_WORDS = 24, MOST_FOLDERS = 1000, FIRST_LINES = 2, LINE = 256 };

/* The fault that is planted, and where it has to be found. */
#define SICK_FAULT "bitflip-exponent@step=30,layer=1"
#define SICK_OP "blocks.1."
enum { SICK_STEP = 30 };

extern const struct command command_demo;

struct demo {
    char lab[PATH_SIZE], folder[PATH_SIZE];
    char well[PATH_SIZE + 8], sick[PATH_SIZE + 8];
};

/* ---- commands as they would be typed ------------------------------------------------------------- */

static void print_word(const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_./:=,@-";
    const bool quoted = word[strspn(word, plain)] != '\0';
    (void)printf(quoted ? " '%s'" : " %s", word);
}

static void print_command(const char *const *words)
{
    (void)printf("\n$");
    for (; *words; words++)
        print_word(*words);
    (void)printf("\n");
    (void)fflush(stdout);
}

/* exec and commands take words that are not const, though they leave them alone. Ends with NULL. */
static int copy_words(const char *const *words, char **arguments)
{
    int count = 0;
    for (; words[count] && count < MOST_WORDS; count++)
        memcpy(&arguments[count], &words[count], sizeof *arguments);
    arguments[count] = NULL;
    return count;
}

/* Runs "plumb WORDS..." here; false, after a message, unless it ends with `expected`. */
static bool plumb(int expected, const char *const *words)
{
    char *arguments[MOST_WORDS + 1];
    print_command(words);
    const int count = copy_words(words + 2, arguments);
    const int code = command_named(words[1])->run(count, arguments);
    (void)fflush(stdout);
    if (code != expected)
        (void)fprintf(stderr, "plumb demo: that ended with %d instead of %d\n", code, expected);
    return code == expected;
}

/* The first lines and the last one; a line a step is too much. */
static void print_digest(FILE *from)
{
    char line[LINE], last[LINE] = "";
    size_t count = 0;
    for (; fgets(line, sizeof line, from); count++)
        if (count < FIRST_LINES)
            (void)fputs(line, stdout);
        else
            memcpy(last, line, sizeof last);
    if (count > FIRST_LINES + 1)
        (void)puts("...");
    (void)fputs(last, stdout);
}

static bool train(const char *const *words)
{
    char *arguments[MOST_WORDS + 1];
    int ends[2], status = 0;
    print_command(words);
    (void)copy_words(words, arguments);
    if (pipe(ends) != 0)
        return false;
    const pid_t child = fork();
    if (child == 0) {
        if (dup2(ends[1], STDOUT_FILENO) >= 0 && close(ends[0]) == 0 && close(ends[1]) == 0)
            (void)execv(arguments[0], arguments);
        _exit(EXIT_TROUBLE);
    }
    (void)close(ends[1]);
    FILE *from = fdopen(ends[0], "r");
    if (from) {
        print_digest(from);
        (void)fclose(from);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) ||
        WEXITSTATUS(status) != 0) {
        (void)fprintf(stderr, "plumb demo: the training did not end as it should\n");
        return false;
    }
    return true;
}

/* ---- the tour ------------------------------------------------------------------------------------- */

static bool healthy_part(const struct demo *demo)
{
    (void)printf("A small GPT learns, and everything it computes is recorded.\n");
    const char *const training[] = {demo->lab, "train", "--net", "gpt",      "--steps", "60",
                                    "--seed",  "1",     "--out", demo->well, NULL};
    const char *const whole[] = {"plumb", "show", demo->well, NULL};
    const char *const loss[] = {"plumb", "show", demo->well, "--series", "loss", NULL};
    const char *const nan[] = {"plumb", "nan", demo->well, NULL};
    if (!train(training))
        return false;
    (void)printf("\nWhat was recorded?\n");
    if (!plumb(EXIT_ALIKE, whole))
        return false;
    (void)printf("\nDoes it learn, and is every number finite?\n");
    return plumb(EXIT_ALIKE, loss) && plumb(EXIT_ALIKE, nan);
}

/* Looks closer at the op that `plumb nan` has just named. */
static bool look_at_origin(const struct demo *demo)
{
    struct plumb_error error;
    struct plumb_run *run = NULL;
    struct plumb_nan *found = NULL;
    bool well = false;
    if (plumb_run_open(demo->sick, &run, &error) || plumb_nan_find(run, &found, &error)) {
        (void)fail(&error);
    } else {
        const struct plumb_nan_place *origin = plumb_nan_origin(found);
        char step[32];
        (void)snprintf(step, sizeof step, "%lld", origin ? (long long)origin->step : 0);
        const char *const closer[] = {
            "plumb",  "show", demo->sick, "--op", origin ? origin->op : "",
            "--step", step,   NULL};
        if (!origin || origin->step != SICK_STEP ||
            strncmp(origin->op, SICK_OP, strlen(SICK_OP)) != 0)
            (void)fprintf(stderr, "plumb demo: the fault was not found where it was planted\n");
        else
            well = plumb(EXIT_ALIKE, closer);
    }
    plumb_nan_free(found);
    plumb_run_close(run);
    return well;
}

static bool sick_part(const struct demo *demo)
{
    (void)printf("\nThe same with a fault: from step %d on, one bit flips in what a layer "
                 "computes.\n",
                 SICK_STEP);
    const char *const training[] = {demo->lab, "train",    "--net", "gpt",   "--steps",
                                    "60",      "--seed",   "1",     "--out", demo->sick,
                                    "--fault", SICK_FAULT, NULL};
    const char *const loss[] = {"plumb", "show", demo->sick, "--series", "loss", NULL};
    const char *const nan[] = {"plumb", "nan", demo->sick, NULL};
    if (!train(training) || !plumb(EXIT_ALIKE, loss))
        return false;
    (void)printf("\nWhere did it begin? (Exit code 1: something was found.)\n");
    return plumb(EXIT_DIFFERENT, nan) && look_at_origin(demo);
}

/* The wanted folder, or the first of plumb-demo, plumb-demo-2, ... that is not there yet. */
static bool make_folder(struct demo *demo, const char *wanted)
{
    int made = -1;
    (void)snprintf(demo->folder, sizeof demo->folder, "%s", wanted ? wanted : "plumb-demo");
    made = mkdir(demo->folder, 0777);
    for (int i = 2; made != 0 && errno == EEXIST && !wanted && i < MOST_FOLDERS; i++) {
        (void)snprintf(demo->folder, sizeof demo->folder, "plumb-demo-%d", i);
        made = mkdir(demo->folder, 0777);
    }
    if (made != 0)
        (void)fprintf(stderr,
                      "plumb demo: cannot make the directory %s: %s; name another one\n",
                      demo->folder, strerror(errno));
    (void)snprintf(demo->well, sizeof demo->well, "%s/well", demo->folder);
    (void)snprintf(demo->sick, sizeof demo->sick, "%s/sick", demo->folder);
    return made == 0;
}

static int run(int argc, char **argv)
{
    struct demo demo;
    struct text_list operands = {0};
    if (!options_parse("demo", &command_demo.options, argc, argv, NULL, &operands))
        return EXIT_TROUBLE;
    if (operands.count > 1)
        return fail_usage(&command_demo, "one directory is enough");
    if (!lab_place(demo.lab, sizeof demo.lab) ||
        !make_folder(&demo, operands.count ? operands.items[0] : NULL) ||
        !healthy_part(&demo) || !sick_part(&demo))
        return EXIT_TROUBLE;
    (void)printf("\nBoth runs are in %s. Try more of it:\n"
                 "  plumb export %s --sqlite %s/sick.db\n"
                 "  %s faults\n"
                 "  plumb --help\n",
                 demo.folder, demo.sick, demo.folder, demo.lab);
    return EXIT_ALIKE;
}

const struct command command_demo = {
    .name = "demo",
    .summary = "a first look: trains a healthy and a sick network, and finds the fault",
    .operands = "[DIR]",
    .detail =
        "Prints every command before it runs it. Takes some seconds, needs no Python and\n"
        "no framework, and leaves both runs in DIR, which it makes (plumb-demo if none\n"
        "is named).\n\n"
        "  plumb demo\n"
        "  plumb show plumb-demo/sick --series loss\n",
    .options = {NULL, 0},
    .run = run,
};
