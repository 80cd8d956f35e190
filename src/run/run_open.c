/* run_open.c - finds the ranks of a run, reads run.json, and says how each rank ended. */
#include "run/run.h"

#include "base/error.h"
#include "base/json.h"
#include "base/json_write.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/text.h"
#include "format/flight_ring.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RUN_JSON_LARGEST = 16 << 20 };

static const char *const ended_names[PLUMB_ENDED_COUNT] = {
    [PLUMB_ENDED_CLOSED] = "closed",
    [PLUMB_ENDED_RUNNING] = "running",
    [PLUMB_ENDED_STOPPED] = "stopped",
    [PLUMB_ENDED_KILLED] = "killed",
};

const char *plumb_ended_name(enum plumb_ended ended)
{
    return (unsigned)ended < PLUMB_ENDED_COUNT ? ended_names[ended] : "unknown";
}

bool plumb_run_warn(struct plumb_run *run, const char *format, ...)
{
    if (run->warning_count == PLUMB_RUN_MOST_WARNINGS) {
        run->warnings_left_out++;
        return true;
    }
    if (run->warning_count == run->warning_capacity) {
        const size_t larger = run->warning_capacity ? run->warning_capacity * 2 : 8;
        void *warnings = plumb_realloc_array(run->warnings, larger, sizeof *run->warnings);
        if (!warnings)
            return false;
        run->warnings = warnings;
        run->warning_capacity = larger;
    }
    char text[1024];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    const char *copy = plumb_arena_text(&run->arena, text, strlen(text));
    if (copy)
        run->warnings[run->warning_count++] = copy;
    return copy != NULL;
}

/* ---- run.json --------------------------------------------------------------------------- */

static void put_scalar(struct plumb_json_writer *json, const struct plumb_json *value)
{
    switch (value->kind) {
    case PLUMB_JSON_STRING:
        plumb_json_put_text(json, value->text, value->length);
        break;
    case PLUMB_JSON_INT:
    case PLUMB_JSON_DOUBLE:
        plumb_json_put_raw(json, value->text);
        break;
    case PLUMB_JSON_BOOL:
        plumb_json_put_bool(json, value->boolean);
        break;
    case PLUMB_JSON_NULL:
    case PLUMB_JSON_ARRAY: /* run.json has none; a later version's are not for us */
    case PLUMB_JSON_OBJECT:
        plumb_json_put_null(json);
        break;
    }
}

static bool add_note(struct plumb_run *run, const struct plumb_json *member)
{
    if (run->note_count == run->note_capacity) {
        const size_t larger = run->note_capacity ? run->note_capacity * 2 : 16;
        void *notes = plumb_realloc_array(run->notes, larger, sizeof *run->notes);
        if (!notes)
            return false;
        run->notes = notes;
        run->note_capacity = larger;
    }
    struct plumb_buffer text;
    plumb_buffer_init(&text, RUN_JSON_LARGEST);
    struct plumb_json_writer json = plumb_json_writer_of(&text);
    put_scalar(&json, member);
    struct plumb_note *note = &run->notes[run->note_count];
    note->key = member->key;
    note->json =
        plumb_buffer_failed(&text) ? NULL : plumb_arena_text(&run->arena, text.data, text.size);
    plumb_buffer_release(&text);
    run->note_count += note->json != NULL;
    return note->json != NULL;
}

static enum plumb_status parse_run_json(struct plumb_run *run, const struct plumb_map *map,
                                        struct plumb_error *err)
{
    const struct plumb_json_source source = {
        .path = map->path, .bytes = map->base, .size = map->size};
    const struct plumb_json *root = NULL;
    struct plumb_error reason;
    const enum plumb_status status =
        map->size > RUN_JSON_LARGEST
            ? plumb_fail(&reason, PLUMB_LIMIT, -1, "run.json is larger than 16 MiB")
            : plumb_json_parse(&run->arena, &source, &root, &reason);
    if (status == PLUMB_NO_MEMORY)
        return plumb_fail_memory(err);
    if (status)
        return plumb_run_warn(run, "left out: %s", reason.message) ? PLUMB_OK
                                                                   : plumb_fail_memory(err);
    run->note_count = 0;
    for (const struct plumb_json *member = root->first; member; member = member->next)
        if (root->kind == PLUMB_JSON_OBJECT && !add_note(run, member))
            return plumb_fail_memory(err);
    return PLUMB_OK;
}

static enum plumb_status read_run_json(struct plumb_run *run, struct plumb_error *err)
{
    char *path = plumb_arena_printf(&run->arena, "%s/run.json", run->path);
    struct plumb_map *map = NULL;
    struct plumb_error reason;
    if (!path)
        return plumb_fail_memory(err);
    enum plumb_status status = plumb_map_open(path, &map, &reason);
    if (status == PLUMB_NO_MEMORY)
        return plumb_fail_memory(err);
    if (status)
        return plumb_run_warn(run, "%s", reason.message) ? PLUMB_OK : plumb_fail_memory(err);
    status = parse_run_json(run, map, err);
    plumb_map_close(map);
    return status;
}

