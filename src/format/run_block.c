/* run_block.c - see run_block.h. */
#include "format/run_block.h"

#include "base/bytes.h"
#include "base/crc32.h"

#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "columns are copied as they lie in memory");

const char plumb_block_magic[8] = {'P', 'L', 'U', 'M', 'B', 'B', 'L', 'K'};

enum {
    ENTRY_SIZE = 40,
    ENTRIES_AT = 8,
    ENTRY_NAME = 16,
    LARGEST_ROW = 256,
};

_Static_assert(sizeof(struct plumb_block_tensor) <= LARGEST_ROW, "no row is larger");

#define COLUMN(kind, field, name, type)                                                        \
    {                                                                                          \
        name, PLUMB_COLUMN_##type, offsetof(struct plumb_block_##kind, field)                  \
    }

static const struct plumb_column pair_columns[] = {
    COLUMN(pair, key, "key", U32),
    COLUMN(pair, json, "json", U32),
};

static const struct plumb_column step_columns[] = {
    COLUMN(step, step, "step", I64),
    COLUMN(step, begin_ns, "begin_ns", I64),
    COLUMN(step, end_ns, "end_ns", I64),
};

static const struct plumb_column series_columns[] = {
    COLUMN(series, step, "step", I64),
    COLUMN(series, value, "value", F64),
    COLUMN(series, name, "name", U32),
};

static const struct plumb_column tensor_columns[] = {
    COLUMN(tensor, step, "step", I64),
    COLUMN(tensor, time_ns, "time_ns", I64),
    COLUMN(tensor, module, "module", U32),
    COLUMN(tensor, op, "op", U32),
    COLUMN(tensor, call, "call", I32),
    COLUMN(tensor, phase, "phase", U8),
    COLUMN(tensor, flags, "flags", U8),
    COLUMN(tensor, slot, "slot", U32),
    COLUMN(tensor, dtype, "dtype", U32),
    COLUMN(tensor, shape, "shape", U32),
    COLUMN(tensor, stack, "stack", U32),
    COLUMN(tensor, fingerprint, "fingerprint2", U64),
    COLUMN(tensor, element, "element", I64),
    COLUMN(tensor, stats.count, "count", U64),
    COLUMN(tensor, stats.nan, "nan", U64),
    COLUMN(tensor, stats.pos_inf, "pos_inf", U64),
    COLUMN(tensor, stats.neg_inf, "neg_inf", U64),
    COLUMN(tensor, stats.zero, "zero", U64),
    COLUMN(tensor, stats.subnormal, "subnormal", U64),
    COLUMN(tensor, stats.at_max, "at_max", U64),
    COLUMN(tensor, stats.min, "min", F64),
    COLUMN(tensor, stats.max, "max", F64),
    COLUMN(tensor, stats.mean, "mean", F64),
    COLUMN(tensor, stats.std, "std", F64),
    COLUMN(tensor, stats.l2, "l2", F64),
    COLUMN(tensor, stats.abs_mean, "abs_mean", F64),
};

static const struct plumb_column span_columns[] = {
    COLUMN(span, step, "step", I64),     COLUMN(span, begin_ns, "begin_ns", I64),
    COLUMN(span, end_ns, "end_ns", I64), COLUMN(span, track, "track", U32),
    COLUMN(span, name, "name", U32),
};

static const struct plumb_column counter_columns[] = {
    COLUMN(counter, step, "step", I64),
    COLUMN(counter, time_ns, "time_ns", I64),
    COLUMN(counter, value, "value", F64),
    COLUMN(counter, name, "name", U32),
};

static const struct plumb_column collective_columns[] = {
    COLUMN(collective, step, "step", I64),
    COLUMN(collective, sequence, "sequence", I64),
    COLUMN(collective, begin_ns, "begin_ns", I64),
    COLUMN(collective, end_ns, "end_ns", I64),
    COLUMN(collective, bytes, "bytes", U64),
    COLUMN(collective, group, "group", U32),
    COLUMN(collective, name, "name", U32),
};

