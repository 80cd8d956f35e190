/*
 * catch_dump.c - text dumps of Cambricon CATCH's Dumper.
 *
 *     {dir}/{k}_{op}/[{j}_{child}/ ...]  mlu_{argument}, cnnl_result, cpu_result
 *     Tensor : Type = Float : Shape = [2, 3] : Stride = [3, 1] : Dumped = 6
 *     0.5
 *     ...
 *
 * With all values dumped, statistics and fingerprint are of all; a dump of the first ten says only
 * shape and type. 64-bit integers are printed through a 32-bit pointer by CATCH and not believed.
 */
#include "base/error.h"
#include "base/listing.h"
#include "base/memory.h"
#include "base/text.h"
#include "format/log_rows.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { MOST_NAMES = 1 << 20, DEEPEST = 16, MOST_VALUES = 64 << 20, HEADER_SIZE = 1024 };

struct dump {
    const struct plumb_record_part *part;
    const struct plumb_record_feed *feed;
    struct plumb_arena arena;
    struct plumb_table calls; /* "module op" so far */
    int64_t ordinal;
    size_t partial, wide, unreadable;
    char first_unreadable[256];
    bool stopped, failed;
};

/* "12_conv2d"; 0 if the name is not of that kind. */
static size_t op_offset(const char *name)
{
    size_t digits = 0;
    while (name[digits] >= '0' && name[digits] <= '9')
        digits++;
    return digits && digits < 10 && name[digits] == '_' && name[digits + 1] ? digits + 1 : 0;
}

static bool is_input(const char *name)
{
    return plumb_text_starts(name, "mlu_");
}

static bool is_result(const char *name)
{
    return strcmp(name, "cnnl_result") == 0 || strcmp(name, "cpu_result") == 0;
}

static bool join(char path[4096], const char *directory, const char *name)
{
    return snprintf(path, 4096, "%s/%s", directory, name) < 4096;
}

static bool holds_results(const char *path, int depth)
{
    struct plumb_listing listing;
    bool found = false;
    if (plumb_listing_read(path, MOST_NAMES, &listing, NULL))
        return false;
    for (size_t i = 0; i < listing.count && !found; i++) {
        char below[4096];
        found = depth > 0 && (is_input(listing.names[i]) || is_result(listing.names[i]));
        if (!found && depth < 3 && op_offset(listing.names[i]) &&
            join(below, path, listing.names[i]))
            found = holds_results(below, depth + 1);
    }
    plumb_listing_release(&listing);
    return found;
}

static enum plumb_probe probe_directory(const char *path)
{
    return holds_results(path, 0) ? PLUMB_PROBE_CERTAIN : PLUMB_PROBE_NO;
}

static enum plumb_status find(struct plumb_record_parts *parts, const char *path,
                              struct plumb_error *err)
{
    const struct plumb_record_part part = {.path = path, .has_step = true};
    return plumb_record_parts_add(parts, &part, err);
}

/* ---- one file ----------------------------------------------------------------------------------------- */

static bool parse_dtype(const char *text, enum plumb_dtype *dtype)
{
    static const struct {
        const char *name;
        enum plumb_dtype dtype;
    } types[] = {{"Float", PLUMB_F32},    {"Half", PLUMB_F16}, {"Double", PLUMB_F64},
                 {"Int", PLUMB_I32},      {"Long", PLUMB_I64}, {"Short", PLUMB_I16},
                 {"Char", PLUMB_I8},      {"Byte", PLUMB_U8},  {"Bool", PLUMB_BOOL},
                 {"BFloat16", PLUMB_BF16}};
    const size_t length = strcspn(text, " :");
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strlen(types[i].name) == length && memcmp(text, types[i].name, length) == 0) {
            *dtype = types[i].dtype;
            return true;
        }
    return false;
}

/* "[2, 3]", whole */
static bool parse_shape(const char *text, struct plumb_tensor_record *record, int64_t *shape)
{
    return *text == '[' && strchr(text, ']') &&
           plumb_shape_in_words(text, shape, &record->dims);
}

/* The text after "name = " in the header; NULL if it is not there. */
static const char *field(const char *header, const char *name)
{
    const char *at = strstr(header, name);
    if (!at)
        return NULL;
    at += strlen(name);
    return at + strspn(at, " =");
}

