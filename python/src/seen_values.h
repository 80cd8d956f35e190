/*
 * seen_values.h - what is known about the memory of tensors seen during a step.
 *
 * An operator's input is nearly always the output of an earlier one, and its numbers need not be computed
 * again as long as nobody wrote to it. Whoever writes passes through the capture and says so here. Because
 * somebody might not (numpy, compiled code, memory given back and taken again), a few words of the values are
 * kept and compared before numbers are believed. When a step begins, everything is forgotten but what the last one
 * left for it: weights and what an optimizer keeps of them.
 */
#ifndef PLUMB_PYTHON_SEEN_VALUES_H
#define PLUMB_PYTHON_SEEN_VALUES_H

#include "op_tensor.h"

void plumb_seen_forget_all(void);
/* What is seen from now on outlives the step, or does not. */
void plumb_seen_lasts(bool lasts);
/* Forgets all that was not seen lasting since the last call. */
void plumb_seen_next_step(void);
/* Elements from data to end were written. */
void plumb_seen_forget(const struct plumb_op_tensor *tensor);
/* `known` NULL: its memory is new and nothing was written there yet. */
void plumb_seen_remember(const struct plumb_op_tensor *tensor, const struct plumb_known *known);
/* Both: what was there before is forgotten. */
void plumb_seen_replace(const struct plumb_op_tensor *tensor, const struct plumb_known *known);

enum plumb_seen_match {
    PLUMB_SEEN_NOT,
    PLUMB_SEEN_EMPTY, /* what lies there means nothing */
    PLUMB_SEEN_STATS, /* the same values in another order: no fingerprint */
    PLUMB_SEEN_ALL,
};
enum plumb_seen_match plumb_seen_find(const struct plumb_op_tensor *tensor,
                                      struct plumb_known *known);

#endif
