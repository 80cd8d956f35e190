/*
 * verify.c - see verify.h. Stretches are cut into chunks for the threads; the checksums of
 * chunks combine exactly, so a chunk needs nothing from the one before it.
 */
#include "model/verify.h"

#include "base/crc32.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/threads.h"
#include "model/scan_chunks.h"

enum { VERIFY_CHUNK = 4 << 20 };

/* Bytes with a checksum: of a storage, or of a stretch of a map. */
struct stretch {
    const struct plumb_storage *storage; /* NULL: of `map` */
    const struct plumb_map *map;
    uint64_t offset, size;
    uint32_t crc, found;
    bool noted; /* found already, by a pass over the values */
    const char *label;
    size_t first_chunk;
};

struct verification {
    struct stretch *stretches;
    size_t count;
    uint32_t *chunks; /* crc of each, all stretches one after the other */
    size_t chunk_count;
    struct plumb_scan_buffers buffers;
};

static const struct stretch *stretch_of(const struct verification *v, size_t chunk)
{
    size_t low = 0, high = v->count;
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (v->stretches[middle].first_chunk <= chunk)
            low = middle;
        else
            high = middle;
    }
    return &v->stretches[low];
}

static size_t chunk_count(const struct stretch *stretch)
{
    return stretch->noted ? 0 : (size_t)((stretch->size + VERIFY_CHUNK - 1) / VERIFY_CHUNK);
}

static uint64_t chunk_size(const struct stretch *stretch, size_t chunk)
{
    const uint64_t left =
        stretch->size - (uint64_t)(chunk - stretch->first_chunk) * VERIFY_CHUNK;
    return left < VERIFY_CHUNK ? left : VERIFY_CHUNK;
}

/* Where the bytes lie if they are in one piece, else a copy of them. */
static enum plumb_status get_bytes(const struct stretch *stretch, uint64_t at, size_t size,
                                   void *buffer, const void **bytes, struct plumb_error *err)
{
    const unsigned char *address = NULL;
    if (!stretch->storage) {
        *bytes = stretch->map->base + stretch->offset + at;
        return PLUMB_OK;
    }
    *bytes = buffer;
    if (stretch->storage->piece_count != 1)
        return plumb_storage_read(stretch->storage, at, size, buffer, err);
    enum plumb_status status = plumb_storage_address(stretch->storage, &address, err);
    if (status == PLUMB_OK)
        *bytes = address + at;
    return status;
}

static enum plumb_status run_chunk(void *context, size_t chunk, int worker,
                                   struct plumb_error *err)
{
    struct verification *v = context;
    const struct stretch *stretch = stretch_of(v, chunk);
    void *buffer = plumb_scan_buffer(&v->buffers, worker, 0);
    uint64_t at = (uint64_t)(chunk - stretch->first_chunk) * VERIFY_CHUNK;
    uint32_t crc = 0;
    for (uint64_t left = chunk_size(stretch, chunk); left;) {
        const size_t part = left < PLUMB_SCAN_BUFFER ? (size_t)left : PLUMB_SCAN_BUFFER;
        const void *bytes = NULL;
        const enum plumb_status status = get_bytes(stretch, at, part, buffer, &bytes, err);
        if (status)
            return status;
        crc = plumb_crc32(crc, bytes, part);
        at += part;
        left -= part;
    }
    v->chunks[chunk] = crc;
    return PLUMB_OK;
}

static uint64_t chunk_weight(void *context, size_t chunk)
{
    const struct verification *v = context;
    return chunk_size(stretch_of(v, chunk), chunk);
}

static void add_stretch(struct verification *v, struct stretch stretch)
{
    stretch.first_chunk = v->chunk_count;
    v->chunk_count += chunk_count(&stretch);
    v->stretches[v->count++] = stretch;
}

static void list_stretches(struct verification *v, const struct plumb_file *file, int parts)
{
    for (size_t i = 0; (parts & PLUMB_VERIFY_STRETCHES) && i < file->check_count; i++)
        add_stretch(v, (struct stretch){.map = file->checks[i].map,
                                        .offset = file->checks[i].offset,
                                        .size = file->checks[i].size,
                                        .crc = file->checks[i].crc,
                                        .label = file->checks[i].label});
    for (size_t i = 0; (parts & PLUMB_VERIFY_STORAGES) && i < file->storage_count; i++) {
        const struct plumb_storage *storage = file->storages[i];
        struct stretch stretch = {.storage = storage,
                                  .size = storage->size,
                                  .crc = storage->crc,
                                  .label = storage->label};
        stretch.noted = plumb_storage_noted_crc(storage, &stretch.found);
        if (storage->has_crc)
            add_stretch(v, stretch);
    }
}

/* A tensor in the storage, because users know tensors and not `data/17`. */
static const char *tensor_in(const struct plumb_file *file, const struct plumb_storage *storage)
{
    for (size_t i = 0; i < file->tensor_count; i++)
        if (file->tensors[i]->storage == storage)
            return file->tensors[i]->name;
    return storage->label;
}

static enum plumb_status report(const struct verification *v, struct plumb_file *file,
                                struct plumb_error *err)
{
    for (size_t i = 0; i < v->count; i++) {
        const struct stretch *stretch = &v->stretches[i];
        uint32_t found = stretch->found;
        for (size_t c = stretch->first_chunk; c < stretch->first_chunk + chunk_count(stretch);
             c++)
            found = plumb_crc32_combine(found, v->chunks[c], chunk_size(stretch, c));
        if (found == stretch->crc)
            continue;
        const char *name =
            stretch->storage ? tensor_in(file, stretch->storage) : stretch->label;
        enum plumb_status status = plumb_file_warn(
            file, err,
            "the data of '%s' do not match their checksum: crc32 is %08x, the file says %08x; "
            "the file is damaged, copy or write it again",
            name, found, stretch->crc);
        if (status)
            return status;
    }
    return PLUMB_OK;
}

static enum plumb_status run_all(struct verification *v,
                                 const struct plumb_scan_options *options,
                                 struct plumb_error *err)
{
    const struct plumb_job job = {
        .task_count = v->chunk_count,
        .run = run_chunk,
        .context = v,
        .weight = chunk_weight,
        .what = "verifying checksums",
        .progress = options ? options->progress : NULL,
        .threads = plumb_thread_count(options ? options->threads : 0),
    };
    v->chunks = plumb_alloc_array(v->chunk_count, sizeof *v->chunks);
    if (!v->chunks)
        return plumb_fail_memory(err);
    enum plumb_status status = plumb_scan_buffers_new(&v->buffers, job.threads, 1, err);
    return status ? status : plumb_job_run(&job, err);
}

enum plumb_status plumb_file_verify(struct plumb_file *file, int parts,
                                    const struct plumb_scan_options *options,
                                    struct plumb_error *err)
{
    struct verification v = {0};
    v.stretches =
        plumb_alloc_array(file->check_count + file->storage_count, sizeof *v.stretches);
    if (!v.stretches)
        return plumb_fail_memory(err);
    list_stretches(&v, file, parts);
    enum plumb_status status = v.count ? run_all(&v, options, err) : PLUMB_OK;
    if (status == PLUMB_OK && v.count)
        status = report(&v, file, err);
    plumb_scan_buffers_free(&v.buffers);
    plumb_free(v.chunks);
    plumb_free(v.stretches);
    return status;
}
