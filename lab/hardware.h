/*
 * hardware.h - what broken hardware does to a computation: a bit that flips, a rank that is slow.
 */
#ifndef LAB_HARDWARE_H
#define LAB_HARDWARE_H

#include "plan.h"

/* Call when a node has run: flips a bit of what it produced if it is this node's turn. */
void lab_hardware_touch(const struct lab_plan *plan, const struct lab_net *net, int64_t step,
                        struct lab_node *node, enum lab_phase phase);
void lab_hardware_delay(const struct lab_settings *settings);

#endif
