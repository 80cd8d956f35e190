/*
 * reduce.c - packs parameters into messages, sends them through the all-reduce, unpacks the mean.
 */
#include "reduce.h"

#include <stdlib.h>
#include <string.h>

#include "random.h"
#include "trouble.h"

enum { BLOCK = 2048 }; /* what an unfinished copy overwrites */

/* Parameters [first, end) make a message; returns end. */
static int message_end(const struct lab_net *net, int first, size_t *count)
{
    *count = 0;
    while (first < net->parameter_count && *count < LAB_MESSAGE_ELEMENTS)
        *count += net->parameters[first++]->tensor.count;
    return first;
}

size_t lab_reduce_capacity(const struct lab_net *net)
{
    size_t largest = 0;
    for (int i = 0; i < net->parameter_count; i++)
        if (net->parameters[i]->tensor.count > largest)
            largest = net->parameters[i]->tensor.count;
    return LAB_MESSAGE_ELEMENTS + largest;
}

void lab_reducer_start(struct lab_reducer *reducer, const struct lab_plan *plan,
                       struct lab_group *group, int rank, const struct lab_net *net)
{
    size_t capacity = lab_reduce_capacity(net);
    *reducer = (struct lab_reducer){plan, group, rank, lab_allocate(capacity, sizeof(real)),
                                    lab_allocate(capacity, sizeof(real))};
}

void lab_reducer_release(struct lab_reducer *reducer)
{
    free(reducer->sent);
    free(reducer->message);
}

static void pack(const struct lab_net *net, int first, int end, real *message)
{
    for (int i = first; i < end; i++) {
        memcpy(message, net->parameters[i]->tensor.grad,
               net->parameters[i]->tensor.count * sizeof(real));
        message += net->parameters[i]->tensor.count;
    }
}

static void unpack(struct lab_net *net, const struct lab_settings *settings, int first, int end,
                   const real *message)
{
    for (int i = first; i < end; i++) {
        struct lab_parameter *parameter = net->parameters[i];
        if (!lab_site_hits(settings->parallel.unreduced, parameter->layer)) {
            memcpy(parameter->tensor.grad, message, parameter->tensor.count * sizeof(real));
            parameter->tensor.recorded_grad.known.known = false;
        }
        message += parameter->tensor.count;
    }
}

/* What goes wrong with a message before the other ranks see it. */
static void spoil(const struct lab_reducer *reducer, const struct lab_settings *settings,
                  int64_t step, int number, size_t count)
{
    struct lab_random random =
        lab_random_key(reducer->plan->seed, 301, (uint64_t)step, (uint64_t)number);
    if (lab_random_uniform(&random) < settings->parallel.lost_messages)
        memset(reducer->message, 0, count * sizeof(real));
    bool turn = !settings->parallel.overwrites_once || step == reducer->plan->change_step;
    if (!settings->parallel.overwrites || !turn || count < 2)
        return;
    size_t block = count >= 2 * BLOCK ? BLOCK : count / 2;
    memmove(reducer->message + block, reducer->message, block * sizeof(real));
}

void lab_reduce_gradients(struct lab_reducer *reducer, struct lab_net *net,
                          const struct lab_settings *settings, int64_t step,
                          struct lab_recording *recording)
{
    real factor = settings->parallel.sums ? 1 : 1 / (real)reducer->plan->ranks;
    int number = 0;
    if (reducer->plan->ranks == 1)
        return;
    for (int first = 0, end; first < net->parameter_count; first = end, number++) {
        size_t count;
        int64_t begin = lab_recording_now();
        end = message_end(net, first, &count);
        pack(net, first, end, reducer->message);
        spoil(reducer, settings, step, number, count);
        memcpy(reducer->sent, reducer->message, count * sizeof(real));
        lab_all_reduce(reducer->group, reducer->rank, reducer->message, count);
        for (size_t i = 0; i < count; i++)
            reducer->message[i] *= factor;
        unpack(net, settings, first, end, reducer->message);
        lab_recording_reduce(recording, number, reducer->sent, reducer->message, count, begin);
    }
}
