/* opaque.h - content that is a tensor to the file but not to Plumb: listed, never opened. */
#ifndef PLUMB_FORMAT_OPAQUE_H
#define PLUMB_FORMAT_OPAQUE_H

#include "model/file.h"

struct plumb_opaque {
    const char *name;
    const char *dtype; /* as the file calls it */
    int rank;
    const int64_t *shape;
    uint64_t bytes;
    const char *why; /* ends the sentence "tensor 'x' (Int4) is only listed: ..." */
};

/* Adds a note "opaque: Int4 tensor [2, 3], 3 bytes" and a warning. */
enum plumb_status plumb_file_add_opaque(struct plumb_file *file,
                                        const struct plumb_opaque *opaque,
                                        struct plumb_error *err);

#endif
