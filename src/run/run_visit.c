/* run_visit.c - rows of Plumb's own runs that stay on disk until somebody asks: steps, records,
 * spans, counters, collectives, flight. */
#include "run/run.h"

#include "base/error.h"
#include "base/map.h"
#include "base/text.h"
#include "format/flight_ring.h"

#include <stdio.h>
#include <string.h>

enum { LABEL_SIZE = 4096 };

/* Turns a row of a block into what the visitor sees. False: stop. */
struct visitor {
    unsigned kind;
    const struct plumb_run_query *query;
    bool (*row)(struct visitor *visitor, int rank, const struct plumb_block *block, size_t i);
    union {
        bool (*record)(void *context, const struct plumb_tensor_record *record);
        bool (*step)(void *context, const struct plumb_run_step *step);
        bool (*span)(void *context, const struct plumb_span *span);
        bool (*counter)(void *context, const struct plumb_counter *counter);
        bool (*collective)(void *context, const struct plumb_rank_collective *collective);
    } visit;
    void *context;
    const struct plumb_rank_file *file; /* of the rank that is being visited */
    char label[LABEL_SIZE], value[LABEL_SIZE + 512];
};

static bool visit_block(struct visitor *visitor, int rank, const struct plumb_block *block)
{
    for (size_t i = 0; i < block->rows; i++) {
        int64_t step = 0;
        if (block->columns[0]) /* every kind with steps has them first */
            memcpy(&step, block->columns[0] + i * sizeof step, sizeof step);
        if (plumb_query_wants_steps(visitor->query, step, step) &&
            !visitor->row(visitor, rank, block, i))
            return false;
    }
    return true;
}

static enum plumb_status visit_rank(struct plumb_run *run, struct plumb_rank_file *rank,
                                    struct visitor *visitor, struct plumb_buffer *body,
                                    bool *go_on, struct plumb_error *err)
{
    visitor->file = rank;
    for (size_t i = 0; i < rank->block_count && *go_on; i++) {
        struct plumb_block_place *place = &rank->blocks[i];
        struct plumb_block block;
        bool sound = false;
        if (place->header.kind != visitor->kind ||
            !plumb_query_wants_steps(visitor->query, place->header.first_step,
                                     place->header.last_step))
            continue;
        enum plumb_status status = plumb_rank_load(run, rank, place, body, &block, &sound, err);
        if (status)
            return status;
        *go_on = !sound || visit_block(visitor, rank->facts.rank, &block);
    }
    return PLUMB_OK;
}

static enum plumb_status visit_all(struct plumb_run *run, struct visitor *visitor,
                                   struct plumb_error *err)
{
    struct plumb_buffer body;
    enum plumb_status status = PLUMB_OK;
    bool go_on = true;
    plumb_buffer_init(&body, PLUMB_BLOCK_LARGEST);
    for (size_t i = 0; i < run->rank_count && !status && go_on; i++) {
        struct plumb_rank_file *rank = &run->ranks[i];
        if (plumb_query_wants_rank(visitor->query, rank->facts.rank))
            status = visit_rank(run, rank, visitor, &body, &go_on, err);
    }
    plumb_buffer_release(&body);
    return status;
}

/* ---- tensor records ----------------------------------------------------------------------- */

/* "64,3,7,7"; false if it is not a shape. */
static bool parse_shape(const char *text, int64_t *shape, int *dims)
{
    *dims = 0;
    while (*text) {
        int64_t number = 0;
        if (*dims == PLUMB_MAX_RANK || *text < '0' || *text > '9')
            return false;
        for (; *text >= '0' && *text <= '9'; text++)
            if (__builtin_mul_overflow(number, 10, &number) ||
                __builtin_add_overflow(number, *text - '0', &number))
                return false;
        shape[(*dims)++] = number;
        if (*text == ',')
            text++;
        else if (*text)
            return false;
    }
    return true;
}

static void make_label(struct visitor *visitor, const char *module, const char *op, int call)
{
    char number[16] = "";
    if (call > 0)
        (void)snprintf(number, sizeof number, "#%d", call);
    (void)snprintf(visitor->label, sizeof visitor->label, "%s%s%s%s", module,
                   *module && *op ? "." : "", op, number);
}

/* As the recorder names the tensor in the step's npz. */
static void name_value(struct visitor *visitor, struct plumb_tensor_record *record)
{
    if (!record->has_values)
        return;
    if (*record->label)
        (void)snprintf(visitor->value, sizeof visitor->value, "%s/%s/%s", record->label,
                       plumb_phase_name(record->phase), record->slot);
    else
        (void)snprintf(visitor->value, sizeof visitor->value, "%s", record->slot);
    record->value_name = visitor->value;
}

