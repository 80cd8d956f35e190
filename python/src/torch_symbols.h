/*
 * torch_symbols.h - what the op route calls inside libtorch, found by name at run time.
 *
 * Nothing is linked: an extension that works with every torch must load without any. The shim is
 * torch's own stable C interface; the record functions are C++ names that have not changed since
 * 1.10, and torch_layout.c finds out where their fields lie.
 */
#ifndef PLUMB_PYTHON_TORCH_SYMBOLS_H
#define PLUMB_PYTHON_TORCH_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A tensor as the shim takes it: the address of torch's pointer to it. */
typedef const void *plumb_torch_tensor;
struct plumb_torch_record; /* at::RecordFunction */

/* at::RecordFunctionCallback, passed by value. `start` returns a unique_ptr through its first
 * argument. */
struct plumb_torch_callback {
    void *(*start)(void *result, const struct plumb_torch_record *record);
    void (*end)(const struct plumb_torch_record *record, void *context);
    double probability;
    unsigned char scopes[10];
    bool needs_inputs, needs_outputs, needs_ids;
};

enum { PLUMB_TORCH_SCOPE_FUNCTION = 0, PLUMB_TORCH_SCOPE_BACKWARD = 1 };

struct plumb_torch_symbols {
    uint64_t (*add_callback)(struct plumb_torch_callback callback);
    void (*remove_callback)(uint64_t handle);
    const char *(*name)(const struct plumb_torch_record *record);
    const char *(*overload)(const struct plumb_torch_record *record);
    bool (*modes_set)(bool user_modes_only);
    bool (*in_parallel)(void);
    /* Whether operators in this thread make records; NULL, like the next: this torch has none. */
    void (*enable_records)(bool enabled);
    bool (*profiler_runs)(void);
    /* torch.func's grad, vmap and so on that this thread is inside of: the addresses of a vector's begin and end. */
    const void *const *(*transforms)(void);
    /* Where what torch knows of this thread's callbacks begins; NULL: not known. */
    void *(*thread_callbacks)(void);
    /* The shim: 0 is success. A call that fails throws inside, which takes a millisecond. */
    int32_t (*is_defined)(plumb_torch_tensor tensor, bool *defined);
    int32_t (*layout)(plumb_torch_tensor tensor, int32_t *layout);
    int32_t (*device)(plumb_torch_tensor tensor, int32_t *device);
    int32_t (*dtype)(plumb_torch_tensor tensor, int32_t *dtype);
    int32_t (*count)(plumb_torch_tensor tensor, int64_t *count);
    int32_t (*rank)(plumb_torch_tensor tensor, int64_t *rank);
    int32_t (*shape)(plumb_torch_tensor tensor, int64_t **shape);
    int32_t (*strides)(plumb_torch_tensor tensor, int64_t **strides);
    int32_t (*offset)(plumb_torch_tensor tensor, int64_t *elements);
    int32_t (*data)(plumb_torch_tensor tensor, void **data);
};

/* What the slower route asks for each operator; functions that this torch lacks are NULL. */
struct plumb_torch_graph {
    int (*task)(void);             /* the pass backward that runs in this thread; -1: none */
    uint64_t (*next_number)(void); /* that the next node of a graph gets */
};

/* torch's threads, which are those of OpenMP, with which it was built: they are there already, and wait. */
struct plumb_torch_threads {
    int (*count)(void); /* that torch uses */
    bool (*in_parallel)(void);
    void (*parallel)(void (*body)(void *data), void *data, unsigned threads, unsigned flags);
    int (*number)(void);
    int (*team_size)(void);
};

/* false: some are not found, and none may be used. */
bool plumb_torch_threads_load(struct plumb_torch_threads *found);
void plumb_torch_graph_load(struct plumb_torch_graph *graph);
/* NULL once all are found, else the name that is missing. */
const char *plumb_torch_symbols_load(struct plumb_torch_symbols *symbols);

#endif