/* ---- ranks ------------------------------------------------------------------------------ */

/* The number in "rank0012"; -1 if the name is not of that kind. */
static int rank_of(const char *name)
{
    int number = 0;
    if (!plumb_text_starts(name, "rank") || !name[4])
        return -1;
    for (const char *c = name + 4; *c; c++) {
        if (*c < '0' || *c > '9' || number > PLUMB_RUN_MOST_RANKS)
            return -1;
        number = number * 10 + (*c - '0');
    }
    return number;
}

static bool has_rank(const struct plumb_run *run, int number)
{
    for (size_t i = 0; i < run->rank_count; i++)
        if (run->ranks[i].facts.rank == number)
            return true;
    return false;
}

static enum plumb_status add_rank(struct plumb_run *run, const char *name,
                                  struct plumb_error *err)
{
    char path[4096];
    if (snprintf(path, sizeof path, "%s/%s/records.plumb", run->path, name) >= (int)sizeof path)
        return plumb_fail(err, PLUMB_LIMIT, -1, "%s: the path is too long", run->path);
    if (run->rank_count == run->rank_capacity) {
        const size_t larger = run->rank_capacity ? run->rank_capacity * 2 : 8;
        void *ranks = plumb_realloc_array(run->ranks, larger, sizeof *run->ranks);
        if (!ranks)
            return plumb_fail_memory(err);
        run->ranks = ranks;
        run->rank_capacity = larger;
    }
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return errno == ENOENT || plumb_run_warn(run, "%s: %s", path, strerror(errno))
                   ? PLUMB_OK
                   : plumb_fail_memory(err);
    char *directory = plumb_arena_printf(&run->arena, "%s/%s", run->path, name);
    if (!directory) {
        (void)close(fd);
        return plumb_fail_memory(err);
    }
    run->ranks[run->rank_count++] = (struct plumb_rank_file){
        .facts = {.rank = rank_of(name), .how = "", .first_step = 0, .last_step = -1},
        .directory = directory,
        .fd = fd};
    return PLUMB_OK;
}

static int by_rank(const void *left, const void *right)
{
    const struct plumb_rank_file *a = left, *b = right;
    return a->facts.rank < b->facts.rank ? -1 : a->facts.rank > b->facts.rank;
}

static enum plumb_status find_ranks(struct plumb_run *run, struct plumb_error *err)
{
    DIR *directory = opendir(run->path);
    if (!directory)
        return plumb_fail_errno(err, "list", run->path);
    enum plumb_status status = PLUMB_OK;
    for (const struct dirent *entry; !status && (entry = readdir(directory));) {
        const int number = rank_of(entry->d_name);
        if (number >= 0 && !has_rank(run, number))
            status = add_rank(run, entry->d_name, err);
    }
    (void)closedir(directory);
    if (run->rank_count > 1)
        qsort(run->ranks, run->rank_count, sizeof *run->ranks, by_rank);
    return status;
}

/* ---- how a rank ended -------------------------------------------------------------------- */

