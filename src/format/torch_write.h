/* torch_write.h - writes a flat dict of tensors as torch.save() would. */
#ifndef PLUMB_FORMAT_TORCH_WRITE_H
#define PLUMB_FORMAT_TORCH_WRITE_H

#include "format/format.h"

enum plumb_status plumb_torch_write(const struct plumb_write_request *request,
                                    struct plumb_output *output, struct plumb_error *err);

#endif
