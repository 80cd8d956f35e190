/* recent_values.c - see recent_values.h. */
#include "compare/recent_values.h"

#include "base/memory.h"
#include "model/file.h"

#include <stdio.h>
#include <string.h>

bool plumb_recent_open(struct plumb_recent *recent, size_t size)
{
    recent->memory = plumb_alloc(size);
    recent->size = recent->memory ? size : 0;
    return recent->memory != NULL;
}

void plumb_recent_release(struct plumb_recent *recent)
{
    for (size_t i = 0; i < PLUMB_RECENT_ROWS; i++)
        plumb_free(recent->rows[i].name);
    plumb_free(recent->memory);
    *recent = (struct plumb_recent){.count = 0};
}

/* Values lie in one piece: what does not fit before the end of the memory begins at its start. */
static uint64_t keep(struct plumb_recent *recent, const void *values, size_t bytes)
{
    if (!values || bytes > recent->size)
        return UINT64_MAX;
    const size_t left = recent->size - recent->written % recent->size;
    if (left < bytes)
        recent->written += left;
    const uint64_t begin = recent->written;
    memcpy(recent->memory + begin % recent->size, values, bytes);
    recent->written += bytes;
    return begin;
}

static bool name_row(struct plumb_recent_row *row, const struct plumb_tensor_record *record)
{
    const size_t size = strlen(record->label) + strlen(record->slot) + 32;
    char *name = plumb_realloc_array(row->name, size, 1);
    if (!name)
        return false;
    row->name = name;
    if (*record->label)
        (void)snprintf(name, size, "%s/%s/%s", record->label, plumb_phase_name(record->phase),
                       record->slot);
    else
        (void)snprintf(name, size, "%s", record->slot);
    return true;
}

bool plumb_recent_add(struct plumb_recent *recent, const struct plumb_tensor_record *record,
                      uint64_t op, const void *values)
{
    struct plumb_recent_row *row = &recent->rows[recent->count % PLUMB_RECENT_ROWS];
    int64_t count = 0;
    if (!name_row(row, record) || record->dims > PLUMB_MAX_RANK ||
        !plumb_shape_count(record->dims, record->shape, &count))
        return false;
    row->number = ++recent->count;
    row->op = op;
    row->dtype = record->dtype;
    row->dims = record->dims;
    for (int i = 0; i < record->dims; i++)
        row->shape[i] = record->shape[i];
    row->fingerprint = record->fingerprint;
    row->bytes = (size_t)count * plumb_dtype_size(record->dtype);
    row->begin = keep(recent, values, row->bytes);
    return true;
}

const struct plumb_recent_row *plumb_recent_row(const struct plumb_recent *recent, size_t back)
{
    if (back >= PLUMB_RECENT_ROWS || back >= recent->count)
        return NULL;
    return &recent->rows[(recent->count - 1 - back) % PLUMB_RECENT_ROWS];
}

static const void *own_values(const struct plumb_recent *recent,
                              const struct plumb_recent_row *row)
{
    const bool there =
        row->number && row->begin != UINT64_MAX && recent->written - row->begin <= recent->size;
    return there ? recent->memory + row->begin % recent->size : NULL;
}

const void *plumb_recent_values(const struct plumb_recent *recent,
                                const struct plumb_recent_row *row)
{
    const void *values = own_values(recent, row);
    for (size_t i = 0; i < PLUMB_RECENT_ROWS && !values && row->fingerprint; i++) {
        const struct plumb_recent_row *other = &recent->rows[i];
        if (other->number && other->fingerprint == row->fingerprint &&
            other->dtype == row->dtype && other->bytes == row->bytes)
            values = own_values(recent, other);
    }
    return values;
}