static const struct plumb_column stack_columns[] = {
    COLUMN(stack, number, "number", U32),
    COLUMN(stack, lines, "lines", U32),
};

#define LAYOUT(name, kind, has_steps)                                                          \
    {                                                                                          \
        name, kind##_columns, sizeof kind##_columns / sizeof *kind##_columns,                  \
            sizeof(struct plumb_block_##kind), has_steps                                       \
    }

static const struct plumb_block_layout layouts[PLUMB_BLOCK_KINDS] = {
    [PLUMB_BLOCK_RANK] = LAYOUT("rank", pair, false),
    [PLUMB_BLOCK_CONFIG] = LAYOUT("config", pair, false),
    [PLUMB_BLOCK_STEPS] = LAYOUT("steps", step, true),
    [PLUMB_BLOCK_SERIES] = LAYOUT("series", series, true),
    [PLUMB_BLOCK_TENSORS] = LAYOUT("tensors", tensor, true),
    [PLUMB_BLOCK_SPANS] = LAYOUT("spans", span, true),
    [PLUMB_BLOCK_COUNTERS] = LAYOUT("counters", counter, true),
    [PLUMB_BLOCK_COLLECTIVES] = LAYOUT("collectives", collective, true),
    [PLUMB_BLOCK_END] = LAYOUT("end", pair, false),
    [PLUMB_BLOCK_STACKS] = LAYOUT("stacks", stack, false),
};

const struct plumb_block_layout *plumb_block_layout(unsigned kind)
{
    return kind < PLUMB_BLOCK_KINDS && layouts[kind].name ? &layouts[kind] : NULL;
}

size_t plumb_column_size(enum plumb_column_type type)
{
    switch (type) {
    case PLUMB_COLUMN_TEXT:
    case PLUMB_COLUMN_U8:
        return 1;
    case PLUMB_COLUMN_U32:
    case PLUMB_COLUMN_I32:
        return 4;
    case PLUMB_COLUMN_U64:
    case PLUMB_COLUMN_I64:
    case PLUMB_COLUMN_F64:
        return 8;
    }
    return 0;
}

/* ---- writing ---------------------------------------------------------------------------- */

static size_t round_up(size_t size)
{
    return (size + 7) & ~(size_t)7;
}

static void put_entry(struct plumb_buffer *to, const char *name, enum plumb_column_type type,
                      size_t offset, size_t size)
{
    unsigned char entry[ENTRY_SIZE] = {0};
    memcpy(entry, name, strlen(name));
    plumb_store_u32(entry + 16, type);
    plumb_store_u64(entry + 24, offset);
    plumb_store_u64(entry + 32, size);
    plumb_buffer_append(to, entry, sizeof entry);
}

/* One element of every row, side by side. A size that the compiler knows makes the copy of an
 * element a load and a store. */
static void put_column(struct plumb_buffer *to, const struct plumb_column *column,
                       const unsigned char *rows, size_t count, size_t row_size)
{
    const size_t width = plumb_column_size(column->type), size = count * width;
    if (!plumb_buffer_reserve(to, round_up(size)))
        return;
    const unsigned char *from = rows + column->offset;
    unsigned char *out = (unsigned char *)to->data + to->size;
    if (width == sizeof(uint64_t))
        for (size_t i = 0; i < count; i++)
            memcpy(out + i * sizeof(uint64_t), from + i * row_size, sizeof(uint64_t));
    else if (width == sizeof(uint32_t))
        for (size_t i = 0; i < count; i++)
            memcpy(out + i * sizeof(uint32_t), from + i * row_size, sizeof(uint32_t));
    else
        for (size_t i = 0; i < count; i++)
            out[i] = from[i * row_size];
    memset(out + size, 0, round_up(size) - size);
    to->size += round_up(size);
}

/* Which bits of a row are set in any of them. Rows of every kind are whole words. */
struct row_bits {
    unsigned char byte[LARGEST_ROW];
};

static void gather_bits(struct row_bits *set, const unsigned char *rows, size_t count,
                        size_t row_size)
{
    uint64_t words[LARGEST_ROW / sizeof(uint64_t)] = {0};
    const size_t width = row_size / sizeof *words;
    for (size_t i = 0; i < count; i++)
        for (size_t w = 0; w < width; w++) {
            uint64_t word;
            memcpy(&word, rows + i * row_size + w * sizeof word, sizeof word);
            words[w] |= word;
        }
    memcpy(set->byte, words, sizeof words);
}

/* What is 0 in every row is left out, as most columns of counts are: it is 0 again when it is read. */
static bool is_needed(const struct plumb_column *column, const struct row_bits *set)
{
    bool needed = false;
    for (size_t i = 0; i < plumb_column_size(column->type); i++)
        needed |= set->byte[column->offset + i] != 0;
    return needed;
}

static void store_header(unsigned char *to, const struct plumb_block_header *header)
{
    memset(to, 0, PLUMB_BLOCK_HEADER);
    memcpy(to, plumb_block_magic, sizeof plumb_block_magic);
    plumb_store_u16(to + 8, PLUMB_BLOCK_VERSION);
    plumb_store_u16(to + 10, (uint16_t)header->kind);
    plumb_store_u64(to + 16, header->body_size);
    plumb_store_u32(to + 24, header->body_crc);
    plumb_store_u32(to + 28, header->rows);
    plumb_store_u64(to + 32, (uint64_t)header->first_step);
    plumb_store_u64(to + 40, (uint64_t)header->last_step);
    plumb_store_u64(to + 48, header->number);
    plumb_store_u64(to + 56, (uint64_t)header->time_ns);
    plumb_store_u32(to + 12, plumb_crc32(0, to, PLUMB_BLOCK_HEADER));
}

void plumb_block_write(struct plumb_buffer *to, struct plumb_block_header header,
                       const void *rows, const char *text, size_t text_size)
{
    const struct plumb_block_layout *layout = plumb_block_layout(header.kind);
    const struct plumb_column *columns[PLUMB_BLOCK_MOST_COLUMNS];
    const size_t start = to->size;
    size_t kept = 0;
    struct row_bits set;
    gather_bits(&set, rows, header.rows, layout->row_size);
    for (size_t i = 0; i < layout->count; i++)
        if (is_needed(&layout->columns[i], &set))
            columns[kept++] = &layout->columns[i];
    size_t offset = ENTRIES_AT + (kept + 1) * ENTRY_SIZE;
    plumb_buffer_fill(to, '\0', PLUMB_BLOCK_HEADER);
    unsigned char count[ENTRIES_AT] = {0};
    plumb_store_u32(count, (uint32_t)kept + 1);
    plumb_buffer_append(to, count, sizeof count);
    for (size_t i = 0; i < kept; i++) {
        const size_t size = header.rows * plumb_column_size(columns[i]->type);
        put_entry(to, columns[i]->name, columns[i]->type, offset, size);
        offset += round_up(size);
    }
    put_entry(to, "text", PLUMB_COLUMN_TEXT, offset, text_size);
    for (size_t i = 0; i < kept; i++)
        put_column(to, columns[i], rows, header.rows, layout->row_size);
    plumb_buffer_append(to, text, text_size);
    plumb_buffer_fill(to, '\0', round_up(text_size) - text_size);
    if (plumb_buffer_failed(to))
        return;
    unsigned char *head = (unsigned char *)to->data + start;
    header.body_size = to->size - start - PLUMB_BLOCK_HEADER;
    header.body_crc = plumb_crc32(0, head + PLUMB_BLOCK_HEADER, (size_t)header.body_size);
    store_header(head, &header);
}

/* ---- reading ---------------------------------------------------------------------------- */

bool plumb_block_header_parse(const void *bytes, struct plumb_block_header *header)
{
    unsigned char copy[PLUMB_BLOCK_HEADER];
    memcpy(copy, bytes, sizeof copy);
    if (memcmp(copy, plumb_block_magic, sizeof plumb_block_magic) != 0)
        return false;
    const uint32_t crc = plumb_load_u32(copy + 12);
    plumb_store_u32(copy + 12, 0);
    *header = (struct plumb_block_header){
        .version = plumb_load_u16(copy + 8),
        .kind = plumb_load_u16(copy + 10),
        .body_size = plumb_load_u64(copy + 16),
        .body_crc = plumb_load_u32(copy + 24),
        .rows = plumb_load_u32(copy + 28),
        .first_step = (int64_t)plumb_load_u64(copy + 32),
        .last_step = (int64_t)plumb_load_u64(copy + 40),
        .number = plumb_load_u64(copy + 48),
        .time_ns = (int64_t)plumb_load_u64(copy + 56),
    };
    return crc == plumb_crc32(0, copy, sizeof copy) && header->body_size % 8 == 0 &&
           header->body_size <= PLUMB_BLOCK_LARGEST;
}

static const char *take_text(struct plumb_block *block, const unsigned char *bytes, size_t size)
{
    if (size && bytes[size - 1] != '\0')
        return "its text does not end";
    block->text = (const char *)bytes;
    block->text_size = size;
    return NULL;
}

/* One entry of the directory; unknown names and types are passed over. */
static const char *take_column(struct plumb_block *block, const unsigned char *entry,
                               const unsigned char *body, uint64_t body_size)
{
    const enum plumb_column_type type = plumb_load_u32(entry + 16);
    const uint64_t offset = plumb_load_u64(entry + 24), size = plumb_load_u64(entry + 32);
    if (offset > body_size || size > body_size - offset || offset % 8)
        return "a column lies outside";
    if (strncmp((const char *)entry, "text", ENTRY_NAME) == 0 && type == PLUMB_COLUMN_TEXT)
        return take_text(block, body + offset, (size_t)size);
    for (size_t i = 0; i < block->layout->count; i++) {
        const struct plumb_column *column = &block->layout->columns[i];
        if (strncmp((const char *)entry, column->name, ENTRY_NAME) != 0 || type != column->type)
            continue;
        if (size < block->rows * plumb_column_size(type))
            return "a column is too short";
        block->columns[i] = body + offset;
        return NULL;
    }
    return NULL;
}

const char *plumb_block_parse(const struct plumb_block_header *header, const void *body,
                              struct plumb_block *block)
{
    const unsigned char *bytes = body;
    *block =
        (struct plumb_block){.layout = plumb_block_layout(header->kind), .rows = header->rows};
    if (!block->layout)
        return "its kind is unknown";
    if (plumb_crc32(0, body, (size_t)header->body_size) != header->body_crc)
        return "its checksum does not hold";
    if (header->rows > PLUMB_BLOCK_MOST_ROWS)
        return "it has too many rows";
    const uint64_t count = header->body_size < ENTRIES_AT ? 0 : plumb_load_u32(bytes);
    if (count == 0 || count > PLUMB_BLOCK_MOST_COLUMNS ||
        ENTRIES_AT + count * ENTRY_SIZE > header->body_size)
        return "its columns are not described";
    const char *problem = NULL;
    for (size_t i = 0; i < count && !problem; i++)
        problem =
            take_column(block, bytes + ENTRIES_AT + i * ENTRY_SIZE, bytes, header->body_size);
    return problem;
}

void plumb_block_row(const struct plumb_block *block, size_t i, void *row)
{
    const struct plumb_block_layout *layout = block->layout;
    memset(row, 0, layout->row_size);
    for (size_t c = 0; c < layout->count; c++) {
        const size_t size = plumb_column_size(layout->columns[c].type);
        if (block->columns[c])
            memcpy((char *)row + layout->columns[c].offset, block->columns[c] + i * size, size);
    }
}

const char *plumb_block_text(const struct plumb_block *block, uint32_t offset)
{
    return offset < block->text_size ? block->text + offset : "";
}
