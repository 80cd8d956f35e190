/* bisect_try.c - see bisect_try.h. */
#include "bisect_try.h"

#include "command.h"
#include "launch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LINE = 1 << 20, WORDS = 20 };

/* ---- the log ------------------------------------------------------------------------------------ */

static const char *path_in(const struct bisect *bisect, const char *name,
                           char path[BISECT_PATH])
{
    (void)snprintf(path, BISECT_PATH, "%s/%s", bisect->folder, name);
    return path;
}

static bool keep(struct bisect *bisect, const char *ops, double distance)
{
    if (bisect->result_count == bisect->result_room) {
        const size_t room = bisect->result_room ? 2 * bisect->result_room : 64;
        struct bisect_result *larger = realloc(bisect->results, room * sizeof *larger);
        if (!larger)
            return false;
        bisect->results = larger;
        bisect->result_room = room;
    }
    char *copy = strdup(ops);
    if (copy)
        bisect->results[bisect->result_count++] = (struct bisect_result){copy, distance};
    return copy != NULL;
}

/* Lines "good CMD", "bad CMD", "series NAME", then "try DISTANCE OPS". Only whole lines count. */
static bool read_line(struct bisect *bisect, char *line)
{
    const struct {
        const char *key, *value;
    } heads[] = {{"good ", bisect->good}, {"bad ", bisect->bad}, {"series ", bisect->series}};
    const size_t length = strlen(line);
    if (!length || line[length - 1] != '\n')
        return true;
    line[length - 1] = '\0';
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        if (strncmp(line, heads[i].key, strlen(heads[i].key)) == 0 &&
            strcmp(line + strlen(heads[i].key), heads[i].value) != 0)
            return false;
    if (strncmp(line, "try ", 4) != 0)
        return true;
    char *end = NULL;
    const double distance = strtod(line + 4, &end);
    return *end == ' ' ? keep(bisect, end + 1, distance) : true;
}

static void make_folders(const char *folder)
{
    char path[BISECT_PATH];
    (void)snprintf(path, sizeof path, "%s", folder);
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(path, 0777);
        *slash = '/';
    }
    (void)mkdir(path, 0777);
}

static bool write_head(const struct bisect *bisect, const char *path)
{
    FILE *file = fopen(path, "w");
    const bool written = file && fprintf(file, "good %s\nbad %s\nseries %s\n", bisect->good,
                                         bisect->bad, bisect->series) > 0;
    return file && fclose(file) == 0 && written;
}

bool bisect_open(struct bisect *bisect)
{
    char path[BISECT_PATH];
    make_folders(bisect->folder);
    FILE *file = fopen(path_in(bisect, "tries.log", path), "r");
    if (!file) {
        if (write_head(bisect, path))
            return true;
        (void)fprintf(stderr, "plumb bisect: %s: cannot write it; choose another --out DIR\n",
                      path);
        return false;
    }
    char *line = malloc(LINE);
    bool same = line != NULL;
    while (same && fgets(line, LINE, file))
        same = read_line(bisect, line);
    free(line);
    (void)fclose(file);
    if (!same)
        (void)fprintf(
            stderr, "plumb bisect: %s is of other commands; choose another --out DIR\n", path);
    return same;
}

void bisect_close(struct bisect *bisect)
{
    for (size_t i = 0; i < bisect->result_count; i++)
        free(bisect->results[i].ops);
    free(bisect->results);
    for (size_t i = 0; i < bisect->op_count; i++)
        free(bisect->ops[i]);
    free(bisect->ops);
    plumb_run_close(bisect->reference);
}

static bool log_try(struct bisect *bisect, const char *ops, double distance)
{
    char path[BISECT_PATH];
    FILE *file = fopen(path_in(bisect, "tries.log", path), "a");
    const bool written = file && fprintf(file, "try %.9g %s\n", distance, ops) > 0;
    if (!file || fclose(file) != 0 || !written)
        (void)fprintf(stderr, "plumb bisect: %s: this try could not be logged\n", path);
    return keep(bisect, ops, distance);
}

/* ---- running -------------------------------------------------------------------------------------- */

