/* verify.h - the checksums a file carries, held against its bytes. */
#ifndef PLUMB_MODEL_VERIFY_H
#define PLUMB_MODEL_VERIFY_H

#include "model/file.h"

enum plumb_verify_parts {
    PLUMB_VERIFY_STRETCHES = 1, /* checksums over stretches of the file (plumb_file_check) */
    PLUMB_VERIFY_STORAGES = 2,  /* checksums of single storages */
};

/* A checksum that does not hold becomes a warning of the file, naming what it covers. */
enum plumb_status plumb_file_verify(struct plumb_file *file, int parts,
                                    const struct plumb_scan_options *options,
                                    struct plumb_error *err);

#endif
