/*
 * cmd_run.c - `plumb run -- COMMAND`: records a training run without a change to its script.
 *
 * Two variables of the environment do it: PYTHONPATH starts with a folder whose sitecustomize.py attaches
 * to torch or mindspore when the program imports one, and PLUMB_CAPTURE says what to record.
 * Both are inherited, so launchers and nested processes need no care.
 */
#include "capture_place.h"
#include "capture_wish.h"
#include "command.h"
#include "launch.h"
#include "run_end.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { PATH_SIZE = 4096, FIRST_NEWS = 5, LATEST_NEWS = 60 };

static const struct option_row rows[] = {
    {"level", "LEVEL", "watch (default), module or op: what is looked at", OPTION_TEXT,
     offsetof(struct capture_wish, level)},
    {"save", "WHAT", "stats (default), fingerprint or tensors: what is kept", OPTION_TEXT,
     offsetof(struct capture_wish, save)},
    {"steps", "STEPS", "0-3,100,500-:50: tensors and spans of these steps only", OPTION_TEXT,
     offsetof(struct capture_wish, steps)},
    {"ranks", "RANKS", "0,8-15: these ranks only", OPTION_TEXT,
     offsetof(struct capture_wish, ranks)},
    {"ops", "LIST", "only what is called like this: patterns with * and ?, or @FILE",
     OPTION_TEXT, offsetof(struct capture_wish, ops)},
    {"reference", "WHICH",
     "cpu64, at level op: each result again in float64, and the difference", OPTION_TEXT,
     offsetof(struct capture_wish, reference)},
    {"compute-in", "TYPE",
     "float64: the results of --ops are those of float64. Changes the run", OPTION_TEXT,
     offsetof(struct capture_wish, compute_in)},
    {"against", "RUN", "compare with this run while training; save values where they part",
     OPTION_TEXT, offsetof(struct capture_wish, against)},
    {"out", "DIR", "where the run goes (default: runs/SCRIPT-DATE)", OPTION_TEXT,
     offsetof(struct capture_wish, out)},
};

extern const struct command command_run;

/* ---- arguments ------------------------------------------------------------------------------ */

/* Where the command begins: after "--", or at the first word that is no option of ours. */
static int find_command(int argc, char **argv, int *options)
{
    int i = 0;
    while (i < argc && strncmp(argv[i], "--", 2) == 0) {
        if (!argv[i][2]) {
            *options = i;
            return i + 1;
        }
        i += strchr(argv[i], '=') ? 1 : 2;
    }
    *options = i < argc ? i : argc;
    return *options;
}

/* "train" of ".../train.py" or of "-m train", wherever in the command it is; else the command's own name. A launcher may
 * be a module itself, so that a script goes first. */
static void name_script(char **command, char *name, size_t size)
{
    const char *script = command[0], *module = NULL;
    size_t i = 0;
    for (; command[i]; i++) {
        const size_t length = strlen(command[i]);
        if (length > 3 && strcmp(command[i] + length - 3, ".py") == 0)
            break;
        if (strcmp(command[i], "-m") == 0 && command[i + 1])
            module = command[i + 1];
    }
    if (command[i] || module)
        script = command[i] ? command[i] : module;
    const char *slash = strrchr(script, '/');
    const char *base = slash ? slash + 1 : script;
    (void)snprintf(name, size, "%.*s", (int)strcspn(base, "."), base);
}

static bool choose_directory(const struct capture_wish *arguments, char **command, char *path)
{
    char name[256] = "", date[32] = "", here[PATH_SIZE] = "";
    const char *wanted = arguments->out;
    const time_t now = time(NULL);
    struct tm broken;
    char made[512];
    if (!wanted) {
        name_script(command, name, sizeof name);
        (void)strftime(date, sizeof date, "%Y%m%d-%H%M%S", localtime_r(&now, &broken));
        (void)snprintf(made, sizeof made, "runs/%s-%s", name, date);
        wanted = made;
    }
    const bool absolute = wanted[0] == '/';
    if (!absolute && !getcwd(here, sizeof here))
        here[0] = '\0';
    if (snprintf(path, PATH_SIZE, "%s%s%s", here, absolute ? "" : "/", wanted) >= PATH_SIZE) {
        (void)fprintf(stderr, "plumb run: --out is too long\n");
        return false;
    }
    if (plumb_run_is(path)) {
        (void)fprintf(stderr, "plumb run: %s already holds a run; choose another --out\n",
                      wanted);
        return false;
    }
    return true;
}

/* ---- while it runs --------------------------------------------------------------------------- */

