/*
 * msprobe_dump.c - walks a dump.json and hands over its operations; see msprobe_dump.h.
 *
 * An operation counts once it is whole: a file that was being written is read up to the last one
 * that is. The order of the keys is the order of execution.
 */
#include "format/msprobe_dump.h"

#include "base/error.h"
#include "base/json_write.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

enum { LABEL_SIZE = 2048 };

struct dump {
    const struct plumb_record_part *part;
    const struct plumb_record_feed *feed;
    const char *path;
    struct plumb_json_pull pull;
    struct plumb_msprobe_op op;
    struct plumb_msprobe_places places;
    struct plumb_arena arena;
    struct plumb_table seen;      /* names of operations */
    struct plumb_table sequences; /* collectives of a group so far */
    int64_t ordinal;              /* of the operation */
    size_t repeated, overflowed;
    const char *first_repeated;
    const char *last; /* name of the last whole operation */
    char first_overflowed[256];
    bool stopped; /* the feed wants no more */
};

/* ---- one operation --------------------------------------------------------------------------- */

static enum plumb_phase phase_of(const struct plumb_msprobe_name *name)
{
    if (name->collective)
        return PLUMB_PHASE_COLLECTIVE;
    return name->backward ? PLUMB_PHASE_BACKWARD : PLUMB_PHASE_FORWARD;
}

static void emit_records(struct dump *dump, const struct plumb_msprobe_name *name,
                         const struct plumb_msprobe_place *place)
{
    const struct plumb_msprobe_op *op = &dump->op;
    char label[LABEL_SIZE] = "", number[16] = "";
    if (place->call > 0)
        (void)snprintf(number, sizeof number, "#%d", place->call);
    if (!op->count_only)
        (void)snprintf(label, sizeof label, "%s%s%s%s", place->module,
                       *place->module && *place->op ? "." : "", place->op, number);
    for (size_t i = 0; i < op->count && !dump->stopped; i++) {
        const struct plumb_msprobe_leaf *leaf = &op->leaves[i];
        const bool saved = leaf->data_name != SIZE_MAX && dump->part->has_values;
        const struct plumb_tensor_record record = {
            .rank = dump->part->rank,
            .step = dump->part->step,
            .time_ns = dump->ordinal,
            .module = place->module,
            .op = place->op,
            .label = label,
            .call = place->call,
            .phase = phase_of(name),
            .slot = op->text.data + leaf->slot,
            .dtype = leaf->dtype,
            .dims = leaf->dims,
            .shape = leaf->shape,
            .fingerprint = leaf->fingerprint,
            .fingerprint_kind = leaf->fingerprint_kind,
            .has_stats = leaf->has_stats,
            .partial_stats = leaf->is_tensor,
            .is_module = name->kind == PLUMB_MSPROBE_MODULE,
            .has_values = saved,
            .element = -1,
            .stats = leaf->stats,
            .value_name = saved ? op->text.data + leaf->data_name : NULL,
            .origin = plumb_buffer_string(&op->name),
        };
        dump->stopped = !dump->feed->record(dump->feed->context, &record);
    }
}

/* The number in input `slot`; -1 if that is none. */
static int64_t argument(const struct plumb_msprobe_op *op, const char *slot)
{
    for (size_t i = 0; i < op->count; i++)
        if (!op->leaves[i].is_tensor && strcmp(op->text.data + op->leaves[i].slot, slot) == 0)
            return (int64_t)op->leaves[i].stats.max;
    return -1;
}

static bool emit_collective(struct dump *dump, const char *group, const char *name,
                            uint64_t bytes)
{
    size_t sequence = 0;
    if (!plumb_table_get(&dump->sequences, group, &sequence)) {
        group = plumb_arena_text(&dump->arena, group, strlen(group));
        if (!group)
            return false;
    }
    if (!plumb_table_put(&dump->sequences, group, sequence + 1))
        return false;
    const struct plumb_rank_collective collective = {
        .rank = dump->part->rank,
        .step = dump->part->step,
        .collective = {.group = group,
                       .name = name,
                       .sequence = (int64_t)sequence,
                       .bytes = bytes,
                       .begin_ns = dump->ordinal,
                       .end_ns = dump->ordinal}};
    dump->stopped = !dump->feed->collective(dump->feed->context, &collective);
    return true;
}

static uint64_t tensor_bytes(const struct plumb_msprobe_op *op)
{
    for (size_t i = 0; i < op->count; i++)
        if (op->leaves[i].is_tensor)
            return op->leaves[i].stats.count * plumb_dtype_size(op->leaves[i].dtype);
    return 0;
}

