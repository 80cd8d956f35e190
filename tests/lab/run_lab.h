/*
 * run_lab.h - runs build/lab as a user would and reads what it printed and logged.
 */
#ifndef TESTS_RUN_LAB_H
#define TESTS_RUN_LAB_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum column {
    STEP,
    LOSS,
    RATE,
    GRADIENT,
    UPDATE,
    SCALE,
    SKIPPED,
    EVAL,
    ACCURACY,
    REPLICAS,
    NUMBERS
};
enum { MAX_ROWS = 256, TEXT = 20, MAX_WORDS = 40 };

struct lab_log {
    int rows;
    double value[NUMBERS][MAX_ROWS];
    char batch[MAX_ROWS][TEXT], weights[MAX_ROWS][TEXT];
    double seconds[MAX_ROWS];
};

#ifndef LAB_PROGRAM
#define LAB_PROGRAM "build/lab"
#endif

/* Splits "--net mlp --steps 5" and runs it; stdout goes to `out`, stderr to `messages` unless that
 * is NULL. Returns the exit status. */
static inline int run_lab_with(const char *out, const char *messages, const char *arguments)
{
    char text[1024], *words[MAX_WORDS] = {(char[]){LAB_PROGRAM}};
    int count = 1;
    snprintf(text, sizeof text, "%s", arguments);
    for (char *word = text; *word && count < MAX_WORDS - 1;) {
        words[count++] = word;
        word += strcspn(word, " ");
        while (*word == ' ')
            *word++ = '\0';
    }
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        int file = open(out, O_WRONLY | O_CREAT | O_TRUNC, 0644);
        int told =
            messages ? open(messages, O_WRONLY | O_CREAT | O_TRUNC, 0644) : STDERR_FILENO;
        if (file < 0 || dup2(file, STDOUT_FILENO) < 0 || dup2(told, STDERR_FILENO) < 0)
            _exit(99);
        execv(words[0], words);
        _exit(98);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 100;
}

static inline int run_lab(const char *out, const char *arguments)
{
    return run_lab_with(out, NULL, arguments);
}

static inline char *read_text(const char *path)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    char *text = calloc(1, 1 << 20);
    assert_non_null(text);
    size_t size = fread(text, 1, (1 << 20) - 1, file);
    text[size] = '\0';
    fclose(file);
    return text;
}

static inline void temporary(char *path, size_t size, const char *name)
{
    const char *folder = getenv("TMPDIR");
    snprintf(path, size, "%s/lab-%ld-%s", folder ? folder : "/tmp", (long)getpid(), name);
}

static inline void read_log(const char *path, struct lab_log *log)
{
    char *text = read_text(path), *line = strchr(text, '\n');
    log->rows = 0;
    while (line && *++line && log->rows < MAX_ROWS) {
        int row = log->rows++;
        char *at = line;
        for (int c = 0; c < NUMBERS; c++, at++)
            log->value[c][row] = strtod(at, &at);
        snprintf(log->batch[row], TEXT, "%.16s", at);
        snprintf(log->weights[row], TEXT, "%.16s", at + 17);
        log->seconds[row] = strtod(at + 34, NULL);
        line = strchr(line, '\n');
    }
    free(text);
}

/* `lab train` with these arguments; stops the test unless it succeeds. */
static inline void train(const char *arguments, struct lab_log *log)
{
    char out[256], path[256], all[1024];
    temporary(out, sizeof out, "out");
    temporary(path, sizeof path, "log");
    snprintf(all, sizeof all, "train --log %s %s", path, arguments);
    int status = run_lab(out, all);
    if (status != 0)
        fail_msg("exit %d of build/lab %s", status, all);
    read_log(path, log);
    unlink(out);
    unlink(path);
}

static inline double mean_of_last(const struct lab_log *log, enum column column, int count)
{
    double sum = 0;
    for (int i = log->rows - count; i < log->rows; i++)
        sum += log->value[column][i];
    return sum / count;
}

#endif
