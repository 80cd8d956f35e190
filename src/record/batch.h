/*
 * batch.h - rows of one kind while they are gathered: what becomes a block of the file.
 *
 * Rows are kept as the structs they come in: adding one is a copy, and its columns are made by the
 * writer.
 */
#ifndef PLUMB_RECORD_BATCH_H
#define PLUMB_RECORD_BATCH_H

#include "base/arena.h"
#include "base/buffer.h"
#include "base/table.h"
#include "format/run_block.h"

enum {
    PLUMB_BATCH_ROWS = 1024,
    PLUMB_BATCH_TEXT = 256 << 10,    /* a batch with more text than this is full */
    PLUMB_BATCH_LONGEST = 4 << 20,   /* of one text; longer ones are cut */
    PLUMB_BATCH_TEXT_OVERHEAD = 128, /* memory of one text beside twice its length */
};

struct plumb_batch {
    struct plumb_batch *next; /* in the recorder's queue */
    unsigned kind;
    bool has_steps;  /* rows begin with their step */
    uint64_t serial; /* another one each time it is begun: names the ids given out since */
    uint32_t rows;
    int64_t first_step, last_step;
    size_t row_size;
    unsigned char *memory; /* of the rows */
    size_t bytes;          /* all memory, for the recorder's account */
    struct plumb_buffer text;
    struct plumb_table names; /* text -> its offset */
    struct plumb_arena arena;
};

/* NULL when out of memory. */
struct plumb_batch *plumb_batch_new(unsigned kind);
void plumb_batch_free(struct plumb_batch *batch);
/* Memory a new batch of that kind takes. */
size_t plumb_batch_cost(unsigned kind);
/* Empties it for new rows. */
void plumb_batch_begin(struct plumb_batch *batch, uint64_t serial);
bool plumb_batch_is_full(const struct plumb_batch *batch);
/* The offset of `text` (NULL is "") in the block's text. False when out of memory. */
bool plumb_batch_name(struct plumb_batch *batch, const char *text, uint32_t *offset);
/* The same for a text that the caller knows not to be there yet: it is not searched for. */
bool plumb_batch_text(struct plumb_batch *batch, const char *text, size_t length,
                      uint32_t *offset);
/* `row` is the struct of the kind; the batch is not full. */
void plumb_batch_add(struct plumb_batch *batch, const void *row);
/* Appends it to `to` as a block. */
void plumb_batch_write(const struct plumb_batch *batch, uint64_t number, int64_t time_ns,
                       struct plumb_buffer *to);

#endif
