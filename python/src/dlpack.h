/*
 * dlpack.h - the parts of DLPack's binary interface that are used (version 1, as published).
 *
 * A type offers `__dlpack_c_exchange_api__`, a capsule with the functions below; torch had it
 * first under the name `__c_dlpack_exchange_api__`.
 */
#ifndef PLUMB_PYTHON_DLPACK_H
#define PLUMB_PYTHON_DLPACK_H

#include <stdint.h>

enum { DLPACK_CPU = 1, DLPACK_MAJOR = 1 };

enum dlpack_code {
    DLPACK_INT = 0,
    DLPACK_UINT = 1,
    DLPACK_FLOAT = 2,
    DLPACK_BFLOAT = 4,
    DLPACK_COMPLEX = 5,
    DLPACK_BOOL = 6,
    DLPACK_F8E4M3FN = 10,
    DLPACK_F8E5M2 = 12,
};

struct dlpack_tensor {
    void *data;
    struct {
        int32_t type, id;
    } device;
    int32_t ndim;
    struct {
        uint8_t code, bits;
        uint16_t lanes;
    } dtype;
    int64_t *shape, *strides; /* strides in elements; NULL: C order */
    uint64_t byte_offset;
};

struct dlpack_exchange {
    struct {
        uint32_t major, minor;
    } version;
    struct dlpack_exchange *previous;
    void *allocate, *managed_from_object, *managed_to_object;
    /* Borrows; -1 with a Python exception. May be NULL. */
    int (*tensor_from_object)(void *object, struct dlpack_tensor *tensor);
    int (*current_stream)(int32_t device, int32_t id, void **stream);
};

#endif
