/*
 * npy_dump.c - a directory of .npy files as records: what TroubleShooter's save() leaves, or anybody.
 *
 *     {name}[.{index}]_[{suffix}_]{dtype}_{number}.npy    TroubleShooter; the number counts saves
 *     {name}.npy                                          anybody; in the order of names
 */
#include "base/error.h"
#include "base/listing.h"
#include "base/text.h"
#include "format/value_records.h"

#include <stdio.h>
#include <string.h>

enum { MOST_FILES = 50000, NAME_SIZE = 512 };

static bool is_array(const char *name)
{
    return plumb_text_ends(name, ".npy");
}

static enum plumb_probe probe_directory(const char *path)
{
    return plumb_listing_has(path, MOST_FILES, is_array) ? PLUMB_PROBE_MAYBE : PLUMB_PROBE_NO;
}

static enum plumb_status find(struct plumb_record_parts *parts, const char *path,
                              struct plumb_error *err)
{
    const struct plumb_record_part part = {.path = path, .has_step = true, .has_values = true};
    return plumb_record_parts_add(parts, &part, err);
}

/* Cuts "_part" off the end; false if there is no underscore. */
static bool cut_last(char *name, const char **part)
{
    char *underscore = strrchr(name, '_');
    if (!underscore || underscore == name)
        return false;
    *underscore = '\0';
    *part = underscore + 1;
    return true;
}

/* The name of a save, if the file's name has dtype and number at its end. */
static bool parse_save(char *name, int64_t *number, bool *backward)
{
    char copy[NAME_SIZE];
    const char *digits, *dtype, *suffix;
    enum plumb_dtype known;
    (void)snprintf(copy, sizeof copy, "%s", name);
    if (!cut_last(copy, &digits) || (*number = plumb_numbered_name(digits, "")) < 0 ||
        !cut_last(copy, &dtype) || !plumb_dtype_from_name(dtype, &known))
        return false;
    char whole[NAME_SIZE];
    (void)snprintf(whole, sizeof whole, "%s", copy);
    *backward = cut_last(copy, &suffix) && strcmp(suffix, "backward") == 0;
    (void)snprintf(name, NAME_SIZE, "%s", *backward ? copy : whole);
    return true;
}

/* "attn.0": element 0 of what was saved as attn. */
static void split_index(char *name, char slot[64])
{
    char *dot = strrchr(name, '.');
    (void)snprintf(slot, 64, "output0");
    if (dot && dot != name && plumb_numbered_name(dot + 1, "") >= 0) {
        (void)snprintf(slot, 64, "output%.50s", dot + 1);
        *dot = '\0';
    }
}

static bool add(struct plumb_value_files *files, struct plumb_table *calls, const char *file,
                size_t place)
{
    char name[NAME_SIZE], slot[64], key[NAME_SIZE + 96];
    int64_t number = 0;
    bool backward = false;
    size_t call = 0;
    (void)snprintf(name, sizeof name, "%.*s", (int)(strlen(file) - 4), file);
    const bool saved = parse_save(name, &number, &backward);
    split_index(name, slot);
    (void)snprintf(key, sizeof key, "%s %s %d", name, slot, backward);
    if (plumb_table_get(calls, key, &call))
        call++;
    const char *kept = plumb_arena_text(&files->arena, key, strlen(key));
    const struct plumb_value_file item = {
        .file = file,
        .module = "",
        .op = name,
        .slot = slot,
        .call = (int)call,
        .phase = backward ? PLUMB_PHASE_BACKWARD : PLUMB_PHASE_FORWARD,
        .order = saved ? number : (int64_t)place,
    };
    return kept && plumb_table_put(calls, kept, call) && plumb_value_files_add(files, &item);
}

static enum plumb_status read_directory(const struct plumb_record_part *part,
                                        const struct plumb_record_feed *feed,
                                        struct plumb_error *err)
{
    struct plumb_listing listing;
    struct plumb_value_files files = {0};
    struct plumb_table calls = {0};
    enum plumb_status status = plumb_listing_read(part->path, MOST_FILES, &listing, err);
    if (status)
        return status;
    for (size_t i = 0; i < listing.count && !status; i++)
        if (is_array(listing.names[i]) && !add(&files, &calls, listing.names[i], i))
            status = plumb_fail_memory(err);
    plumb_value_files_sort(&files);
    if (!status)
        status = plumb_value_files_emit(&files, part, feed, err);
    plumb_table_release(&calls);
    plumb_value_files_release(&files);
    plumb_listing_release(&listing);
    return status;
}

static enum plumb_status open_values(const struct plumb_record_part *part,
                                     struct plumb_file **file, struct plumb_error *err)
{
    return plumb_record_open_directory(part->path, file, err);
}

const struct plumb_record_format plumb_record_format_npy_dump = {
    .entry = {.name = "npy-dump",
              .summary = "a directory of .npy files, such as TroubleShooter saves",
              .detail =
                  "Each file is one record. Of TroubleShooter's names, x_float32_3.npy and\n"
                  "x.0_backward_float16_7.npy, the last number gives the order; other files\n"
                  "come in the order of their names. plumb show lists such a directory as\n"
                  "tensors; it is read as records where a run is asked for."},
    .framework = "",
    .probe_directory = probe_directory,
    .find = find,
    .read = read_directory,
    .open_values = open_values,
};