/* The recorder holds a lock on its file as long as its process lives. */
static bool is_running(const struct plumb_rank_file *rank)
{
    struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
    return fcntl(rank->fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

static bool read_flight_state(const struct plumb_rank_file *rank,
                              struct plumb_flight_header *header)
{
    char path[4096];
    struct plumb_map *map = NULL;
    if (snprintf(path, sizeof path, "%s/flight.plumb", rank->directory) >= (int)sizeof path ||
        plumb_map_open(path, &map, NULL))
        return false;
    const bool sound = plumb_flight_load_header(map->base, map->size, header);
    plumb_map_close(map);
    return sound;
}

static enum plumb_status judge_end(struct plumb_run *run, struct plumb_rank_file *rank,
                                   bool was_running, struct plumb_error *err)
{
    struct plumb_run_rank *facts = &rank->facts;
    struct plumb_flight_header flight;
    struct stat info;
    facts->ended = rank->has_end ? PLUMB_ENDED_CLOSED
                   : was_running ? PLUMB_ENDED_RUNNING
                                 : PLUMB_ENDED_KILLED;
    if (!rank->has_end && read_flight_state(rank, &flight) &&
        flight.state != PLUMB_FLIGHT_RECORDING) {
        /* The ring knows that it was closed, or why it was not, also if the last block is lost. */
        const bool closed = flight.state == PLUMB_FLIGHT_CLOSED;
        facts->ended = closed ? PLUMB_ENDED_CLOSED : PLUMB_ENDED_STOPPED;
        facts->how = plumb_arena_text(&run->arena, flight.message, strlen(flight.message));
        if (!facts->how ||
            (closed && !rank->end_told &&
             !plumb_run_warn(run, "rank %d: was closed, but its last block is missing",
                             facts->rank)))
            return plumb_fail_memory(err);
        rank->end_told |= closed;
    }
    if (was_running || rank->tail_told || fstat(rank->fd, &info) != 0 ||
        (uint64_t)info.st_size <= rank->scanned)
        return PLUMB_OK;
    rank->tail_told = true;
    return plumb_run_warn(run,
                          "rank %d: the last %llu bytes of records.plumb are not a whole "
                          "block, from byte %llu on; left out",
                          facts->rank, (unsigned long long)info.st_size - rank->scanned,
                          (unsigned long long)rank->scanned)
               ? PLUMB_OK
               : plumb_fail_memory(err);
}

/* Files of saved values, and those that were not finished. */
static enum plumb_status count_saved(struct plumb_run *run, struct plumb_rank_file *rank,
                                     bool was_running, struct plumb_error *err)
{
    DIR *directory = opendir(rank->directory);
    if (!directory)
        return PLUMB_OK;
    bool enough = true;
    rank->facts.saved = 0;
    for (const struct dirent *entry; enough && (entry = readdir(directory));) {
        if (!plumb_text_starts(entry->d_name, "step"))
            continue;
        if (plumb_text_ends(entry->d_name, ".npz"))
            rank->facts.saved++;
        else if (strstr(entry->d_name, ".npz.tmp-") && !was_running && !rank->tail_told)
            enough = plumb_run_warn(run, "rank %d: %s was not finished; left out",
                                    rank->facts.rank, entry->d_name);
    }
    (void)closedir(directory);
    return enough ? PLUMB_OK : plumb_fail_memory(err);
}

/* ---- the run ------------------------------------------------------------------------------ */

enum plumb_status plumb_run_refresh(struct plumb_run *run, struct plumb_error *err)
{
    enum plumb_status status = find_ranks(run, err);
    for (size_t i = 0; i < run->rank_count && status == PLUMB_OK; i++) {
        struct plumb_rank_file *rank = &run->ranks[i];
        /* Asked first: a rank that ends meanwhile is read whole the next time. */
        const bool running = is_running(rank);
        status = plumb_rank_scan(run, rank, err);
        if (status == PLUMB_OK)
            status = count_saved(run, rank, running, err);
        if (status == PLUMB_OK)
            status = judge_end(run, rank, running, err);
    }
    return status;
}

bool plumb_run_is(const char *path)
{
    char file[4096];
    struct stat info;
    if (stat(path, &info) != 0 || !S_ISDIR(info.st_mode))
        return false;
    DIR *directory = opendir(path);
    bool found = false;
    for (const struct dirent *entry; directory && !found && (entry = readdir(directory));)
        found = rank_of(entry->d_name) >= 0 &&
                snprintf(file, sizeof file, "%s/%s/records.plumb", path, entry->d_name) <
                    (int)sizeof file &&
                access(file, F_OK) == 0;
    if (directory)
        (void)closedir(directory);
    return found || (snprintf(file, sizeof file, "%s/run.json", path) < (int)sizeof file &&
                     access(file, F_OK) == 0);
}

enum plumb_status plumb_run_open(const char *path, struct plumb_run **out,
                                 struct plumb_error *err)
{
    if (!plumb_run_is(path))
        return plumb_fail(err, PLUMB_NOT_FOUND, -1,
                          "%s: not a recorded run; give the directory that holds run.json",
                          path);
    struct plumb_run *run = plumb_alloc_array(1, sizeof *run);
    if (!run)
        return plumb_fail_memory(err);
    run->path = plumb_copy_string(path);
    enum plumb_status status = run->path ? read_run_json(run, err) : plumb_fail_memory(err);
    if (status == PLUMB_OK)
        status = plumb_run_refresh(run, err);
    if (status) {
        plumb_run_close(run);
        return status;
    }
    *out = run;
    return PLUMB_OK;
}

void plumb_run_close(struct plumb_run *run)
{
    if (!run)
        return;
    for (size_t i = 0; i < run->rank_count; i++) {
        (void)close(run->ranks[i].fd);
        plumb_free(run->ranks[i].blocks);
    }
    for (size_t i = 0; i < run->series_count; i++) {
        plumb_free(run->series[i].steps);
        plumb_free(run->series[i].values);
    }
    plumb_table_release(&run->series_names);
    plumb_arena_release(&run->arena);
    plumb_free(run->ranks);
    plumb_free(run->series);
    plumb_free(run->configs);
    plumb_free(run->notes);
    plumb_free(run->warnings);
    plumb_free(run->path);
    plumb_free(run);
}
