/*
 * fault_numerics.c - what can be wrong with types, scales, sums and rounding.
 */
#include "fault.h"

typedef struct lab_settings settings;
typedef const struct lab_fault_request request;

static void overflow(settings *s, request *r)
{
    s->model.amplified = lab_fault_site(r);
    s->model.amplification = r->severe ? 65504 : 4096;
}

static void scale_one(settings *s, request *r)
{
    s->numeric.dynamic_scale = false;
    s->numeric.initial_scale = r->severe ? 0x1p-10 : 1;
}

static void scale_static(settings *s, request *r)
{
    s->numeric.dynamic_scale = false;
    s->numeric.initial_scale = r->severe ? 0x1p20 : 0x1p17;
}

static void no_master(settings *s, request *r)
{
    s->numeric.no_master = lab_fault_spread(r);
}

/* The layer (severe: all layers) computes with `special`, which starts as what is usual. */
static struct lab_precision *special(settings *s, request *r)
{
    s->numeric.special_site = lab_fault_spread(r);
    s->numeric.special = s->numeric.precision;
    return &s->numeric.special;
}

static void f16_accumulator(settings *s, request *r)
{
    special(s, r)->accumulate = PLUMB_F16;
}

static void rounding_truncated(settings *s, request *r)
{
    special(s, r)->round = PLUMB_ROUND_TO_ZERO;
}

static void rounding_odd(settings *s, request *r)
{
    special(s, r)->round = PLUMB_ROUND_TO_ODD;
}

static void saturating(settings *s, request *r)
{
    overflow(s, r);
    special(s, r)->saturate = true;
    s->numeric.special_site.layer = LAB_ALL_LAYERS;
}

static void gelu_approximated(settings *s, request *r)
{
    s->model.tanh_gelu = lab_fault_spread(r);
}

static const struct lab_fault faults[] = {
    {.name = "f16-overflow",
     .sentence = "activations of a layer leave the range of f16",
     .apply = overflow,
     .one_layer = true,
     .low_precision = true,
     .dtype = PLUMB_F16},
    {.name = "scale-one",
     .sentence = "the loss scale is fixed at 1 (severe: 2^-10): small gradients become 0",
     .apply = scale_one,
     .low_precision = true,
     .dtype = PLUMB_F16},
    {.name = "scale-static",
     .sentence = "the loss scale is fixed at 2^17 (severe: 2^20): gradients overflow",
     .apply = scale_static,
     .low_precision = true,
     .dtype = PLUMB_F16},
    {.name = "bf16-no-master",
     .sentence = "weights of one layer (severe: all) are kept in bf16 alone",
     .apply = no_master,
     .one_layer = true,
     .low_precision = true,
     .dtype = PLUMB_BF16},
    {.name = "f16-accumulator",
     .sentence = "sums of one layer's (severe: all) products are kept in f16",
     .apply = f16_accumulator,
     .one_layer = true},
    {.name = "rounding-truncated",
     .sentence = "one layer (severe: every layer) rounds toward zero",
     .apply = rounding_truncated,
     .one_layer = true,
     .low_precision = true,
     .dtype = PLUMB_BF16},
    {.name = "rounding-odd",
     .sentence = "one layer (severe: every layer) rounds to odd",
     .apply = rounding_odd,
     .one_layer = true,
     .low_precision = true,
     .dtype = PLUMB_BF16},
    {.name = "saturating-overflow",
     .sentence = "what overflows becomes 65504 instead of infinity, unseen",
     .apply = saturating,
     .one_layer = true,
     .low_precision = true,
     .dtype = PLUMB_F16},
    {.name = "gelu-approximated",
     .sentence = "gelu of one block (severe: all) is the tanh formula",
     .apply = gelu_approximated,
     .nets = LAB_ON_GPT,
     .one_layer = true},
};

const struct lab_fault_family lab_faults_numerics = {"numerics", faults,
                                                     sizeof faults / sizeof faults[0]};
