/*
 * loss_scale.c - the factor that keeps small gradients above what f16 can still hold.
 */
#include "optimizer.h"

bool lab_loss_scale_used(const struct lab_numeric_settings *settings)
{
    return settings->precision.compute == PLUMB_F16;
}

void lab_loss_scale_start(struct lab_loss_scale *state,
                          const struct lab_numeric_settings *settings)
{
    state->scale = lab_loss_scale_used(settings) ? settings->initial_scale : 1;
    state->clean_steps = 0;
}

void lab_loss_scale_after(struct lab_loss_scale *state,
                          const struct lab_numeric_settings *settings, bool overflow)
{
    if (!lab_loss_scale_used(settings) || !settings->dynamic_scale)
        return;
    state->clean_steps = overflow ? 0 : state->clean_steps + 1;
    if (overflow && state->scale > 1)
        state->scale *= 0.5;
    if (state->clean_steps == settings->scale_window) {
        state->scale *= 2;
        state->clean_steps = 0;
    }
}
