/* run_open.c - Plumb's own runs: finds the ranks, reads run.json, says how each rank ended. */
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
    struct plumb_buffer text;
    plumb_buffer_init(&text, RUN_JSON_LARGEST);
    struct plumb_json_writer json = plumb_json_writer_of(&text);
    put_scalar(&json, member);
    const bool added =
        !plumb_buffer_failed(&text) && plumb_run_add_note(run, member->key, text.data);
    plumb_buffer_release(&text);
    return added;
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

static enum plumb_status add_rank(struct plumb_run *run, const char *name,
                                  struct plumb_error *err)
{
    char path[4096];
    if (snprintf(path, sizeof path, "%s/%s/records.plumb", run->path, name) >= (int)sizeof path)
        return plumb_fail(err, PLUMB_LIMIT, -1, "%s: the path is too long", run->path);
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return errno == ENOENT || plumb_run_warn(run, "%s: %s", path, strerror(errno))
                   ? PLUMB_OK
                   : plumb_fail_memory(err);
    char *directory = plumb_arena_printf(&run->arena, "%s/%s", run->path, name);
    struct plumb_rank_file *rank = directory ? plumb_run_add_rank(run, rank_of(name)) : NULL;
    if (!rank) {
        (void)close(fd);
        return plumb_fail_memory(err);
    }
    rank->directory = directory;
    rank->fd = fd;
    return PLUMB_OK;
}

static enum plumb_status find_ranks(struct plumb_run *run, struct plumb_error *err)
{
    DIR *directory = opendir(run->path);
    if (!directory)
        return plumb_fail_errno(err, "list", run->path);
    enum plumb_status status = PLUMB_OK;
    for (const struct dirent *entry; !status && (entry = readdir(directory));) {
        const int number = rank_of(entry->d_name);
        if (number >= 0 && !plumb_run_find_rank(run, number))
            status = add_rank(run, entry->d_name, err);
    }
    (void)closedir(directory);
    plumb_run_sort_ranks(run);
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

/* What came after the last whole block, once it is known that nothing follows. */
static bool lose_tail(struct plumb_run *run, struct plumb_rank_file *rank)
{
    const struct plumb_run_loss loss = {.rank = rank->facts.rank,
                                        .first_step = rank->recorded_until,
                                        .last_step = INT64_MAX,
                                        .has_head = true};
    const bool told = rank->tail_told || rank->end_told;
    return told || plumb_run_lose(run, &loss);
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
             (!lose_tail(run, rank) ||
              !plumb_run_warn(run, "rank %d: was closed, but its last block is missing",
                              facts->rank))))
            return plumb_fail_memory(err);
        rank->end_told |= closed;
    }
    if (!was_running && rank->has_hole && !lose_tail(run, rank))
        return plumb_fail_memory(err);
    rank->has_hole &= was_running;
    if (was_running || rank->tail_told || fstat(rank->fd, &info) != 0 ||
        (uint64_t)info.st_size <= rank->scanned)
        return PLUMB_OK;
    if (!lose_tail(run, rank))
        return plumb_fail_memory(err);
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

static enum plumb_status refresh(struct plumb_run *run, struct plumb_error *err)
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

static enum plumb_probe probe(const char *path)
{
    char file[4096];
    struct stat info;
    if (stat(path, &info) != 0 || !S_ISDIR(info.st_mode))
        return PLUMB_PROBE_NO;
    DIR *directory = opendir(path);
    bool found = false;
    for (const struct dirent *entry; directory && !found && (entry = readdir(directory));)
        found = rank_of(entry->d_name) >= 0 &&
                snprintf(file, sizeof file, "%s/%s/records.plumb", path, entry->d_name) <
                    (int)sizeof file &&
                access(file, F_OK) == 0;
    if (directory)
        (void)closedir(directory);
    found |= snprintf(file, sizeof file, "%s/run.json", path) < (int)sizeof file &&
             access(file, F_OK) == 0;
    return found ? PLUMB_PROBE_CERTAIN : PLUMB_PROBE_NO;
}

static enum plumb_status open_own(struct plumb_run *run, struct plumb_error *err)
{
    const enum plumb_status status = read_run_json(run, err);
    return status ? status : refresh(run, err);
}

const struct plumb_run_source plumb_run_source_own = {
    .probe = probe,
    .open = open_own,
    .refresh = refresh,
    .visit_records = plumb_own_visit_records,
    .visit_steps = plumb_own_visit_steps,
    .visit_spans = plumb_own_visit_spans,
    .visit_counters = plumb_own_visit_counters,
    .visit_collectives = plumb_own_visit_collectives,
    .visit_flight = plumb_own_visit_flight,
    .open_values = plumb_own_open_values,
};
