/*
 * torch_layout.h - where the fields of at::RecordFunction lie in the torch of this process.
 *
 * They are found, not assumed: known operators are run on known tensors, and what the callbacks are
 * given is searched for them. Reading is done by the kernel (process_vm_readv), which cannot fault.
 * What is not found exactly once is not used, and another route is taken.
 */
#ifndef PLUMB_PYTHON_TORCH_LAYOUT_H
#define PLUMB_PYTHON_TORCH_LAYOUT_H

#include "torch_symbols.h"

/* c10::IValue */
struct plumb_torch_value {
    void *
        payload; /* of a tensor: its implementation; the address of this is the shim's tensor */
    uint32_t tag, more;
};

enum { PLUMB_TORCH_TENSOR = 1 }; /* tag */

struct plumb_torch_layout {
    size_t inputs, outputs, sequence; /* offsets in the record; sequence 0: not found */
    uint32_t list_tag;
    size_t list_values; /* offset of the vector in a list */
};

struct plumb_torch_values {
    const struct plumb_torch_value *first;
    size_t count;
};

/* Looks at what follows: an in-place operator on `one` (0), a list operator on `one` and `two` (1),
 * an operator that will get the sequence number `sequence` (2). The two are PyObjects. */
bool plumb_torch_layout_begin(const struct plumb_torch_symbols *symbols, const void *one,
                              const void *two);
void plumb_torch_layout_expect(int stage, int64_t sequence);
/* NULL: found; else what was not. */
const char *plumb_torch_layout_finish(struct plumb_torch_layout *layout);

struct plumb_torch_values plumb_torch_inputs(const struct plumb_torch_layout *layout,
                                             const struct plumb_torch_record *record);
struct plumb_torch_values plumb_torch_outputs(const struct plumb_torch_layout *layout,
                                              const struct plumb_torch_record *record);
/* What is in a list; a value that is none gives nothing. */
struct plumb_torch_values plumb_torch_list(const struct plumb_torch_layout *layout,
                                           const struct plumb_torch_value *value);
/* -1: has none. */
int64_t plumb_torch_sequence(const struct plumb_torch_layout *layout,
                             const struct plumb_torch_record *record);

#endif
