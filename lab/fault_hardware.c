/*
 * fault_hardware.c - devices that compute wrongly or slowly.
 */
#include "fault.h"

typedef struct lab_settings settings;
typedef const struct lab_fault_request request;

enum { MANTISSA_BIT = 21, EXPONENT_BIT = 30 }; /* of an f32 */

static void flip(settings *s, request *r, bool backward, int bit)
{
    s->hardware.flips = true;
    s->hardware.flips_backward = backward;
    s->hardware.flips_once = !r->severe;
    s->hardware.bit = bit;
    s->hardware.layer = r->layer;
}

static void mantissa_forward(settings *s, request *r)
{
    flip(s, r, false, MANTISSA_BIT);
}

static void mantissa_backward(settings *s, request *r)
{
    flip(s, r, true, MANTISSA_BIT);
}

static void exponent_forward(settings *s, request *r)
{
    flip(s, r, false, EXPONENT_BIT);
}

static void exponent_backward(settings *s, request *r)
{
    flip(s, r, true, EXPONENT_BIT);
}

static void slow_rank(settings *s, request *r)
{
    s->hardware.delay_ms = r->severe ? 100 : 20;
}

static const struct lab_fault faults[] = {
    {.name = "bitflip-mantissa",
     .sentence = "a mantissa bit flips in a layer's output, once (severe: every step)",
     .apply = mantissa_forward,
     .one_rank = true,
     .one_layer = true,
     .midway = true},
    {.name = "bitflip-mantissa-backward",
     .sentence = "a mantissa bit flips in a layer's gradient, once (severe: every step)",
     .apply = mantissa_backward,
     .one_rank = true,
     .one_layer = true,
     .midway = true},
    {.name = "bitflip-exponent",
     .sentence = "an exponent bit flips in a layer's output, once (severe: every step)",
     .apply = exponent_forward,
     .one_rank = true,
     .one_layer = true,
     .midway = true},
    {.name = "bitflip-exponent-backward",
     .sentence = "an exponent bit flips in a layer's gradient, once (severe: every step)",
     .apply = exponent_backward,
     .one_rank = true,
     .one_layer = true,
     .midway = true},
    {.name = "slow-rank",
     .sentence = "one rank computes 20 ms (severe: 100 ms) longer a step",
     .apply = slow_rank,
     .one_rank = true},
};

const struct lab_fault_family lab_faults_hardware = {"hardware", faults,
                                                     sizeof faults / sizeof faults[0]};