/* `plumb run OPTIONS --out folder/name -- sh -c COMMAND`, its output to folder/name.txt. */
static bool run_command(struct bisect *bisect, const char *name, const char *const *options,
                        const char *command)
{
    char self[BISECT_PATH] = "", out[BISECT_PATH], said[BISECT_PATH], file[64];
    const char *words[WORDS] = {"/bin/sh", "-c", "exec \"$@\" >\"$0\" 2>&1", said, self, "run"};
    size_t count = 6;
    int status = 0;
    const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length <= 0)
        return false;
    (void)snprintf(file, sizeof file, "%s.txt", name);
    (void)path_in(bisect, name, out);
    (void)path_in(bisect, file, said);
    while (*options)
        words[count++] = *options++;
    const char *const rest[] = {"--out", out, "--", "/bin/sh", "-c", command, NULL};
    for (size_t i = 0; rest[i]; i++)
        words[count++] = rest[i];
    words[count] = NULL;
    if (!launch((char *const *)(uintptr_t)words, NULL, &status))
        return false;
    bisect->interrupted =
        WIFSIGNALED(status) || (WIFEXITED(status) && WEXITSTATUS(status) > 128);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool bisect_run_good(struct bisect *bisect)
{
    char path[BISECT_PATH];
    struct plumb_error error;
    static const char *const options[] = {NULL};
    const bool is_run = plumb_run_is(bisect->good);
    (void)path_in(bisect, "good", path);
    if (!is_run && !plumb_run_is(path) && !run_command(bisect, "good", options, bisect->good)) {
        (void)fprintf(stderr, "plumb bisect: the good command failed; see %s.txt\n", path);
        return false;
    }
    if (plumb_run_open(is_run ? bisect->good : path, &bisect->reference, &error))
        return fail(&error) != EXIT_TROUBLE;
    if (plumb_run_find_series(bisect->reference, bisect->series, -1))
        return true;
    (void)fprintf(stderr,
                  "plumb bisect: the good run has no series '%s'; choose one with "
                  "--series NAME\n",
                  bisect->series);
    return false;
}

/* Largest relative difference over the steps of the good run; all of them have to be there. */
static double distance_of(const struct bisect *bisect, const char *path)
{
    struct plumb_run *run = NULL;
    double most = 0;
    if (plumb_run_open(path, &run, NULL))
        return HUGE_VAL;
    const struct plumb_series *a = plumb_run_find_series(bisect->reference, bisect->series, -1);
    const struct plumb_series *b = plumb_run_find_series(run, bisect->series, -1);
    if (!b || b->count < a->count)
        most = HUGE_VAL;
    for (size_t i = 0; i < a->count && isfinite(most); i++) {
        const double x = a->values[i], y = b->values[i];
        if (a->steps[i] != b->steps[i] || isfinite(x) != isfinite(y))
            most = HUGE_VAL;
        else if (isfinite(x) && fabs(y - x) > most * fabs(x))
            most = x == 0 ? fabs(y - x) : fabs(y - x) / fabs(x);
    }
    plumb_run_close(run);
    return most;
}

/* ---- ops ------------------------------------------------------------------------------------------- */

static bool add_op(struct bisect *bisect, const char *name, size_t length)
{
    for (size_t i = 0; i < bisect->op_count; i++)
        if (strlen(bisect->ops[i]) == length && strncmp(bisect->ops[i], name, length) == 0)
            return true;
    char **larger = realloc(bisect->ops, (bisect->op_count + 1) * sizeof *larger);
    if (!larger)
        return false;
    bisect->ops = larger;
    larger[bisect->op_count] = strndup(name, length);
    return larger[bisect->op_count++] != NULL;
}

static bool list_record(void *context, const struct plumb_tensor_record *record)
{
    if (strncmp(record->slot, "output", 6) != 0)
        return true;
    return add_op(context, record->label, strcspn(record->label, "#"));
}

/* A name is one thing to try; a pattern stands for the ops that it fits, "NAME*" also inside of modules. */
static enum plumb_status expand(struct bisect *bisect, struct plumb_run *run,
                                const char *pattern, struct plumb_error *error)
{
    char inside[BISECT_PATH];
    if (!strpbrk(pattern, "*?"))
        return add_op(bisect, pattern, strlen(pattern)) ? PLUMB_OK : PLUMB_NO_MEMORY;
    (void)snprintf(inside, sizeof inside, "*.%s", pattern);
    struct plumb_run_query query = {.rank = -1, .op = pattern};
    const enum plumb_status status =
        plumb_run_visit_records(run, &query, list_record, bisect, error);
    query.op = inside;
    return status ? status : plumb_run_visit_records(run, &query, list_record, bisect, error);
}

bool bisect_list_ops(struct bisect *bisect)
{
    static const char *const options[] = {"--level", "op", "--save", "fingerprint",
                                          "--steps", "0",  NULL};
    char path[BISECT_PATH];
    struct plumb_error error;
    struct plumb_run *run = NULL;
    char **patterns = bisect->ops;
    const size_t count = bisect->op_count;
    (void)path_in(bisect, "ops", path);
    if (!plumb_run_is(path))
        (void)run_command(bisect, "ops", options, bisect->bad); /* it may fail, being bad */
    bisect->ops = NULL;
    bisect->op_count = 0;
    enum plumb_status status = plumb_run_open(path, &run, &error);
    for (size_t i = 0; i < count; i++) {
        if (!status)
            status = expand(bisect, run, patterns[i], &error);
        free(patterns[i]);
    }
    free(patterns);
    plumb_run_close(run);
    if (status)
        return fail(&error) != EXIT_TROUBLE;
    if (!bisect->op_count)
        (void)fprintf(stderr,
                      "plumb bisect: no op of the bad command fits --ops; see plumb show "
                      "%s --op '*'\n",
                      path);
    return bisect->op_count > 0;
}

