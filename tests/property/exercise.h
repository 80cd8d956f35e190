/*
 * exercise.h - does with some bytes everything a user could, and checks the promises of plumb.h.
 *
 * Shared by the damage tests, the fuzzer and the replay of its corpus. The bytes may be anything:
 * they must be refused with one line that names the file, or open and then hold what they
 * claim. Crashes, leaks and undefined behaviour are the sanitizers' business.
 */
#ifndef PLUMB_TESTS_EXERCISE_H
#define PLUMB_TESTS_EXERCISE_H

#include "plumb.h"
#include "property/json_syntax.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Elements of all tensors together above which values are only sampled: a few bytes may
 * describe a broadcast view of any size, and walking it is slow, not wrong. */
enum { EXERCISE_MOST_ELEMENTS = 1 << 20 };

static inline bool exercise_is_printable(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (((unsigned char)text[i] < ' ' && text[i] != '\n') || text[i] == 0x7f)
            return false;
    return true;
}

static inline const char *exercise_about(const char *complaint, const char *text)
{
    static char both[2048];
    (void)snprintf(both, sizeof both, "%s: %s", complaint, text);
    return both;
}

/* NULL if `err` is a proper report of `status` about the file `name`. */
static inline const char *exercise_error(enum plumb_status status,
                                         const struct plumb_error *err, const char *name)
{
    if (err->status != status)
        return "the error's status is not the one returned";
    if (err->message[0] == '\0')
        return "no message";
    if (!exercise_is_printable(err->message, strlen(err->message)) ||
        strchr(err->message, '\n'))
        return "the message is not one line of plain text";
    if (status != PLUMB_NO_MEMORY && !strstr(err->message, name))
        return exercise_about("the message does not name the file", err->message);
    return NULL;
}

static inline const char *exercise_tensor(const struct plumb_tensor *tensor, const char *name)
{
    if (!tensor || !tensor->name)
        return "a tensor or its name is missing";
    if (tensor->rank < 0 || tensor->rank > PLUMB_MAX_RANK || tensor->dtype >= PLUMB_DTYPE_COUNT)
        return "rank or dtype out of range";
    int64_t count = 1;
    for (int i = 0; i < tensor->rank; i++) {
        if (tensor->shape[i] < 0)
            return "the shape is negative";
        if (tensor->shape[i] == 0)
            count = 0; /* then the others may be anything */
    }
    for (int i = 0; i < tensor->rank && count; i++)
        if (__builtin_mul_overflow(count, tensor->shape[i], &count))
            return "the shape overflows";
    if (count != tensor->count)
        return "the count is not the product of the shape";
    const int64_t piece = count < 4096 ? count : 4096;
    void *values = malloc((size_t)piece * 16 + 1);
    if (!values)
        return "the test is out of memory";
    const char *complaint = NULL;
    const int64_t starts[] = {0, count - piece};
    for (int i = 0; i < 2 && !complaint; i++) {
        struct plumb_error err = {0};
        const enum plumb_status status =
            plumb_tensor_read(tensor, starts[i], piece, values, &err);
        if (status != PLUMB_OK)
            complaint = exercise_error(status, &err, name);
    }
    free(values);
    return complaint;
}

struct exercise_text {
    char *bytes;
    size_t size;
};

static inline bool exercise_keep(void *context, const char *bytes, size_t size)
{
    struct exercise_text *text = context;
    char *grown = realloc(text->bytes, text->size + size + 1);
    if (!grown)
        return false;
    text->bytes = grown;
    memcpy(text->bytes + text->size, bytes, size);
    text->size += size;
    return true;
}

/* The report as text and as JSON: there, and the latter is JSON whatever the names in it. */
static inline const char *exercise_reports(struct plumb_file *file, const char *name)
{
    const char *complaint = NULL;
    for (int json = 0; json < 2 && !complaint; json++) {
        struct plumb_error err = {0};
        struct exercise_text text = {0};
        const struct plumb_sink sink = {exercise_keep, &text};
        const struct plumb_show_options show = {.stats = true, .json = json, .scan.threads = 1};
        const enum plumb_status status = plumb_report_file(file, &show, &sink, &err);
        if (status != PLUMB_OK)
            complaint = exercise_error(status, &err, name);
        else if (text.size == 0)
            complaint = "an empty report";
        else if (json && !json_is_valid(text.bytes, text.size))
            complaint = "the JSON report is not JSON";
        else if (!json && !exercise_is_printable(text.bytes, text.size))
            complaint = "the text report has control characters";
        free(text.bytes);
    }
    return complaint;
}

static inline const char *exercise_numbers(struct plumb_file *file, size_t count,
                                           const char *name)
{
    const struct plumb_scan_options scan = {.threads = 1};
    struct plumb_error err = {0};
    struct plumb_summary *summaries = calloc(count + 1, sizeof *summaries);
    if (!summaries)
        return "the test is out of memory";
    const enum plumb_status status = plumb_file_summarize(
        file, PLUMB_SUMMARY_STATS | PLUMB_SUMMARY_FINGERPRINT, &scan, summaries, &err);
    free(summaries);
    return status != PLUMB_OK ? exercise_error(status, &err, name)
                              : exercise_reports(file, name);
}

/* NULL if all promises hold, else what is wrong. `opened` (may be NULL) tells if they opened. */
static inline const char *exercise(const char *name, const void *bytes, size_t size,
                                   bool *opened)
{
    struct plumb_error err = {0};
    struct plumb_file *file = NULL;
    const enum plumb_status status =
        plumb_file_open_memory(name, bytes, size, NULL, &file, &err);
    if (opened)
        *opened = status == PLUMB_OK;
    if (status != PLUMB_OK)
        return file ? "a file that failed to open was returned"
                    : exercise_error(status, &err, name);
    const size_t count = plumb_file_tensor_count(file);
    const char *complaint = NULL;
    uint64_t elements = 0;
    for (size_t i = 0; i < count && !complaint; i++) {
        complaint = exercise_tensor(plumb_file_tensor(file, i), name);
        if (!complaint &&
            __builtin_add_overflow(elements, plumb_file_tensor(file, i)->count, &elements))
            elements = UINT64_MAX;
    }
    for (size_t i = 0; i < plumb_file_note_count(file) && !complaint; i++)
        if (!plumb_file_note(file, i)->key || !plumb_file_note(file, i)->json)
            complaint = "a note without key or value";
    for (size_t i = 0; i < plumb_file_warning_count(file) && !complaint; i++)
        if (!plumb_file_warning(file, i) || !*plumb_file_warning(file, i))
            complaint = "an empty warning";
    if (!complaint && elements < EXERCISE_MOST_ELEMENTS)
        complaint = exercise_numbers(file, count, name);
    plumb_file_close(file);
    return complaint;
}

/* The whole file in memory of exactly its size, so that reading past its end is seen. */
static inline unsigned char *exercise_load(const char *path, size_t *size)
{
    FILE *in = fopen(path, "rb");
    if (!in)
        return NULL;
    unsigned char *bytes = NULL;
    if (fseek(in, 0, SEEK_END) == 0 && ftell(in) >= 0) {
        *size = (size_t)ftell(in);
        rewind(in);
        bytes = malloc(*size ? *size : 1);
        if (bytes && fread(bytes, 1, *size, in) != *size) {
            free(bytes);
            bytes = NULL;
        }
    }
    fclose(in);
    return bytes;
}

#endif
