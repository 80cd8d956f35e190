/*
 * op_names.h - what an op's name says about it, whatever framework gave it.
 *
 * A label is "path.of.module.name#call": the path of the module, the op or the module's class, and
 * the number of the call from the second on.
 */
#ifndef PLUMB_COMPARE_OP_NAMES_H
#define PLUMB_COMPARE_OP_NAMES_H

#include "plumb.h"

/* The line of op_kinds.def, or a number that stands for the name itself. */
uint32_t plumb_op_kind(const char *name);
/* Does it leave the values as they are: a view, a copy, another order of the dimensions? */
bool plumb_op_is_copy(const char *name);
/* Is it a class of modules rather than an op of torch, which begins with a small letter? */
bool plumb_op_is_class(const char *name);

/* How long the module's path is in a label whose op is `name`; 0 for none. */
size_t plumb_label_path(const char *label, const char *name);
/* "#1" of a label, or "". */
const char *plumb_label_call(const char *label);
/* Equal for labels that name the same module in any framework; an update is named by its parameter. */
uint64_t plumb_label_key(const char *label, const char *name);
/* Equal for slots that hold the same in any framework: param:gamma and param:weight. */
uint64_t plumb_slot_key(const char *slot);
/* Running statistics, by the names of either framework. */
bool plumb_slot_is_running(const char *slot);

#endif