/* A message from rank a to b is a collective of the group "a>b" on both. */
static bool emit_message(struct dump *dump, bool sends, int64_t peer, const char *name)
{
    char group[64];
    const int own = dump->part->rank;
    (void)snprintf(group, sizeof group, "%lld>%lld", sends ? (long long)own : (long long)peer,
                   sends ? (long long)peer : (long long)own);
    return emit_collective(dump, group, name, tensor_bytes(&dump->op));
}

static bool emit_collectives(struct dump *dump, const struct plumb_msprobe_place *place)
{
    const struct plumb_msprobe_op *op = &dump->op;
    const char *dot = strrchr(place->op, '.'), *name = dot ? dot + 1 : place->op;
    const bool sends = strstr(name, "send") != NULL, receives = strstr(name, "recv") != NULL;
    for (size_t i = 0; i < op->peer_count; i++)
        if (!emit_message(dump, op->peers[i].sends, op->peers[i].rank,
                          op->peers[i].sends ? "isend" : "irecv"))
            return false;
    if (op->peer_count)
        return true;
    if (sends || receives) {
        int64_t peer = argument(op, sends ? "input:dst" : "input:src");
        peer = peer < 0 ? argument(op, "input1") : peer;
        if (peer >= 0)
            return emit_message(dump, sends, peer, name);
    }
    return emit_collective(dump, op->group.size ? op->group.data : "world", name,
                           tensor_bytes(op));
}

static bool remember(struct dump *dump)
{
    size_t first = 0;
    const char *name = plumb_buffer_string(&dump->op.name);
    if (plumb_table_get(&dump->seen, name, &first)) {
        const bool told = dump->repeated++ > 0;
        dump->first_repeated =
            told ? dump->first_repeated : plumb_arena_text(&dump->arena, name, strlen(name));
        return dump->first_repeated != NULL;
    }
    const char *copy = plumb_arena_text(&dump->arena, name, strlen(name));
    dump->last = copy;
    return copy && plumb_table_put(&dump->seen, copy, (size_t)dump->ordinal);
}

/* False when out of memory. */
static bool take_op(struct dump *dump, const struct plumb_msprobe_name *name)
{
    struct plumb_msprobe_place place;
    const char *text = plumb_buffer_string(&dump->op.name);
    if (!plumb_msprobe_place_of(&dump->places, text, name, &place))
        return false;
    if (dump->feed->warn) { /* the first reading: later ones need not count again */
        if (!remember(dump))
            return false;
        if (dump->op.overflowed && dump->overflowed++ == 0)
            (void)snprintf(dump->first_overflowed, sizeof dump->first_overflowed, "%s", text);
    }
    if (dump->feed->record)
        emit_records(dump, name, &place);
    if (dump->feed->collective && name->collective && !dump->stopped &&
        !emit_collectives(dump, &place))
        return false;
    dump->ordinal++;
    return true;
}

/* ---- the file ------------------------------------------------------------------------------------ */

/* The members of "data". False when out of memory. */
static bool read_data(struct dump *dump, enum plumb_json_token token)
{
    if (token != PLUMB_JSON_OPEN_OBJECT)
        return plumb_json_pull_skip(&dump->pull, token) || true;
    while (!dump->stopped) {
        token = plumb_json_pull_next(&dump->pull);
        if (token != PLUMB_JSON_KEY)
            return true;
        plumb_msprobe_op_clear(&dump->op);
        plumb_json_pull_unescape(&dump->pull, &dump->op.name);
        const struct plumb_msprobe_name name =
            plumb_msprobe_name_parse(plumb_buffer_string(&dump->op.name));
        token = plumb_json_pull_next(&dump->pull);
        const bool whole = plumb_msprobe_op_read(&dump->op, &dump->pull, token, &name);
        if (dump->op.failed || (whole && !take_op(dump, &name)))
            return false;
        if (!whole)
            return true;
    }
    return true;
}

