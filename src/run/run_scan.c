/*
 * run_scan.c - walks the blocks of one records.plumb.
 *
 * Headers are read one by one; only small kinds are read whole. Where a header does not hold, the
 * next one that does is searched for: what lies between is named and left out. Bytes at the end
 * that are no whole block are what a process was writing when it was killed, or is writing now.
 */
#include "run/run.h"

#include "base/error.h"
#include "base/memory.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SEARCH_CHUNK = 1 << 16 };

/* Reads up to `size` bytes; fewer at the end of the file. */
static enum plumb_status read_at(const struct plumb_rank_file *rank, uint64_t offset, void *to,
                                 size_t size, size_t *got, struct plumb_error *err)
{
    *got = 0;
    while (*got < size) {
        const ssize_t part =
            pread(rank->fd, (char *)to + *got, size - *got, (off_t)(offset + *got));
        if (part < 0 && errno == EINTR)
            continue;
        if (part < 0)
            return plumb_fail_errno(err, "read records.plumb in", rank->directory);
        if (part == 0)
            break;
        *got += (size_t)part;
    }
    return PLUMB_OK;
}

static bool fits(const struct plumb_block_header *header, uint64_t at, uint64_t size)
{
    return header->body_size <= size - at - PLUMB_BLOCK_HEADER;
}

/* The first whole block that begins at `from` or later; `size` if there is none. */
static enum plumb_status find_block(const struct plumb_rank_file *rank, uint64_t from,
                                    uint64_t size, uint64_t *found, struct plumb_error *err)
{
    unsigned char chunk[SEARCH_CHUNK];
    *found = size;
    for (uint64_t at = from; at + PLUMB_BLOCK_HEADER <= size;) {
        size_t got = 0;
        enum plumb_status status = read_at(rank, at, chunk, sizeof chunk, &got, err);
        if (status || got < PLUMB_BLOCK_HEADER)
            return status;
        const size_t starts = got - PLUMB_BLOCK_HEADER + 1;
        for (size_t i = 0; i < starts; i++) {
            struct plumb_block_header header;
            const unsigned char *next = memchr(chunk + i, plumb_block_magic[0], starts - i);
            if (!next)
                break;
            i = (size_t)(next - chunk);
            if (plumb_block_header_parse(next, &header) && fits(&header, at + i, size)) {
                *found = at + i;
                return PLUMB_OK;
            }
        }
        at += starts;
    }
    return PLUMB_OK;
}

static bool lose_block(struct plumb_run *run, const struct plumb_rank_file *rank,
                       const struct plumb_block_header *header,
                       const struct plumb_block_layout *layout)
{
    const bool has_steps = layout && layout->has_steps && header->last_step >= 0;
    const struct plumb_run_loss loss = {
        .what = header->kind == PLUMB_BLOCK_TENSORS  ? PLUMB_LOST_RECORDS
                : header->kind == PLUMB_BLOCK_SERIES ? PLUMB_LOST_SERIES
                : header->kind == PLUMB_BLOCK_CONFIG ? PLUMB_LOST_SETTINGS
                                                     : PLUMB_LOST_OTHER,
        .rank = rank->facts.rank,
        .first_step = has_steps && header->first_step > 0 ? header->first_step : 0,
        .last_step = has_steps ? header->last_step : -1,
        .has_head = header->first_step < header->last_step};
    return plumb_run_lose(run, &loss);
}

/* Tensor records end where a hole begins, and go on here. */
static bool end_hole(struct plumb_run *run, struct plumb_rank_file *rank,
                     const struct plumb_block_header *header)
{
    const struct plumb_run_loss loss = {.rank = rank->facts.rank,
                                        .first_step = rank->recorded_until,
                                        .last_step = header->first_step,
                                        .has_head = rank->recorded_until < header->first_step};
    if (header->kind != PLUMB_BLOCK_TENSORS)
        return true;
    const bool told = !rank->has_hole || plumb_run_lose(run, &loss);
    rank->has_hole = false;
    rank->recorded_until = header->last_step;
    return told;
}

