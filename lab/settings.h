/*
 * settings.h - everything that decides what a training run does.
 *
 * A healthy run has one of these for all steps and ranks. A fault is a change of one or two
 * members from a step on, on all ranks or one; nothing else in the lab knows about faults.
 */
#ifndef LAB_SETTINGS_H
#define LAB_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "precision.h"

/* Where in the network a member applies. */
struct lab_site {
    bool on;
    int layer; /* LAB_ALL_LAYERS or one */
};

enum { LAB_ALL_LAYERS = -1, LAB_OUTSIDE_LAYERS = -2 };

static inline bool lab_site_hits(struct lab_site site, int layer)
{
    return site.on && (site.layer == LAB_ALL_LAYERS || site.layer == layer);
}

enum lab_optimizer_kind { LAB_SGD, LAB_MOMENTUM, LAB_ADAM, LAB_ADAMW, LAB_OPTIMIZER_COUNT };
enum lab_schedule_kind { LAB_CONSTANT, LAB_LINEAR, LAB_COSINE, LAB_SCHEDULE_COUNT };
enum lab_loss_kind {
    LAB_LOSS_CROSS_ENTROPY,
    LAB_LOSS_OF_SOFTMAX,         /* cross entropy of what is a softmax already */
    LAB_LOSS_FROM_PROBABILITIES, /* logits taken for probabilities */
    LAB_LOSS_SQUARED_LOGITS,
    LAB_LOSS_SQUARED_SOFTMAX,
};

struct lab_optimizer_settings {
    enum lab_optimizer_kind kind;
    enum lab_schedule_kind schedule;
    double lr, beta1, beta2, epsilon, momentum, weight_decay;
    bool decays_everything; /* norms and biases, too */
    int warmup, horizon;    /* steps */
    double clip;            /* largest gradient norm; 0: none */
    bool clip_before_unscale;
    int updates_per_step;
    bool keeps_gradients; /* of the step before */
    struct lab_site unbound;
    bool misses_decaying, misses_others; /* parameter groups that were never handed over */
    enum plumb_dtype state_dtype;
};

struct lab_model_settings {
    uint64_t init_seed;
    double init_factor;
    struct lab_site init_site; /* where the factor applies */
    struct lab_site no_activation, exp_activation, tanh_gelu;
    struct lab_site detached, frozen, swapped_norm;
    bool untied, untied_afresh;
    double dropout;
    bool dropout_in_eval;
    double norm_momentum; /* of batch norm's running statistics */
    struct lab_site running_norm;
    struct lab_site amplified;
    double amplification;
    enum lab_loss_kind loss;
    double loss_gain, loss_factor, loss_floor;
};

struct lab_data_settings {
    int workers;
    bool raw_values, uncentred, scaled_twice, squeezed;
    double constant_features;
    double shuffled_labels, shifted_labels; /* shares of the samples */
    int sorted_run;                         /* samples in a row that are in order of class */
    bool same_shard;
    int shared_draws; /* so many samples in a row get the same random numbers; 0: none */
    double imbalance; /* samples of class 0 for one of the others; 0: as they come */
    bool poisons;     /* the first sample of a batch has a NaN: */
    bool poison_always;
    int64_t poison_step; /* or at this step only */
    int lost_tail;       /* tokens at the end of a sequence */
    bool restarted;      /* the sampler begins again */
};

struct lab_numeric_settings {
    struct lab_precision precision;
    struct lab_site special_site; /* computes with `special` */
    struct lab_precision special;
    struct lab_site no_master;
    bool dynamic_scale;
    double initial_scale;
    int scale_window;
};

struct lab_parallel_settings {
    struct lab_site unreduced;
    bool sums;
    double lost_messages; /* share of one rank's messages that do not arrive */
    bool stale;           /* computes with the parameters of the step before */
    bool overwrites;      /* a block of gradients is replaced before it is summed */
    bool overwrites_once; /* only in the first step this holds at */
};

struct lab_hardware_settings {
    bool flips, flips_backward, flips_once;
    int bit;
    int layer;
    int delay_ms;
};

enum lab_loss_at_resume {
    LAB_LOSES_NOTHING = 0,
    LAB_LOSES_MOMENTS = 1,
    LAB_LOSES_RANDOM = 2,
    LAB_LOSES_SCHEDULE = 4,
};

struct lab_settings {
    int global_batch;
    int eval_every;
    struct lab_optimizer_settings optimizer;
    struct lab_model_settings model;
    struct lab_data_settings data;
    struct lab_numeric_settings numeric;
    struct lab_parallel_settings parallel;
    struct lab_hardware_settings hardware;
    int resume_loses; /* lab_loss_at_resume, or-ed: what the step it applies from begins without */
};

#endif