/* "gelu" of "blocks.0.gelu" */
static const char *kind_of(const char *op)
{
    const char *dot = strrchr(op, '.');
    return dot ? dot + 1 : op;
}

static bool add_to(char **list, const char *op)
{
    char *longer = NULL;
    if (asprintf(&longer, "%s,%s", *list, op) < 0)
        return false;
    free(*list);
    *list = longer;
    return true;
}

bool bisect_group_ops(struct bisect *bisect)
{
    size_t kept = 0;
    for (size_t i = 0; i < bisect->op_count; i++) {
        size_t k = 0;
        while (k < kept && strcmp(kind_of(bisect->ops[k]), kind_of(bisect->ops[i])) != 0)
            k++;
        if (k == kept) {
            bisect->ops[kept++] = bisect->ops[i];
            continue;
        }
        const bool added = add_to(&bisect->ops[k], bisect->ops[i]);
        free(bisect->ops[i]);
        if (!added)
            return false;
    }
    bisect->op_count = kept;
    return true;
}

bool bisect_ungroup_ops(struct bisect *bisect, const bool *chosen, bool *changed)
{
    char **groups = bisect->ops;
    const size_t count = bisect->op_count;
    bool added = true;
    size_t before = 0;
    bisect->ops = NULL;
    bisect->op_count = 0;
    for (size_t i = 0; i < count; i++) {
        before += chosen[i];
        for (const char *at = groups[i]; chosen[i] && added && *at;) {
            const size_t length = strcspn(at, ",");
            added = add_op(bisect, at, length);
            at += length + (at[length] == ',');
        }
        free(groups[i]);
    }
    free(groups);
    *changed = bisect->op_count > before;
    return added;
}

/* ---- a try ------------------------------------------------------------------------------------------ */

static char *join(const struct bisect *bisect, const bool *chosen, char separator)
{
    size_t size = 1;
    for (size_t i = 0; i < bisect->op_count && chosen; i++)
        size += chosen[i] ? strlen(bisect->ops[i]) + 1 : 0;
    char *text = malloc(size), *at = text;
    for (size_t i = 0; i < bisect->op_count && chosen && text; i++)
        if (chosen[i]) {
            if (at != text)
                *at++ = separator;
            at = stpcpy(at, bisect->ops[i]);
        }
    if (text)
        *at = '\0';
    return text;
}

/* A list may be longer than the environment: it goes through a file. */
static bool write_list(struct bisect *bisect, const bool *chosen, const char *path)
{
    char *list = join(bisect, chosen, '\n');
    FILE *file = list ? fopen(path, "w") : NULL;
    const bool written = file && fprintf(file, "%s\n", list) > 0;
    free(list);
    return file && fclose(file) == 0 && written;
}

static bool run_try(struct bisect *bisect, const bool *chosen, const char *key,
                    double *distance)
{
    char name[32], path[BISECT_PATH], at_path[BISECT_PATH + 1], file[64];
    size_t number = bisect->result_count;
    do /* one that was interrupted may be there */
        (void)snprintf(name, sizeof name, "try%03zu", number++);
    while (plumb_run_is(path_in(bisect, name, path)));
    (void)snprintf(file, sizeof file, "%s.ops", name);
    at_path[0] = '@';
    (void)path_in(bisect, file, path);
    (void)snprintf(at_path + 1, sizeof at_path - 1, "%s", path);
    const char *const plain[] = {NULL};
    const char *const changed[] = {"--compute-in", "float64", "--ops", at_path, NULL};
    if (*key && !write_list(bisect, chosen, path)) {
        (void)fprintf(stderr, "plumb bisect: %s: cannot write it\n", path);
        return false;
    }
    bisect->started++;
    const bool well = run_command(bisect, name, *key ? changed : plain, bisect->bad);
    *distance = well ? distance_of(bisect, path_in(bisect, name, path)) : HUGE_VAL;
    return !bisect->interrupted && log_try(bisect, key, *distance);
}

bool bisect_try(struct bisect *bisect, const bool *chosen, double *distance)
{
    char *key = join(bisect, chosen, ',');
    if (!key)
        return false;
    for (size_t i = 0; i < bisect->result_count; i++)
        if (strcmp(bisect->results[i].ops, key) == 0) {
            *distance = bisect->results[i].distance;
            free(key);
            return true;
        }
    const bool tried = !bisect->interrupted && bisect->started < bisect->most &&
                       run_try(bisect, chosen, key, distance);
    free(key);
    return tried;
}
