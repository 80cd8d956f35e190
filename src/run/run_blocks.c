/* run_blocks.c - blocks that are read when a run is opened: series, configuration, stacks, end. */
#include "run/run.h"

#include "base/error.h"
#include "base/json.h"
#include "base/memory.h"

#include <stdio.h>
#include <string.h>

/* ---- series ------------------------------------------------------------------------------ */

/* Names repeat within a block: the last few are remembered by their offset. */
enum { REMEMBERED = 64 };

static enum plumb_status take_series(struct plumb_run *run, const struct plumb_rank_file *rank,
                                     const struct plumb_block *block, struct plumb_error *err)
{
    struct {
        uint32_t name;
        size_t index; /* in run->series, plus 1 */
    } known[REMEMBERED] = {{0, 0}};
    for (size_t i = 0; i < block->rows; i++) {
        struct plumb_block_series row;
        plumb_block_row(block, i, &row);
        const size_t slot = row.name % REMEMBERED;
        if (!known[slot].index || known[slot].name != row.name) {
            const struct plumb_series_growing *found =
                plumb_run_grow_series(run, rank->facts.rank, plumb_block_text(block, row.name));
            if (!found)
                return plumb_fail_memory(err);
            known[slot].name = row.name;
            known[slot].index = (size_t)(found - run->series) + 1;
        }
        if (!plumb_series_add_point(&run->series[known[slot].index - 1], row.step, row.value))
            return plumb_fail_memory(err);
    }
    return PLUMB_OK;
}

/* ---- pairs of keys and values ---------------------------------------------------------------- */

/* A configuration value that is not JSON is kept as a string. */
static const char *checked_json(struct plumb_run *run, const char *json)
{
    struct plumb_arena scratch = {0};
    const struct plumb_json_source source = {
        .path = run->path, .bytes = json, .size = strlen(json), .allow_nan = false};
    const struct plumb_json *root = NULL;
    const bool sound = plumb_json_parse(&scratch, &source, &root, NULL) == PLUMB_OK;
    plumb_arena_release(&scratch);
    if (sound)
        return plumb_arena_text(&run->arena, json, strlen(json));
    struct plumb_buffer text;
    plumb_buffer_init(&text, PLUMB_BLOCK_LARGEST);
    plumb_buffer_text(&text, "\"");
    for (const char *c = json; *c; c++)
        if ((unsigned char)*c >= ' ' && (unsigned char)*c < 0x7f && *c != '"' && *c != '\\')
            plumb_buffer_append(&text, c, 1);
        else
            plumb_buffer_text(&text, "?");
    plumb_buffer_text(&text, "\"");
    const char *copy =
        plumb_buffer_failed(&text) ? NULL : plumb_arena_text(&run->arena, text.data, text.size);
    plumb_buffer_release(&text);
    return copy;
}

static enum plumb_status take_config(struct plumb_run *run, const struct plumb_rank_file *rank,
                                     const char *key, const char *json, struct plumb_error *err)
{
    const char *checked = checked_json(run, json);
    return checked && plumb_run_add_config(run, rank->facts.rank, key, checked)
               ? PLUMB_OK
               : plumb_fail_memory(err);
}

static uint64_t digits(const char *text)
{
    uint64_t value = 0;
    for (; *text >= '0' && *text <= '9'; text++)
        value = value * 10 + (uint64_t)(*text - '0');
    return value;
}

static const char *string_of(struct plumb_run *run, const char *json, const char *otherwise)
{
    const struct plumb_json_source source = {
        .path = run->path, .bytes = json, .size = strlen(json)};
    const struct plumb_json *root = NULL;
    return plumb_json_parse(&run->arena, &source, &root, NULL) == PLUMB_OK &&
                   plumb_json_string(root)
               ? plumb_json_string(root)
               : otherwise;
}

static void take_end(struct plumb_run *run, struct plumb_rank_file *rank, const char *key,
                     const char *json)
{
    struct plumb_dropped *dropped = &rank->facts.dropped;
    const struct {
        const char *key;
        uint64_t *to;
    } numbers[] = {{"dropped_values", &dropped->values},
                   {"dropped_tensors", &dropped->tensors},
                   {"dropped_spans", &dropped->spans},
                   {"dropped_counters", &dropped->counters}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (strcmp(key, numbers[i].key) == 0)
            *numbers[i].to = digits(json);
    rank->has_end = true;
    if (strcmp(key, "how") == 0)
        rank->facts.how = string_of(run, json, rank->facts.how);
}

/* What the recorder was told: it says what the records can show. */
static void take_beginning(struct plumb_run *run, struct plumb_rank_file *rank, const char *key,
                           const char *json)
{
    if (strcmp(key, "level") == 0)
        rank->facts.level = string_of(run, json, rank->facts.level);
    else if (strcmp(key, "save") == 0)
        rank->facts.save = string_of(run, json, rank->facts.save);
}

static enum plumb_status take_pairs(struct plumb_run *run, struct plumb_rank_file *rank,
                                    unsigned kind, const struct plumb_block *block,
                                    struct plumb_error *err)
{
    enum plumb_status status = PLUMB_OK;
    for (size_t i = 0; i < block->rows && status == PLUMB_OK; i++) {
        struct plumb_block_pair row;
        plumb_block_row(block, i, &row);
        const char *key = plumb_block_text(block, row.key);
        const char *json = plumb_block_text(block, row.json);
        if (kind == PLUMB_BLOCK_CONFIG)
            status = take_config(run, rank, key, json, err);
        else if (kind == PLUMB_BLOCK_END)
            take_end(run, rank, key, json);
        else if (kind == PLUMB_BLOCK_RANK)
            take_beginning(run, rank, key, json);
    }
    return status;
}

enum plumb_status plumb_run_take_block(struct plumb_run *run, struct plumb_rank_file *rank,
                                       unsigned kind, const struct plumb_block *block,
                                       struct plumb_error *err)
{
    if (kind == PLUMB_BLOCK_SERIES)
        return take_series(run, rank, block, err);
    if (kind == PLUMB_BLOCK_STACKS)
        return plumb_rank_take_stacks(run, rank, block, err);
    return take_pairs(run, rank, kind, block, err);
}