/* "task", "level", "framework": what kind of dump it is. */
static bool read_setting(struct dump *dump, const struct plumb_json_pull *key)
{
    struct plumb_buffer name, value;
    bool room = true;
    if (plumb_json_pull_is(key, "framework"))
        dump->op.is_mindspore = plumb_json_pull_is(&dump->pull, "mindspore");
    if (!dump->feed->config || plumb_json_pull_is(key, "dump_data_dir"))
        return true;
    plumb_buffer_init(&name, 1 << 16);
    plumb_buffer_init(&value, 1 << 16);
    plumb_json_pull_unescape(key, &name);
    plumb_json_pull_unescape(&dump->pull, &value);
    struct plumb_buffer json;
    plumb_buffer_init(&json, 1 << 20);
    struct plumb_json_writer writer = plumb_json_writer_of(&json);
    plumb_json_put_string(&writer, plumb_buffer_string(&value));
    room = !plumb_buffer_failed(&name) && !plumb_buffer_failed(&json);
    if (room)
        dump->stopped = !dump->feed->config(dump->feed->context, plumb_buffer_string(&name),
                                            plumb_buffer_string(&json));
    plumb_buffer_release(&name);
    plumb_buffer_release(&value);
    plumb_buffer_release(&json);
    return room;
}

static bool read_top(struct dump *dump)
{
    enum plumb_json_token token = plumb_json_pull_next(&dump->pull);
    if (token != PLUMB_JSON_OPEN_OBJECT) {
        dump->pull.problem = dump->pull.problem ? dump->pull.problem : "an object";
        return true;
    }
    bool room = true;
    while (room && !dump->stopped) {
        if (plumb_json_pull_next(&dump->pull) != PLUMB_JSON_KEY)
            return true;
        const struct plumb_json_pull key = dump->pull;
        token = plumb_json_pull_next(&dump->pull);
        if (plumb_json_pull_is(&key, "data"))
            room = read_data(dump, token);
        else if (token == PLUMB_JSON_TEXT)
            room = read_setting(dump, &key);
        else
            (void)plumb_json_pull_skip(&dump->pull, token);
    }
    return room;
}

static enum plumb_status tell(struct dump *dump, size_t size, struct plumb_error *err)
{
    const struct plumb_record_feed *feed = dump->feed;
    const struct plumb_json_pull *pull = &dump->pull;
    enum plumb_status status = PLUMB_OK;
    if (pull->problem)
        status = plumb_record_warn(
            feed, true, err,
            "%s: %s at byte %zu of %zu: expected %s; read up to there: %lld operations%s%s",
            dump->path, pull->at >= size ? "cut off" : "damaged", pull->at, size, pull->problem,
            (long long)dump->ordinal, dump->last ? ", the last is " : "",
            dump->last ? dump->last : "");
    if (!status && dump->repeated)
        status = plumb_record_warn(
            feed, false, err,
            "%s: %zu operations have the name of an earlier one; all are read, the first is %s",
            dump->path, dump->repeated, dump->first_repeated);
    if (!status && dump->op.unknown_dtypes)
        status = plumb_record_warn(
            feed, false, err,
            "%s: %zu tensors are of a type that Plumb does not know, left out; "
            "the first is %s",
            dump->path, dump->op.unknown_dtypes, dump->op.unknown_dtype);
    if (!status && dump->overflowed)
        status = plumb_record_warn(
            feed, false, err, "%s: msprobe's nan_check flagged %zu operations, the first is %s",
            dump->path, dump->overflowed, dump->first_overflowed);
    if (!status && dump->places.broken)
        status = plumb_record_warn(feed, true, err,
                                   "%s: its construct.json is cut off; operations after that "
                                   "are not placed in modules",
                                   dump->path);
    return status;
}

enum plumb_status plumb_msprobe_dump_read(const struct plumb_record_part *part,
                                          const char *dump_path,
                                          const struct plumb_record_feed *feed,
                                          struct plumb_error *err)
{
    struct dump dump = {
        .part = part, .feed = feed, .path = dump_path, .op.count_only = feed->count_only};
    char construct[4096];
    struct plumb_map *map = NULL;
    enum plumb_status status = plumb_map_open(dump_path, &map, err);
    if (status)
        return status;
    (void)snprintf(construct, sizeof construct, "%s/construct.json", part->path);
    status = plumb_msprobe_places_read(&dump.places, construct, err);
    if (!status) {
        dump.pull = plumb_json_pull_of(map->base, map->size);
        if (!read_top(&dump))
            status = plumb_fail_memory(err);
        if (!status && feed->warn && !dump.stopped)
            status = tell(&dump, map->size, err);
        plumb_msprobe_places_release(&dump.places);
    }
    plumb_msprobe_op_release(&dump.op);
    plumb_table_release(&dump.seen);
    plumb_table_release(&dump.sequences);
    plumb_arena_release(&dump.arena);
    plumb_map_close(map);
    return status;
}