enum plumb_status plumb_rank_load(struct plumb_run *run, struct plumb_rank_file *rank,
                                  struct plumb_block_place *place, struct plumb_buffer *body,
                                  struct plumb_block *block, bool *sound,
                                  struct plumb_error *err)
{
    const size_t size = (size_t)place->header.body_size;
    size_t got = 0;
    *sound = false;
    if (place->bad)
        return PLUMB_OK;
    plumb_buffer_clear(body);
    char *bytes = plumb_buffer_reserve(body, size);
    if (!bytes)
        return plumb_fail_memory(err);
    enum plumb_status status = read_at(rank, place->offset, bytes, size, &got, err);
    if (status)
        return status;
    const char *problem =
        got < size ? "it was cut off" : plumb_block_parse(&place->header, bytes, block);
    *sound = !problem;
    if (!problem)
        return PLUMB_OK;
    place->bad = true;
    const struct plumb_block_layout *layout = plumb_block_layout(place->header.kind);
    return lose_block(run, rank, &place->header, layout) &&
                   plumb_run_warn(
                       run, "rank %d: block %llu (%u rows of %s) at byte %llu is left out: %s",
                       rank->facts.rank, (unsigned long long)place->header.number,
                       place->header.rows, layout ? layout->name : "an unknown kind",
                       (unsigned long long)place->offset - PLUMB_BLOCK_HEADER, problem)
               ? PLUMB_OK
               : plumb_fail_memory(err);
}

static bool is_small_kind(unsigned kind)
{
    return kind == PLUMB_BLOCK_RANK || kind == PLUMB_BLOCK_CONFIG || kind == PLUMB_BLOCK_END ||
           kind == PLUMB_BLOCK_SERIES || kind == PLUMB_BLOCK_STACKS;
}

static void count_rows(struct plumb_run_rank *facts, const struct plumb_block_header *header)
{
    uint64_t *const counts[PLUMB_BLOCK_KINDS] = {
        [PLUMB_BLOCK_TENSORS] = &facts->records,
        [PLUMB_BLOCK_SPANS] = &facts->spans,
        [PLUMB_BLOCK_COUNTERS] = &facts->counters,
        [PLUMB_BLOCK_COLLECTIVES] = &facts->collectives,
        [PLUMB_BLOCK_STEPS] = &facts->steps,
    };
    if (header->kind < PLUMB_BLOCK_KINDS && counts[header->kind])
        *counts[header->kind] += header->rows;
    const struct plumb_block_layout *layout = plumb_block_layout(header->kind);
    if (!layout || !layout->has_steps || header->last_step < 0 || !header->rows)
        return;
    const int64_t first = header->first_step < 0 ? 0 : header->first_step;
    if (facts->first_step > facts->last_step) {
        facts->first_step = first;
        facts->last_step = header->last_step;
    }
    if (first < facts->first_step)
        facts->first_step = first;
    if (header->last_step > facts->last_step)
        facts->last_step = header->last_step;
}

static enum plumb_status keep_place(struct plumb_run *run, struct plumb_rank_file *rank,
                                    const struct plumb_block_place *place,
                                    struct plumb_error *err)
{
    if (rank->block_count == PLUMB_RUN_MOST_BLOCKS)
        return plumb_fail(err, PLUMB_LIMIT, -1, "%s: more than %d blocks", run->path,
                          PLUMB_RUN_MOST_BLOCKS);
    if (rank->block_count == rank->block_capacity) {
        const size_t larger = rank->block_capacity ? rank->block_capacity * 2 : 64;
        void *blocks = plumb_realloc_array(rank->blocks, larger, sizeof *rank->blocks);
        if (!blocks)
            return plumb_fail_memory(err);
        rank->blocks = blocks;
        rank->block_capacity = larger;
    }
    rank->blocks[rank->block_count++] = *place;
    return PLUMB_OK;
}

