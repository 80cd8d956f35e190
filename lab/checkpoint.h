/*
 * checkpoint.h - the weights as a file that plumb and the frameworks read.
 */
#ifndef LAB_CHECKPOINT_H
#define LAB_CHECKPOINT_H

#include "net.h"

/* In the format of the extension: npz, safetensors, pth, ckpt. False after a line on stderr. */
bool lab_checkpoint_write(const char *path, const struct lab_net *net);

#endif
