/*
 * output.h - a file that appears whole or not at all.
 *
 * Bytes go to a neighbour of the final path; plumb_output_commit() makes them durable and
 * renames. Closing without a commit removes the neighbour, so a failure leaves nothing.
 */
#ifndef PLUMB_BASE_OUTPUT_H
#define PLUMB_BASE_OUTPUT_H

#include "plumb.h"

struct plumb_output;

enum plumb_status plumb_output_open(const char *path, struct plumb_output **output,
                                    struct plumb_error *err);
enum plumb_status plumb_output_write(struct plumb_output *output, const void *bytes,
                                     size_t size, struct plumb_error *err);
enum plumb_status plumb_output_fill(struct plumb_output *output, char byte, size_t count,
                                    struct plumb_error *err);
/* Replaces bytes written earlier (sizes and checksums known only afterwards). */
enum plumb_status plumb_output_patch(struct plumb_output *output, uint64_t offset,
                                     const void *bytes, size_t size, struct plumb_error *err);
/* How many bytes were written so far. */
uint64_t plumb_output_size(const struct plumb_output *output);
const char *plumb_output_path(const struct plumb_output *output);
/* The neighbour itself, for a library that insists on opening files by name. */
const char *plumb_output_beside(const struct plumb_output *output);
enum plumb_status plumb_output_commit(struct plumb_output *output, struct plumb_error *err);
/* A commit that does not wait for the disk: whole after a crash of the process, though perhaps
 * not after one of the machine. */
enum plumb_status plumb_output_publish(struct plumb_output *output, struct plumb_error *err);
void plumb_output_close(struct plumb_output *output);

#endif
