/*
 * tfevents.c - scalars in TensorBoard's event files, and in MindSpore's summary files.
 *
 *     u64 length, u32 masked crc32c of it, `length` bytes of an Event, u32 masked crc32c of these
 *     Event   { wall_time = 1, step = 2, file_version = 3, summary = 5 { value = 1 } }
 *     Value   { tag = 1, simple_value = 2 (MindSpore: scalar_value = 3), tensor = 8 }
 *
 * A file that is being written ends in a short record: what is whole is read. A directory may hold
 * several files of one run, which are read in the order of their names, that is of their time.
 */
#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/error.h"
#include "base/listing.h"
#include "base/wire.h"
#include "format/record_format.h"

#include <stdio.h>
#include <string.h>

enum { HEAD = 12, TAIL = 4, MOST_FILES = 100000, TAG_SIZE = 256 };

static uint32_t masked_crc(const void *bytes, size_t size)
{
    const uint32_t crc = plumb_crc32c(bytes, size);
    return (crc >> 15 | crc << 17) + 0xa282ead8U;
}

/* ---- is it one? ---------------------------------------------------------------------------------- */

static enum plumb_probe probe(const struct plumb_map *map)
{
    if (map->size < HEAD || plumb_load_u64(map->base) > 1 << 20 ||
        plumb_load_u32(map->base + 8) != masked_crc(map->base, 8))
        return PLUMB_PROBE_NO;
    const size_t some = map->size < 256 ? map->size : 256;
    const bool events = memmem(map->base, some, "brain.Event:", 12) ||
                        memmem(map->base, some, "MindSpore.Event:", 16);
    return events ? PLUMB_PROBE_CERTAIN : PLUMB_PROBE_LIKELY;
}

static bool is_event_name(const char *name)
{
    return strstr(name, "tfevents") || strstr(name, "events.summary");
}

static enum plumb_probe probe_directory(const char *path)
{
    return plumb_listing_has(path, MOST_FILES, is_event_name) ? PLUMB_PROBE_LIKELY
                                                              : PLUMB_PROBE_NO;
}

static enum plumb_status find(struct plumb_record_parts *parts, const char *path,
                              struct plumb_error *err)
{
    struct plumb_listing listing;
    const struct plumb_record_part whole = {.path = path};
    if (plumb_listing_read(path, MOST_FILES, &listing, NULL))
        return plumb_record_parts_add(parts, &whole, err); /* a file */
    enum plumb_status status = PLUMB_OK;
    for (size_t i = 0; i < listing.count && !status; i++) {
        char file[4096];
        if (is_event_name(listing.names[i]) &&
            snprintf(file, sizeof file, "%s/%s", path, listing.names[i]) < (int)sizeof file) {
            const struct plumb_record_part part = {.path = file};
            status = plumb_record_parts_add(parts, &part, err);
        }
    }
    plumb_listing_release(&listing);
    return status;
}

/* ---- an event --------------------------------------------------------------------------------------- */

static double f32_of(uint64_t bits)
{
    const uint32_t narrow = (uint32_t)bits;
    float value;
    memcpy(&value, &narrow, sizeof value);
    return (double)value;
}

