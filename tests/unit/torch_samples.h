/* torch_samples.h - small checkpoints made by hand for the tests of the PyTorch readers. */
#ifndef TORCH_SAMPLES_H
#define TORCH_SAMPLES_H

#include "base/zip_writer.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Pickles as text (protocol 0), with the few opcodes that have no text form. */
#define STORAGE(type, key, elements)                                                           \
    "((S'storage'\nctorch\n" type "Storage\nS'" key "'\nS'cpu'\nI" elements "\ntQ"
#define V2 "ctorch._utils\n_rebuild_tensor_v2\n"
#define TENSOR(type, key, elements, offset, size, stride)                                      \
    V2 STORAGE(type, key, elements) "I" offset "\n(" size "t(" stride "tI00\nNtR"
/* f32 of two rows and three columns, in storage "0". */
#define MATRIX TENSOR("Float", "0", "6", "0", "I2\nI3\n", "I3\nI1\n")

struct sample_member {
    const char *name;
    const void *bytes;
    size_t size;
};

/* An archive at `path` with a pickle, a storage "0" of six floats 0 to 5, and other members. */
static inline void write_sample(const char *path, const char *pickle,
                                const struct sample_member *more, size_t count)
{
    static const float values[6] = {0, 1, 2, 3, 4, 5};
    struct plumb_output *output = NULL;
    struct plumb_zip_writer writer;
    assert_int_equal(plumb_output_open(path, &output, NULL), PLUMB_OK);
    plumb_zip_writer_init(&writer, output, 64);
    assert_int_equal(
        plumb_zip_writer_add(&writer, "any/data.pkl", pickle, strlen(pickle), NULL), PLUMB_OK);
    assert_int_equal(plumb_zip_writer_add(&writer, "any/data/0", values, sizeof values, NULL),
                     PLUMB_OK);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(
            plumb_zip_writer_add(&writer, more[i].name, more[i].bytes, more[i].size, NULL),
            PLUMB_OK);
    assert_int_equal(plumb_zip_writer_finish(&writer, NULL), PLUMB_OK);
    assert_int_equal(plumb_output_commit(output, NULL), PLUMB_OK);
    plumb_zip_writer_release(&writer);
    plumb_output_close(output);
}

#endif