static bool cannot_be_written(const char *directory, const char *path)
{
    (void)fprintf(stderr,
                  "plumb run: %s: cannot be written (%s: %s); the command runs and "
                  "nothing is recorded; for a record choose another --out\n",
                  directory, path, strerror(errno));
    return false;
}

/* Told now rather than when the training has begun. A job that has waited for its turn for days runs all the same. The
 * first directory that is missing is made and removed again: root may write anywhere, as far as access() knows. */
static bool can_be_made(const char *directory)
{
    char path[PATH_SIZE], missing[PATH_SIZE] = "";
    (void)snprintf(path, sizeof path, "%s", directory);
    while (access(path, W_OK | X_OK) != 0) {
        char *slash = strrchr(path, '/');
        if (errno != ENOENT || !slash || slash == path)
            return cannot_be_written(directory, path);
        (void)snprintf(missing, sizeof missing, "%s", path);
        *slash = '\0';
    }
    if (*missing && mkdir(missing, 0777) == 0)
        (void)rmdir(missing);
    else if (*missing && errno != EEXIST)
        return cannot_be_written(directory, missing);
    return true;
}

struct news {
    const char *directory;
    struct plumb_run *run;
    int seconds, next; /* since the last line; until the next */
};

/* Whole lines, ever more rarely: the terminal is the script's. */
static void tell_news(void *context)
{
    struct news *news = context;
    if (++news->seconds < news->next)
        return;
    news->seconds = 0;
    if (!news->run &&
        (!plumb_run_is(news->directory) || plumb_run_open(news->directory, &news->run, NULL)))
        return;
    if (plumb_run_refresh(news->run, NULL) || !plumb_run_rank_count(news->run))
        return;
    const struct plumb_run_rank *rank = plumb_run_rank(news->run, 0);
    const struct plumb_series *loss = plumb_run_find_series(news->run, "loss", -1);
    (void)fprintf(stderr, "plumb: %llu steps", (unsigned long long)rank->steps);
    if (loss && loss->count)
        (void)fprintf(stderr, ", loss %.6g", loss->values[loss->count - 1]);
    (void)fprintf(stderr, "\n");
    if (news->next < LATEST_NEWS)
        news->next *= 2;
}

static int run_unrecorded(char **command)
{
    int status = 0;
    return launch(command, NULL, &status) ? launch_exit(status) : EXIT_TROUBLE;
}

static int run(int argc, char **argv)
{
    struct capture_wish arguments = {0};
    struct text_list operands = {0};
    char site[PATH_SIZE], directory[PATH_SIZE];
    int options = 0, status = 0;
    const int first = find_command(argc, argv, &options);
    if (!options_parse("run", &command_run.options, options, argv, &arguments, &operands))
        return EXIT_TROUBLE;
    if (first >= argc)
        return fail_usage(&command_run, "say what to run");
    char **command = argv + first;
    if (!capture_wish_check(&arguments) || !capture_wish_like_other(&arguments) ||
        !choose_directory(&arguments, command, directory) || !capture_place(site, sizeof site))
        return EXIT_TROUBLE;
    if (!can_be_made(directory))
        return run_unrecorded(command);
    if (!capture_wish_tell(&arguments, directory, site, command)) {
        (void)fprintf(stderr, "plumb run: the environment has no room for the options\n");
        return EXIT_TROUBLE;
    }
    struct news news = {.directory = directory, .next = FIRST_NEWS};
    const struct launch_watch watch = {tell_news, &news};
    const bool started = launch(command, isatty(STDERR_FILENO) ? &watch : NULL, &status);
    plumb_run_close(news.run);
    if (!started)
        return EXIT_TROUBLE;
    run_end_say(directory, arguments.against, status);
    return launch_exit(status);
}

const struct command command_run = {
    .name = "run",
    .summary = "record a training run without a change to its script",
    .operands = "-- COMMAND...",
    .detail =
        "Starts the command and attaches to torch or mindspore inside of it, also through\n"
        "torchrun, msrun, mpirun, accelerate and nested processes. Losses and weights stay "
        "the\n"
        "same to the last bit. watch costs almost nothing: loss, learning rate, norms, loss\n"
        "scale, phases of the step. module and op add the tensors of each module or "
        "operation.\n"
        "Signals and the exit code are the command's own. With --against every record is\n"
        "compared with that of another run as it is made: the first that differs is told at\n"
        "once and at the end, and the values around it are saved.\n\n"
        "  plumb run -- python train.py --lr 0.1\n"
        "  plumb run --level module --steps 0-3 --out runs/first -- torchrun train.py\n"
        "  plumb run --against runs/reference -- python migrated.py\n",
    .options = {rows, sizeof rows / sizeof *rows},
    .run = run,
};