static double f64_of(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* A tensor of one number: dtype = 1, content = 4, float_val = 5, double_val = 6. */
static bool tensor_scalar(const struct plumb_wire_field *field, double *value)
{
    struct plumb_wire wire = plumb_wire_inside(field);
    struct plumb_wire_field inner;
    uint64_t dtype = 0;
    bool found = false;
    while (plumb_wire_next(&wire, &inner)) {
        if (plumb_wire_is(&inner, 1, PLUMB_WIRE_VARINT))
            dtype = inner.value;
        const bool f32 = inner.size == 4 && dtype == 1, f64 = inner.size == 8 && dtype == 2;
        if (inner.type == PLUMB_WIRE_BYTES && (f32 || f64) && inner.number >= 4 &&
            inner.number <= 6) {
            *value =
                f32 ? f32_of(plumb_load_u32(inner.bytes)) : f64_of(plumb_load_u64(inner.bytes));
            found = true;
        } else if (plumb_wire_is(&inner, 5, PLUMB_WIRE_FIXED32)) {
            *value = f32_of(inner.value);
            found = true;
        } else if (plumb_wire_is(&inner, 6, PLUMB_WIRE_FIXED64)) {
            *value = f64_of(inner.value);
            found = true;
        }
    }
    return found;
}

/* False: the feed wants no more. */
static bool take_value(const struct plumb_wire_field *field, int64_t step,
                       const struct plumb_record_feed *feed)
{
    struct plumb_wire wire = plumb_wire_inside(field);
    struct plumb_wire_field inner;
    char tag[TAG_SIZE] = "";
    double value = 0;
    bool found = false;
    while (plumb_wire_next(&wire, &inner)) {
        if (plumb_wire_is(&inner, 1, PLUMB_WIRE_BYTES)) {
            const size_t length = inner.size < TAG_SIZE - 1 ? inner.size : TAG_SIZE - 1;
            for (size_t i = 0; i < length; i++)
                tag[i] =
                    inner.bytes[i] >= ' ' && inner.bytes[i] < 0x7f ? (char)inner.bytes[i] : '?';
            tag[length] = '\0';
        } else if (plumb_wire_is(&inner, 2, PLUMB_WIRE_FIXED32) ||
                   plumb_wire_is(&inner, 3, PLUMB_WIRE_FIXED32)) {
            value = f32_of(inner.value);
            found = true;
        } else if (plumb_wire_is(&inner, 8, PLUMB_WIRE_BYTES)) {
            found |= tensor_scalar(&inner, &value);
        }
    }
    return !found || !*tag || feed->series(feed->context, tag, step, value);
}

static bool take_event(const unsigned char *bytes, size_t size, uint64_t offset,
                       const struct plumb_record_feed *feed)
{
    struct plumb_wire wire = plumb_wire_of(bytes, size, offset);
    struct plumb_wire_field field, value;
    int64_t step = 0; /* protobuf leaves a zero out */
    while (plumb_wire_next(&wire, &field)) {
        if (plumb_wire_is(&field, 2, PLUMB_WIRE_VARINT))
            step = (int64_t)field.value;
        if (!plumb_wire_is(&field, 5, PLUMB_WIRE_BYTES))
            continue;
        struct plumb_wire summary = plumb_wire_inside(&field);
        while (plumb_wire_next(&summary, &value))
            if (plumb_wire_is(&value, 1, PLUMB_WIRE_BYTES) && !take_value(&value, step, feed))
                return false;
    }
    return true;
}

/* ---- the file --------------------------------------------------------------------------------------- */

static enum plumb_status walk(const void *context, const struct plumb_record_part *part,
                              const struct plumb_map *map, const struct plumb_record_feed *feed,
                              struct plumb_error *err)
{
    (void)context;
    size_t at = 0, records = 0, bad = 0, first_bad = 0;
    const char *problem = NULL;
    while (at < map->size && !problem) {
        const unsigned char *head = map->base + at;
        const size_t left = map->size - at;
        if (left < HEAD || plumb_load_u32(head + 8) != masked_crc(head, 8)) {
            problem = left < HEAD ? "cut off" : "damaged";
            break;
        }
        const uint64_t length = plumb_load_u64(head);
        if (length > left - HEAD || left - HEAD - length < TAIL) {
            problem = "cut off";
            break;
        }
        const unsigned char *event = head + HEAD;
        if (plumb_load_u32(event + length) != masked_crc(event, (size_t)length)) {
            first_bad = bad++ ? first_bad : at;
        } else if (!take_event(event, (size_t)length, at + HEAD, feed)) {
            return plumb_fail(err, PLUMB_STOPPED, -1, "stopped");
        }
        records++;
        at += HEAD + (size_t)length + TAIL;
    }
    enum plumb_status status = PLUMB_OK;
    if (problem)
        status = plumb_record_warn(feed, true, err,
                                   "%s: %s at byte %zu of %zu; the %zu records before are read",
                                   part->path, problem, at, map->size, records);
    if (!status && bad)
        status = plumb_record_warn(feed, false, err,
                                   "%s: %zu records do not match their checksum, the first at "
                                   "byte %zu; left out",
                                   part->path, bad, first_bad);
    return status;
}

static enum plumb_status read_events(const struct plumb_record_part *part,
                                     const struct plumb_record_feed *feed,
                                     struct plumb_error *err)
{
    return plumb_series_read(part, feed, walk, NULL, err);
}

const struct plumb_record_format plumb_record_format_tfevents = {
    .entry =
        {.name = "tfevents",
         .summary = "scalars of TensorBoard event files and MindSpore summary files",
         .detail =
             "One file, or a directory of several of one run. A tag is the name of a series.\n"
             "Values are 32-bit. The checksum of each record is verified; a file that is\n"
             "still being written is read up to its last whole record. Images, histograms\n"
             "and texts are passed over."},
    .framework = "",
    .probe = probe,
    .probe_directory = probe_directory,
    .find = find,
    .read = read_events,
};
