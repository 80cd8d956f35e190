/* scan_values.c - the same numbers for values in memory, and the histogram of exponents. */
#include "base/error.h"
#include "base/memory.h"
#include "kernel/fingerprint.h"
#include "kernel/kernel.h"
#include "kernel/widen.h"
#include "model/dtype.h"
#include "model/scan_chunks.h"
#include "model/scan_compare.h"
#include "model/scan_stats.h"

#include <string.h>

static size_t smaller(size_t x, size_t y)
{
    return x < y ? x : y;
}

/* One chunk: both at once, so that what the statistics read is near when the fingerprint reads it. */
static uint64_t summarize_chunk(enum plumb_dtype dtype, const unsigned char *values, size_t at,
                                size_t count, int wanted, bool quick,
                                struct plumb_stats_state *stats)
{
    const size_t size = plumb_dtype_size(dtype), parts = (size_t)plumb_dtype_parts(dtype);
    const unsigned char *from = values + at * size;
    const bool prints = wanted & PLUMB_SUMMARY_FINGERPRINT;
    struct plumb_fingerprint_state print = plumb_fingerprint_begin(at * size);
    plumb_stats_begin(stats);
    stats->habits.quick = quick;
    if (wanted & PLUMB_SUMMARY_STATS)
        plumb_stats_add_printed(stats, plumb_dtype_part(dtype), from, count * parts,
                                prints ? &print : NULL);
    else if (prints)
        plumb_fingerprint_add(&print, from, count * size);
    return print.sum;
}

/* In the same chunks as a tensor of that size, so that the bits are the same too. */
void plumb_values_summarize(enum plumb_dtype dtype, const void *values, size_t count, int parts,
                            struct plumb_summary *summary)
{
    const size_t chunk = (size_t)plumb_scan_chunk((int64_t)count);
    const bool quick = plumb_stats_are_quick(parts, count);
    struct plumb_stats_state total, part;
    size_t at = smaller(chunk, count);
    uint64_t fingerprint = summarize_chunk(dtype, values, 0, at, parts, quick, &total);
    for (size_t n; at < count; at += n) {
        n = smaller(chunk, count - at);
        fingerprint += summarize_chunk(dtype, values, at, n, parts, quick, &part);
        plumb_stats_merge(&total, &part);
    }
    if (parts & PLUMB_SUMMARY_STATS)
        plumb_stats_finish(&total, &summary->stats);
    if (parts & PLUMB_SUMMARY_FINGERPRINT)
        summary->fingerprint =
            plumb_fingerprint_finish(fingerprint, count * plumb_dtype_size(dtype));
}

void plumb_values_stats(enum plumb_dtype dtype, const void *values, size_t count,
                        struct plumb_stats *stats)
{
    struct plumb_summary summary;
    plumb_values_summarize(dtype, values, count, PLUMB_SUMMARY_STATS, &summary);
    *stats = summary.stats;
}

uint64_t plumb_values_fingerprint(enum plumb_dtype dtype, const void *values, size_t count)
{
    const size_t size = count * plumb_dtype_size(dtype);
    return plumb_fingerprint_finish(plumb_fingerprint_part(0, values, size), size);
}

void plumb_values_compare(enum plumb_dtype dtype_a, const void *a, enum plumb_dtype dtype_b,
                          const void *b, size_t count, double rtol, double atol,
                          struct plumb_comparison *comparison)
{
    const struct plumb_compare_task task = plumb_compare_task(dtype_a, dtype_b, rtol, atol);
    const size_t chunk = (size_t)plumb_scan_chunk((int64_t)count);
    const unsigned char *from_a = a, *from_b = b;
    struct plumb_compare_state total, part;
    plumb_compare_begin(&total);
    if (plumb_dtype_is_complex(dtype_a) != plumb_dtype_is_complex(dtype_b)) {
        total.counts.count = count; /* nothing that could be called equal */
        total.counts.first_index = count ? 0 : -1;
        count = 0;
    }
    for (size_t at = 0, n; at < count; at += n) {
        n = smaller(chunk, count - at);
        plumb_compare_begin(&part);
        plumb_compare_add(&part, &task, from_a + at * plumb_dtype_size(dtype_a),
                          from_b + at * plumb_dtype_size(dtype_b), (int64_t)at, n);
        plumb_compare_merge(&total, &part);
    }
    plumb_compare_finish(&total, comparison);
}

static void add_exponents(const double *values, size_t n, struct plumb_histogram *histogram)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t bits;
        memcpy(&bits, &values[i], sizeof bits);
        const uint64_t magnitude = bits & INT64_MAX;
        const uint64_t stored = magnitude >> 52;
        if (magnitude == 0 || stored == 0x7ff)
            continue;
        /* Index 0 is 2^-1074; the smallest normal, 2^-1022, is stored as exponent 1. */
        const uint64_t index = stored ? stored + 51 : 63 - (uint64_t)__builtin_clzll(magnitude);
        if (bits >> 63)
            histogram->negative[index]++;
        else
            histogram->positive[index]++;
    }
}

static void add_histogram(enum plumb_dtype part, const unsigned char *from, size_t count,
                          struct plumb_histogram *histogram)
{
    double values[PLUMB_BLOCK];
    for (size_t n; count; count -= n, from += n * plumb_dtype_size(part)) {
        n = smaller(PLUMB_BLOCK, count);
        plumb_widen(part, from, n, values);
        add_exponents(values, n, histogram);
    }
}

enum plumb_status plumb_tensor_histogram(const struct plumb_tensor *tensor,
                                         struct plumb_histogram *histogram,
                                         struct plumb_error *err)
{
    struct plumb_scan_buffers buffers;
    enum plumb_status status = plumb_scan_buffers_new(&buffers, 1, 1, err);
    if (status)
        return status;
    void *buffer = plumb_scan_buffer(&buffers, 0, 0);
    const int64_t most = PLUMB_SCAN_BUFFER / (int64_t)plumb_dtype_size(tensor->dtype);
    const size_t parts = (size_t)plumb_dtype_parts(tensor->dtype);
    *histogram = (struct plumb_histogram){.positive = {0}};
    for (int64_t at = 0; at < tensor->count && status == PLUMB_OK; at += most) {
        const int64_t n = tensor->count - at < most ? tensor->count - at : most;
        status = plumb_tensor_read(tensor, at, n, buffer, err);
        if (status == PLUMB_OK)
            add_histogram(plumb_dtype_part(tensor->dtype), buffer, (size_t)n * parts,
                          histogram);
    }
    plumb_scan_buffers_free(&buffers);
    return status;
}