/* All values, one a line, turned into the tensor's own type. */
static bool examine(struct dump *dump, const struct plumb_map *map, size_t at, int64_t count,
                    struct plumb_tensor_record *record)
{
    double *numbers = plumb_alloc_array((size_t)count + 1, sizeof *numbers);
    void *values = plumb_alloc_array((size_t)count + 1, plumb_dtype_size(record->dtype));
    const char *line;
    size_t length;
    bool torn = false;
    int64_t found = 0;
    if (!numbers || !values) {
        dump->failed = true;
    } else {
        while (found < count && plumb_log_next_line(map, &at, &line, &length, &torn))
            found += plumb_log_number(line, length, &numbers[found]) > 0;
        if (found == count &&
            !plumb_convert_values(PLUMB_F64, numbers, record->dtype, values, (size_t)count,
                                  PLUMB_ROUND_NEAREST_EVEN, NULL)) {
            plumb_values_stats(record->dtype, values, (size_t)count, &record->stats);
            record->fingerprint =
                plumb_values_fingerprint(record->dtype, values, (size_t)count);
            record->fingerprint_kind = PLUMB_FINGERPRINT_OWN;
            record->has_stats = true;
        }
    }
    plumb_free(numbers);
    plumb_free(values);
    return record->has_stats;
}

/* Are there as many lines as values? */
static bool has_lines(const struct plumb_map *map, size_t at, int64_t count)
{
    const char *line;
    size_t length;
    bool torn;
    while (count > 0 && plumb_log_next_line(map, &at, &line, &length, &torn))
        count -= length > 0;
    return count == 0;
}

static bool read_tensor(struct dump *dump, const struct plumb_map *map,
                        struct plumb_tensor_record *record, int64_t *shape)
{
    char header[HEADER_SIZE];
    size_t at = 0, length;
    const char *line;
    bool torn;
    int64_t count = 0;
    double dumped = 0;
    if (!plumb_log_next_line(map, &at, &line, &length, &torn) || length >= sizeof header)
        return false;
    memcpy(header, line, length);
    header[length] = '\0';
    const char *type = field(header, "Type"), *size = field(header, "Shape");
    const char *many = field(header, "Dumped");
    if (!plumb_text_starts(header, "Tensor") || !type || !size || !many ||
        !parse_dtype(type, &record->dtype) || !parse_shape(size, record, shape) ||
        !plumb_shape_count(record->dims, shape, &count) ||
        !plumb_log_number(many, strlen(many), &dumped))
        return false;
    const bool wide = record->dtype == PLUMB_I64;
    const bool partial = dumped < (double)count || count > MOST_VALUES;
    dump->wide += wide;
    dump->partial += partial && !wide;
    if (wide || partial)
        return true;
    return dump->feed->count_only ? has_lines(map, at, count)
                                  : examine(dump, map, at, count, record);
}

static void take_file(struct dump *dump, const char *directory, const char *name,
                      struct plumb_tensor_record record)
{
    char path[4096], slot[512];
    int64_t shape[PLUMB_MAX_RANK];
    struct plumb_map *map = NULL;
    if (is_input(name))
        (void)snprintf(slot, sizeof slot, "input:%.500s", name + 4);
    else
        (void)snprintf(slot, sizeof slot, "%s",
                       strcmp(name, "cpu_result") == 0 ? "reference0" : "output0");
    record.slot = slot;
    record.shape = shape;
    record.origin = name;
    if (!join(path, directory, name) || plumb_map_open(path, &map, NULL))
        return;
    if (read_tensor(dump, map, &record, shape))
        dump->stopped |= !dump->feed->record(dump->feed->context, &record);
    else if (map->size >= 6 && memcmp(map->base, "Tensor", 6) == 0 && dump->unreadable++ == 0)
        (void)snprintf(dump->first_unreadable, sizeof dump->first_unreadable, "%.250s", path);
    plumb_map_close(map);
}

/* ---- the tree ------------------------------------------------------------------------------------------ */

static void walk(struct dump *dump, const char *path, const char *module, int depth);

static bool count_call(struct dump *dump, const char *module, const char *op, int *call)
{
    char key[2048];
    size_t count = 0;
    (void)snprintf(key, sizeof key, "%s %s", module, op);
    (void)plumb_table_get(&dump->calls, key, &count);
    const char *copy = plumb_arena_text(&dump->arena, key, strlen(key));
    *call = (int)count;
    return copy && plumb_table_put(&dump->calls, copy, count + 1);
}