/* A block whose header holds and whose body is all there. */
static enum plumb_status take(struct plumb_run *run, struct plumb_rank_file *rank, uint64_t at,
                              const struct plumb_block_header *header, bool verify,
                              struct plumb_buffer *body, struct plumb_error *err)
{
    struct plumb_block_place place = {.offset = at + PLUMB_BLOCK_HEADER, .header = *header};
    const bool small = is_small_kind(header->kind);
    bool sound = true;
    struct plumb_block block;
    enum plumb_status status = PLUMB_OK;
    if (rank->next_number != header->number &&
        !plumb_run_warn(run, "rank %d: blocks %llu to %llu are missing before byte %llu",
                        rank->facts.rank, (unsigned long long)rank->next_number,
                        (unsigned long long)header->number - 1, (unsigned long long)at))
        return plumb_fail_memory(err);
    rank->has_hole |= rank->next_number != header->number;
    rank->next_number = header->number + 1;
    if (!plumb_block_layout(header->kind))
        return plumb_run_warn(run, "rank %d: a block of kind %u is of a newer Plumb; left out",
                              rank->facts.rank, header->kind)
                   ? PLUMB_OK
                   : plumb_fail_memory(err);
    if (small || verify)
        status = plumb_rank_load(run, rank, &place, body, &block, &sound, err);
    if (status || !sound)
        return status;
    if (!end_hole(run, rank, header))
        return plumb_fail_memory(err);
    count_rows(&rank->facts, header);
    return small ? plumb_run_take_block(run, rank, header->kind, &block, err)
                 : keep_place(run, rank, &place, err);
}

/* `at` is no whole block: goes to the next one, if there is one. */
static enum plumb_status skip(struct plumb_run *run, struct plumb_rank_file *rank, uint64_t *at,
                              uint64_t size, struct plumb_error *err)
{
    uint64_t next = size;
    enum plumb_status status = find_block(rank, *at + 1, size, &next, err);
    if (status)
        return status;
    if (next == size)
        return PLUMB_OK; /* the tail: judged once it is known whether the writer lives */
    if (!plumb_run_warn(run,
                        "rank %d: bytes %llu to %llu of records.plumb are damaged; left out",
                        rank->facts.rank, (unsigned long long)*at, (unsigned long long)next))
        return plumb_fail_memory(err);
    *at = next;
    return PLUMB_OK;
}

static enum plumb_status scan_blocks(struct plumb_run *run, struct plumb_rank_file *rank,
                                     uint64_t size, struct plumb_buffer *body,
                                     struct plumb_error *err)
{
    const bool verify = size <= PLUMB_RUN_VERIFY;
    uint64_t at = rank->scanned;
    enum plumb_status status = PLUMB_OK;
    while (status == PLUMB_OK && at < size) {
        unsigned char bytes[PLUMB_BLOCK_HEADER];
        struct plumb_block_header header;
        size_t got = 0;
        const uint64_t before = at;
        status = read_at(rank, at, bytes, sizeof bytes, &got, err);
        if (status)
            break;
        if (got == sizeof bytes && plumb_block_header_parse(bytes, &header) &&
            fits(&header, at, size)) {
            status = take(run, rank, at, &header, verify, body, err);
            at += PLUMB_BLOCK_HEADER + header.body_size;
            continue;
        }
        status = skip(run, rank, &at, size, err);
        if (at == before)
            break;
    }
    rank->scanned = at;
    return status;
}

enum plumb_status plumb_rank_scan(struct plumb_run *run, struct plumb_rank_file *rank,
                                  struct plumb_error *err)
{
    struct stat info;
    struct plumb_buffer body;
    if (fstat(rank->fd, &info) != 0)
        return plumb_fail_errno(err, "examine", rank->directory);
    plumb_buffer_init(&body, PLUMB_BLOCK_LARGEST);
    const enum plumb_status status = scan_blocks(run, rank, (uint64_t)info.st_size, &body, err);
    plumb_buffer_release(&body);
    return status;
}
