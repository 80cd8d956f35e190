/*
 * hardware.c - flips one bit of one element of a layer's product, once or at every step, and
 * sleeps where a slow device would compute.
 */
#include "hardware.h"

#include <string.h>
#include <time.h>

#include "random.h"

/* The next value between 0 and 2 from the one drawn: a relu would hide a change of a negative one,
 * and from 2 on the top bit of the exponent is set already. */
static void flip(real *values, size_t count, uint64_t draw, int bit)
{
    size_t i = draw % count;
    for (size_t tried = 0; tried < count && !(values[i] > 0 && values[i] < 2); tried++)
        i = (i + 1) % count;
    real *value = &values[i];
    uint32_t bits;
    _Static_assert(sizeof bits == sizeof *value, "bits of a float");
    memcpy(&bits, value, sizeof bits);
    bits ^= 1u << bit;
    memcpy(value, &bits, sizeof bits);
}

void lab_hardware_touch(const struct lab_plan *plan, const struct lab_settings *settings,
                        int64_t step, struct lab_node *node, enum lab_phase phase)
{
    const struct lab_hardware_settings *hardware = &settings->hardware;
    bool matrix = node->op == &lab_op_linear || node->op == &lab_op_conv2d;
    bool turn = !hardware->flips_once || step == plan->change_step;
    enum lab_phase flipped = hardware->flips_backward ? LAB_BACKWARD : LAB_FORWARD;
    if (!hardware->flips || !turn || phase != flipped || !matrix ||
        node->layer != hardware->layer)
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
