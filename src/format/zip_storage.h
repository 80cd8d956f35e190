/* zip_storage.h - a member of a zip archive as the storage of tensors. */
#ifndef PLUMB_FORMAT_ZIP_STORAGE_H
#define PLUMB_FORMAT_ZIP_STORAGE_H

#include "base/zip.h"
#include "model/file.h"

/* A stored member is used where it lies; a deflated one is unpacked when first read. `entry`
 * and `map` must live as long as the file. The archive's crc goes with it. */
enum plumb_status plumb_zip_add_storage(struct plumb_file *file, const struct plumb_map *map,
                                        const struct plumb_zip_entry *entry,
                                        struct plumb_storage **storage,
                                        struct plumb_error *err);
/* A small member as bytes: in the map if it is stored, else unpacked to `arena`. */
enum plumb_status plumb_zip_read_small(const struct plumb_map *map,
                                       const struct plumb_zip_entry *entry,
                                       struct plumb_arena *arena, const unsigned char **bytes,
                                       struct plumb_error *err);

#endif