static bool record_row(struct visitor *visitor, int rank, const struct plumb_block *block,
                       size_t i)
{
    struct plumb_block_tensor row;
    int64_t shape[PLUMB_MAX_RANK];
    plumb_block_row(block, i, &row);
    struct plumb_tensor_record record = {
        .rank = rank,
        .step = row.step,
        .time_ns = row.time_ns,
        .module = plumb_block_text(block, row.module),
        .op = plumb_block_text(block, row.op),
        .label = visitor->label,
        .call = row.call,
        .phase =
            row.phase < PLUMB_PHASE_COUNT ? (enum plumb_phase)row.phase : PLUMB_PHASE_FORWARD,
        .slot = plumb_block_text(block, row.slot),
        .shape = shape,
        .fingerprint = row.fingerprint,
        .fingerprint_kind = row.fingerprint || !row.stats.count ? PLUMB_FINGERPRINT_OWN
                                                                : PLUMB_FINGERPRINT_NONE,
        .has_stats = row.flags & PLUMB_TENSOR_HAS_STATS,
        .has_values = row.flags & PLUMB_TENSOR_HAS_VALUES,
        .element = row.element,
        .stats = row.stats,
        .stack = plumb_rank_stack(visitor->file, row.stack),
    };
    make_label(visitor, record.module, record.op, record.call);
    name_value(visitor, &record);
    if (!plumb_query_wants_record(visitor->query, &record) ||
        !plumb_dtype_from_name(plumb_block_text(block, row.dtype), &record.dtype) ||
        !parse_shape(plumb_block_text(block, row.shape), shape, &record.dims))
        return true;
    return visitor->visit.record(visitor->context, &record);
}

enum plumb_status
plumb_own_visit_records(struct plumb_run *run, const struct plumb_run_query *query,
                        bool (*visit)(void *context, const struct plumb_tensor_record *record),
                        void *context, struct plumb_error *err)
{
    struct visitor visitor = {.kind = PLUMB_BLOCK_TENSORS,
                              .query = query,
                              .row = record_row,
                              .visit.record = visit,
                              .context = context};
    return visit_all(run, &visitor, err);
}

/* ---- steps, spans, counters, collectives ---------------------------------------------------- */

static bool step_row(struct visitor *visitor, int rank, const struct plumb_block *block,
                     size_t i)
{
    struct plumb_block_step row;
    plumb_block_row(block, i, &row);
    const struct plumb_run_step step = {
        .rank = rank, .step = row.step, .begin_ns = row.begin_ns, .end_ns = row.end_ns};
    return visitor->visit.step(visitor->context, &step);
}

enum plumb_status
plumb_own_visit_steps(struct plumb_run *run, const struct plumb_run_query *query,
                      bool (*visit)(void *context, const struct plumb_run_step *step),
                      void *context, struct plumb_error *err)
{
    struct visitor visitor = {.kind = PLUMB_BLOCK_STEPS,
                              .query = query,
                              .row = step_row,
                              .visit.step = visit,
                              .context = context};
    return visit_all(run, &visitor, err);
}

static bool span_row(struct visitor *visitor, int rank, const struct plumb_block *block,
                     size_t i)
{
    struct plumb_block_span row;
    plumb_block_row(block, i, &row);
    const struct plumb_span span = {.rank = rank,
                                    .step = row.step,
                                    .begin_ns = row.begin_ns,
                                    .end_ns = row.end_ns,
                                    .track = plumb_block_text(block, row.track),
                                    .name = plumb_block_text(block, row.name)};
    return visitor->visit.span(visitor->context, &span);
}

enum plumb_status
plumb_own_visit_spans(struct plumb_run *run, const struct plumb_run_query *query,
                      bool (*visit)(void *context, const struct plumb_span *span),
                      void *context, struct plumb_error *err)
{
    struct visitor visitor = {.kind = PLUMB_BLOCK_SPANS,
                              .query = query,
                              .row = span_row,
                              .visit.span = visit,
                              .context = context};
    return visit_all(run, &visitor, err);
}

static bool counter_row(struct visitor *visitor, int rank, const struct plumb_block *block,
                        size_t i)
{
    struct plumb_block_counter row;
    plumb_block_row(block, i, &row);
    const struct plumb_counter counter = {.rank = rank,
                                          .step = row.step,
                                          .time_ns = row.time_ns,
                                          .name = plumb_block_text(block, row.name),
                                          .value = row.value};
    return visitor->visit.counter(visitor->context, &counter);
}

enum plumb_status
plumb_own_visit_counters(struct plumb_run *run, const struct plumb_run_query *query,
                         bool (*visit)(void *context, const struct plumb_counter *counter),
                         void *context, struct plumb_error *err)
{
    struct visitor visitor = {.kind = PLUMB_BLOCK_COUNTERS,
                              .query = query,
                              .row = counter_row,
                              .visit.counter = visit,
                              .context = context};
    return visit_all(run, &visitor, err);
}

