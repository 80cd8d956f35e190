/* mindspore_names.h - which entries of a MindSpore checkpoint are the model's own. */
#ifndef PLUMB_FORMAT_MINDSPORE_NAMES_H
#define PLUMB_FORMAT_MINDSPORE_NAMES_H

#include "model/file.h"

/* Marks optimizer states and training counters among the tensors from `first` on as not being
 * parameters. MindSpore keeps them beside the parameters, told apart by name alone. */
void plumb_mindspore_mark_states(struct plumb_file *file, size_t first);

#endif
