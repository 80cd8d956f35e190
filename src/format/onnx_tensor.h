/*
 * onnx_tensor.h - ONNX's TensorProto, which keeps values in one of three ways:
 *
 *     raw_data (9)       little endian, as in memory
 *     typed fields       float_data (4), int32_data (5; one value for f16, i8, bool ... each),
 *                        int64_data (7), double_data (10), uint64_data (11); packed or not
 *     external_data (13) in another file, told by pairs of text: location, offset, length
 *
 * Besides: dims (1), data_type (2), name (8), data_location (14; 1 is external).
 */
#ifndef PLUMB_FORMAT_ONNX_TENSOR_H
#define PLUMB_FORMAT_ONNX_TENSOR_H

#include "base/table.h"
#include "base/wire.h"
#include "model/file.h"

struct plumb_onnx_reader {
    struct plumb_file *file;
    const struct plumb_map *map;
    struct plumb_table external; /* location -> index of its map in file->maps */
    size_t unnamed;              /* tensors without a name so far */
    struct plumb_error *err;
};

/* Adds the tensor in `field`. What cannot be read is listed, with a warning; only damage fails. */
enum plumb_status plumb_onnx_add_tensor(struct plumb_onnx_reader *reader,
                                        const struct plumb_wire_field *field);

#endif
