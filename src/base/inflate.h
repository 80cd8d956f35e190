/*
 * inflate.h - raw deflate data into memory of known size, piece by piece.
 *
 * Fails when the data ends early, holds more than the memory takes, is followed by other
 * bytes, or is no deflate data.
 */
#ifndef PLUMB_BASE_INFLATE_H
#define PLUMB_BASE_INFLATE_H

#include "plumb.h"

struct plumb_inflater;

/* Content goes to `memory`, which must outlive the inflater. `label` (borrowed) is what the
 * messages call the data. */
enum plumb_status plumb_inflater_new(void *memory, size_t size, const char *label,
                                     struct plumb_inflater **inflater, struct plumb_error *err);
void plumb_inflater_free(struct plumb_inflater *inflater);
/* The next bytes of the deflated data, as many as there are at hand. */
enum plumb_status plumb_inflater_feed(struct plumb_inflater *inflater, const void *bytes,
                                      size_t size, struct plumb_error *err);
/* How much of the memory holds content by now. */
size_t plumb_inflater_filled(const struct plumb_inflater *inflater);
/* After the last feed: succeeds if the data was whole and filled the memory exactly. */
enum plumb_status plumb_inflater_finish(const struct plumb_inflater *inflater,
                                        struct plumb_error *err);

#endif
