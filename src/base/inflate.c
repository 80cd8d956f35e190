/*
 * inflate.c - one driver for two engines: ISA-L (three times as fast) or zlib.
 *
 * An engine has one function, engine_step(): it consumes some input, produces some output and
 * says whether the stream has ended. Everything else is the same for both.
 */
#include "base/inflate.h"

#include "base/error.h"
#include "base/memory.h"

#if HAVE_ISAL
#include <isa-l/igzip_lib.h>
#else
#include <zlib.h>
#endif

enum {
    STEP_LIMIT = 1 << 30, /* both engines count in 32 bits */
};

struct plumb_inflater {
    const char *label;
    unsigned char *memory;
    size_t size;
    size_t filled;
    unsigned char beyond; /* where the engine writes once the memory is full: an overrun */
    bool ended;
#if HAVE_ISAL
    struct inflate_state engine;
#else
    z_stream engine;
#endif
};

struct step {
    const unsigned char *in;
    size_t in_size;
    unsigned char *out;
    size_t out_size;
};

#if HAVE_ISAL

static bool engine_start(struct plumb_inflater *inflater)
{
    isal_inflate_init(&inflater->engine);
    return true;
}

static void engine_stop(struct plumb_inflater *inflater)
{
    (void)inflater;
}

/* False: not deflate data. On return the step's sizes say what is left. */
static bool engine_step(struct plumb_inflater *inflater, struct step *step)
{
    struct inflate_state *engine = &inflater->engine;
    /* The library's pointer lacks a const; it only reads. */
    engine->next_in = (uint8_t *)(uintptr_t)step->in;
    engine->avail_in = (uint32_t)step->in_size;
    engine->next_out = step->out;
    engine->avail_out = (uint32_t)step->out_size;
    const int result = isal_inflate(engine);
    step->in_size = engine->avail_in;
    step->out_size = engine->avail_out;
    inflater->ended = engine->block_state == ISAL_BLOCK_FINISH;
    if (inflater->ended) /* whole bytes it had already taken into its bit buffer */
        step->in_size += (size_t)engine->read_in_length / 8;
    return result == ISAL_DECOMP_OK || result == ISAL_END_INPUT || result == ISAL_OUT_OVERFLOW;
}

#else

static void *engine_alloc(void *context, unsigned count, unsigned size)
{
    (void)context;
    return plumb_alloc_array(count, size);
}

static void engine_free(void *context, void *memory)
{
    (void)context;
    plumb_free(memory);
}

static bool engine_start(struct plumb_inflater *inflater)
{
    inflater->engine = (z_stream){.zalloc = engine_alloc, .zfree = engine_free};
    return inflateInit2(&inflater->engine, -MAX_WBITS) == Z_OK;
}

static void engine_stop(struct plumb_inflater *inflater)
{
    (void)inflateEnd(&inflater->engine);
}

static bool engine_step(struct plumb_inflater *inflater, struct step *step)
{
    z_stream *engine = &inflater->engine;
    engine->next_in = (Bytef *)(uintptr_t)step->in;
    engine->avail_in = (uInt)step->in_size;
    engine->next_out = step->out;
    engine->avail_out = (uInt)step->out_size;
    const int result = inflate(engine, Z_NO_FLUSH);
    step->in_size = engine->avail_in;
    step->out_size = engine->avail_out;
    inflater->ended = result == Z_STREAM_END;
    return result == Z_OK || result == Z_STREAM_END || result == Z_BUF_ERROR;
}

#endif

enum plumb_status plumb_inflater_new(void *memory, size_t size, const char *label,
                                     struct plumb_inflater **out, struct plumb_error *err)
{
    struct plumb_inflater *inflater = plumb_alloc_array(1, sizeof *inflater);
    if (!inflater)
        return plumb_fail_memory(err);
    inflater->label = label;
    inflater->memory = memory;
    inflater->size = size;
    if (!engine_start(inflater)) {
        plumb_free(inflater);
        return plumb_fail_memory(err);
    }
    *out = inflater;
    return PLUMB_OK;
}

void plumb_inflater_free(struct plumb_inflater *inflater)
{
    if (!inflater)
        return;
    engine_stop(inflater);
    plumb_free(inflater);
}

static enum plumb_status fail_overrun(const struct plumb_inflater *inflater,
                                      struct plumb_error *err)
{
    return plumb_fail(err, PLUMB_DAMAGED, -1,
                      "%s: its deflated data holds more than the %zu bytes the file states",
                      inflater->label, inflater->size);
}

static size_t at_most(size_t size, size_t limit)
{
    return size < limit ? size : limit;
}

enum plumb_status plumb_inflater_feed(struct plumb_inflater *inflater, const void *bytes,
                                      size_t size, struct plumb_error *err)
{
    const unsigned char *in = bytes;
    while (!inflater->ended) {
        const bool full = inflater->filled == inflater->size;
        struct step step = {
            .in = in,
            .in_size = at_most(size, STEP_LIMIT),
            .out = full ? &inflater->beyond : inflater->memory + inflater->filled,
            .out_size = full ? 1 : at_most(inflater->size - inflater->filled, STEP_LIMIT)};
        const size_t in_before = step.in_size, out_before = step.out_size;
        if (!engine_step(inflater, &step))
            return plumb_fail(err, PLUMB_DAMAGED, -1,
                              "%s: its deflated data is damaged after %zu bytes of content",
                              inflater->label, inflater->filled);
        const size_t made = out_before - step.out_size;
        if (full && made)
            return fail_overrun(inflater, err);
        const size_t eaten = in_before > step.in_size ? in_before - step.in_size : 0;
        inflater->filled += made;
        in += eaten;
        size -= eaten;
        if (!made && !eaten)
            break;
    }
    if (size && inflater->ended)
        return plumb_fail(err, PLUMB_DAMAGED, -1,
                          "%s: %zu bytes follow the end of its deflated data", inflater->label,
                          size);
    return PLUMB_OK;
}

size_t plumb_inflater_filled(const struct plumb_inflater *inflater)
{
    return inflater->filled;
}

enum plumb_status plumb_inflater_finish(const struct plumb_inflater *inflater,
                                        struct plumb_error *err)
{
    if (inflater->ended && inflater->filled == inflater->size)
        return PLUMB_OK;
    return plumb_fail(
        err, PLUMB_DAMAGED, -1,
        "%s: its deflated data ends after %zu of %zu bytes; the file is truncated",
        inflater->label, inflater->filled, inflater->size);
}
