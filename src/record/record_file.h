/* record_file.h - records.plumb as it is appended to, and the signals that writing may raise. */
#ifndef PLUMB_RECORD_RECORD_FILE_H
#define PLUMB_RECORD_RECORD_FILE_H

#include "record/batch.h"

#include <signal.h>

struct plumb_record_file {
    char *path;
    int fd;          /* -1: none */
    uint64_t end;    /* of the last whole block */
    uint64_t number; /* of the next block */
    struct plumb_buffer block;
};

/* Makes the file, which must not exist, and locks it: readers see that its writer lives. */
enum plumb_status plumb_record_file_open(struct plumb_record_file *file, const char *directory,
                                         struct plumb_error *err);
enum plumb_status plumb_record_file_append(struct plumb_record_file *file,
                                           const struct plumb_batch *batch,
                                           struct plumb_error *err);
void plumb_record_file_close(struct plumb_record_file *file);

/* Between the two, a file that grows over the process's limit gives EFBIG and not SIGXFSZ, which
 * would end the training. */
struct plumb_signal_guard {
    sigset_t before;
    bool was_pending;
};
void plumb_signal_guard_begin(struct plumb_signal_guard *guard);
void plumb_signal_guard_end(const struct plumb_signal_guard *guard);

#endif