/* Inputs, then the operators it is made of, then its results. */
static void take_op(struct dump *dump, const char *path, const char *module, const char *op,
                    int depth)
{
    struct plumb_listing listing;
    char label[2048], number[16] = "", inside[1024];
    struct plumb_tensor_record record = {.rank = dump->part->rank,
                                         .step = dump->part->step,
                                         .module = module,
                                         .op = op,
                                         .label = label,
                                         .element = -1,
                                         .time_ns = dump->ordinal++};
    if (!count_call(dump, module, op, &record.call)) {
        dump->failed = true;
        return;
    }
    if (record.call > 0)
        (void)snprintf(number, sizeof number, "#%d", record.call);
    (void)snprintf(label, sizeof label, "%s%s%s%s", module, *module ? "." : "", op, number);
    (void)snprintf(inside, sizeof inside, "%s%s%s", module, *module ? "." : "", op);
    if (plumb_listing_read(path, MOST_NAMES, &listing, NULL))
        return;
    for (size_t i = 0; i < listing.count && !dump->stopped && !dump->failed; i++)
        if (is_input(listing.names[i]))
            take_file(dump, path, listing.names[i], record);
    if (depth < DEEPEST)
        walk(dump, path, inside, depth + 1);
    record.time_ns = dump->ordinal++;
    for (size_t i = 0; i < listing.count && !dump->stopped && !dump->failed; i++)
        if (is_result(listing.names[i]))
            take_file(dump, path, listing.names[i], record);
    plumb_listing_release(&listing);
}

static void walk(struct dump *dump, const char *path, const char *module, int depth)
{
    struct plumb_listing listing;
    if (plumb_listing_read(path, MOST_NAMES, &listing, NULL))
        return;
    for (size_t i = 0; i < listing.count && !dump->stopped && !dump->failed; i++) {
        const size_t op = op_offset(listing.names[i]);
        char below[4096];
        struct stat info;
        if (op && join(below, path, listing.names[i]) && lstat(below, &info) == 0 &&
            S_ISDIR(info.st_mode))
            take_op(dump, below, module, listing.names[i] + op, depth);
    }
    plumb_listing_release(&listing);
}

static enum plumb_status tell(const struct dump *dump, struct plumb_error *err)
{
    enum plumb_status status = PLUMB_OK;
    if (dump->unreadable)
        status = plumb_record_warn(dump->feed, true, err,
                                   "%s: %zu tensors are not whole or not understood; left out, "
                                   "the first is %s",
                                   dump->part->path, dump->unreadable, dump->first_unreadable);
    if (!status && dump->partial)
        status = plumb_record_warn(dump->feed, false, err,
                                   "%s: of %zu tensors only the first values were dumped; only "
                                   "their shape and type is known",
                                   dump->part->path, dump->partial);
    if (!status && dump->wide)
        status =
            plumb_record_warn(dump->feed, false, err,
                              "%s: %zu tensors of 64-bit integers: CATCH prints them wrong; "
                              "only their shape is taken",
                              dump->part->path, dump->wide);
    return status;
}

static enum plumb_status read_dump(const struct plumb_record_part *part,
                                   const struct plumb_record_feed *feed,
                                   struct plumb_error *err)
{
    struct dump dump = {.part = part, .feed = feed};
    if (!feed->record)
        return PLUMB_OK;
    walk(&dump, part->path, "", 0);
    enum plumb_status status = dump.failed    ? plumb_fail_memory(err)
                               : dump.stopped ? plumb_fail(err, PLUMB_STOPPED, -1, "stopped")
                                              : tell(&dump, err);
    plumb_table_release(&dump.calls);
    plumb_arena_release(&dump.arena);
    return status;
}

const struct plumb_record_format plumb_record_format_catch_dump = {
    .entry =
        {.name = "catch-dump",
         .summary = "text dumps of Cambricon CATCH: 12_conv2d/mlu_self, cnnl_result",
         .detail =
             "Operators nest as they call each other. mlu_x is called input:x, cnnl_result\n"
             "output0, cpu_result reference0. Where all values were dumped, statistics and\n"
             "fingerprint are computed; the first ten say only shape and type. 64-bit\n"
             "integers are printed wrong by CATCH: of these only the shape is taken."},
    .framework = "pytorch",
    .probe_directory = probe_directory,
    .find = find,
    .read = read_dump,
};
