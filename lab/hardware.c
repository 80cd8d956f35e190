/*
 * hardware.c - flips one bit of one element of a layer's product, once or at every step, and
 * sleeps where a slow device would compute.
 */
#include "hardware.h"

#include <string.h>
#include <time.h>

#include "random.h"

/* The next value from `low` to 2, counted from `first`; `count` if there is none. */
static size_t find_value(const real *values, size_t count, size_t first, real low)
{
    for (size_t tried = 0; tried < count; tried++) {
        size_t i = (first + tried) % count;
        if (values[i] > low && values[i] < 2)
            return i;
    }
    return count;
}

/* Of a value from 1 to 2 if there is one: with the top bit of the exponent it is not finite. Of a
 * positive one otherwise: a relu would hide the change of a negative one. */
static void flip(real *values, size_t count, uint64_t draw, int bit)
{
    size_t first = draw % count, i = find_value(values, count, first, 1);
    if (i == count)
        i = find_value(values, count, first, 0);
    real *value = &values[i < count ? i : first];
    uint32_t bits;
    _Static_assert(sizeof bits == sizeof *value, "bits of a float");
    memcpy(&bits, value, sizeof bits);
    bits ^= 1u << bit;
    memcpy(value, &bits, sizeof bits);
}

static bool is_product(const struct lab_node *node)
{
    return node->op == &lab_op_linear || node->op == &lab_op_conv2d;
}

/* The last matrix product of its layer: the one whose result is hit. */
static bool is_last_product(const struct lab_net *net, const struct lab_node *node)
{
    if (!is_product(node))
        return false;
    for (const struct lab_node *next = node + 1; next < net->nodes + net->node_count; next++)
        if (next->layer == node->layer && is_product(next))
            return false;
    return true;
}

void lab_hardware_touch(const struct lab_plan *plan, const struct lab_net *net, int64_t step,
                        struct lab_node *node, enum lab_phase phase)
{
    const struct lab_hardware_settings *hardware = &net->settings->hardware;
    bool turn = !hardware->flips_once || step == plan->change_step;
    enum lab_phase flipped = hardware->flips_backward ? LAB_BACKWARD : LAB_FORWARD;
    if (!hardware->flips || !turn || phase != flipped || node->layer != hardware->layer ||
        !is_last_product(net, node))
        return;
    struct lab_random random = lab_random_key(plan->seed, 201, (uint64_t)step, 0);
    uint64_t draw = lab_random_bits(&random);
    struct lab_tensor *weight = &node->parameter[0]->tensor;
    if (phase == LAB_BACKWARD)
        flip(weight->grad, weight->count, draw, hardware->bit);
    else
        flip(node->out->value, node->out->count, draw, hardware->bit);
}

void lab_hardware_delay(const struct lab_settings *settings)
{
    int ms = settings->hardware.delay_ms;
    struct timespec pause = {ms / 1000, (long)(ms % 1000) * 1000000};
    if (ms > 0)
        nanosleep(&pause, NULL);
}
