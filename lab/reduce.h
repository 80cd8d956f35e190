/*
 * reduce.h - gradients of all ranks become one: messages of some parameters each, reduced one
 * after the other.
 */
#ifndef LAB_REDUCE_H
#define LAB_REDUCE_H

#include "net.h"
#include "ranks.h"
#include "recording.h"

enum { LAB_MESSAGE_ELEMENTS = 8192 };

struct lab_reducer {
    const struct lab_plan *plan;
    struct lab_group *group;
    int rank;
    real *sent, *message;
};

/* No message of this network has more elements. */
size_t lab_reduce_capacity(const struct lab_net *net);
void lab_reducer_start(struct lab_reducer *reducer, const struct lab_plan *plan,
                       struct lab_group *group, int rank, const struct lab_net *net);
void lab_reducer_release(struct lab_reducer *reducer);
void lab_reduce_gradients(struct lab_reducer *reducer, struct lab_net *net,
                          const struct lab_settings *settings, int64_t step,
                          struct lab_recording *recording);

#endif