static bool collective_row(struct visitor *visitor, int rank, const struct plumb_block *block,
                           size_t i)
{
    struct plumb_block_collective row;
    plumb_block_row(block, i, &row);
    const struct plumb_rank_collective collective = {
        .rank = rank,
        .step = row.step,
        .collective = {.group = plumb_block_text(block, row.group),
                       .name = plumb_block_text(block, row.name),
                       .sequence = row.sequence,
                       .bytes = row.bytes,
                       .begin_ns = row.begin_ns,
                       .end_ns = row.end_ns}};
    return visitor->visit.collective(visitor->context, &collective);
}

enum plumb_status plumb_own_visit_collectives(
    struct plumb_run *run, const struct plumb_run_query *query,
    bool (*visit)(void *context, const struct plumb_rank_collective *collective), void *context,
    struct plumb_error *err)
{
    struct visitor visitor = {.kind = PLUMB_BLOCK_COLLECTIVES,
                              .query = query,
                              .row = collective_row,
                              .visit.collective = visit,
                              .context = context};
    return visit_all(run, &visitor, err);
}

/* ---- the flight recorder and saved values ---------------------------------------------------- */

static const char *what_name(enum plumb_flight_what what)
{
    switch (what) {
    case PLUMB_FLIGHT_STEP_BEGIN:
        return "step begins";
    case PLUMB_FLIGHT_STEP_END:
        return "step ends";
    case PLUMB_FLIGHT_ENTER:
        return "enter";
    case PLUMB_FLIGHT_LEAVE:
        return "leave";
    case PLUMB_FLIGHT_COLLECTIVE:
        return "collective of";
    }
    return "unknown";
}

/* Slots are in a ring: the smallest number is the oldest. */
static void walk_ring(const struct plumb_map *map, uint32_t slots,
                      bool (*visit)(void *context, int64_t step, int64_t time_ns,
                                    const char *what),
                      void *context)
{
    struct plumb_flight_slot slot;
    uint64_t least = UINT64_MAX;
    uint32_t start = 0;
    for (uint32_t i = 0; i < slots; i++)
        if (plumb_flight_load_slot(
                map->base + PLUMB_FLIGHT_HEADER + (size_t)i * PLUMB_FLIGHT_SLOT, &slot) &&
            slot.number < least) {
            least = slot.number;
            start = i;
        }
    for (uint32_t i = 0; i < slots; i++) {
        const size_t at = (size_t)((start + i) % slots) * PLUMB_FLIGHT_SLOT;
        if (!plumb_flight_load_slot(map->base + PLUMB_FLIGHT_HEADER + at, &slot))
            continue;
        char text[256];
        const bool is_op = slot.what == PLUMB_FLIGHT_ENTER || slot.what == PLUMB_FLIGHT_LEAVE;
        (void)snprintf(text, sizeof text, "%s%s%s%s%s", what_name(slot.what), is_op ? " " : "",
                       is_op ? plumb_phase_name(slot.phase) : "", *slot.text ? " " : "",
                       slot.text);
        if (!visit(context, slot.step, slot.time_ns, text))
            return;
    }
}

enum plumb_status plumb_own_visit_flight(struct plumb_run *run, int rank,
                                         bool (*visit)(void *context, int64_t step,
                                                       int64_t time_ns, const char *what),
                                         void *context, struct plumb_error *err)
{
    const struct plumb_rank_file *file = plumb_run_find_rank(run, rank);
    char path[4096];
    struct plumb_map *map = NULL;
    struct plumb_flight_header header;
    if (!file)
        return plumb_fail(err, PLUMB_NOT_FOUND, -1, "%s: has no rank %d", run->path, rank);
    if (snprintf(path, sizeof path, "%s/flight.plumb", file->directory) >= (int)sizeof path)
        return plumb_fail(err, PLUMB_LIMIT, -1, "%s: the path is too long", run->path);
    enum plumb_status status = plumb_map_open(path, &map, err);
    if (status)
        return status;
    if (plumb_flight_load_header(map->base, map->size, &header))
        walk_ring(map, header.slots, visit, context);
    else
        status = plumb_fail(err, PLUMB_DAMAGED, 0, "%s: not a flight recorder's file", path);
    plumb_map_close(map);
    return status;
}

enum plumb_status plumb_own_open_values(const struct plumb_run *run, int rank, int64_t step,
                                        struct plumb_file **out, struct plumb_error *err)
{
    const struct plumb_rank_file *file = plumb_run_find_rank(run, rank);
    char path[4096];
    if (!file)
        return plumb_fail(err, PLUMB_NOT_FOUND, -1, "%s: has no rank %d", run->path, rank);
    if (snprintf(path, sizeof path, "%s/step%06lld.npz", file->directory, (long long)step) >=
        (int)sizeof path)
        return plumb_fail(err, PLUMB_LIMIT, -1, "%s: the path is too long", run->path);
    return plumb_file_open(path, NULL, out, err);
}
