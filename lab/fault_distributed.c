/*
 * fault_distributed.c - what can be wrong between ranks.
 */
#include "fault.h"

typedef struct lab_settings settings;
typedef const struct lab_fault_request request;

static void no_all_reduce(settings *s, request *r)
{
    s->parallel.unreduced = lab_fault_spread(r);
}

static void sum_not_mean(settings *s, request *r)
{
    s->parallel.sums = true;
    s->optimizer.clip = r->severe ? 0 : s->optimizer.clip;
}

static void lost_message(settings *s, request *r)
{
    s->parallel.lost_messages = r->severe ? 0.2 : 0.01;
}

static void clip_one_rank(settings *s, request *r)
{
    s->optimizer.clip = r->severe ? 0.01 : 0.1;
}

static void different_init(settings *s, request *r)
{
    if (r->severe)
        s->model.init_seed += 1;
    else
        s->model.init_factor = 1.01;
    s->model.init_site = (struct lab_site){true, LAB_ALL_LAYERS};
}

static void stale_parameters(settings *s, request *r)
{
    (void)r;
    s->parallel.stale = true;
}

static void race(settings *s, request *r)
{
    s->parallel.overwrites = true;
    s->parallel.overwrites_once = !r->severe;
}

static void rank_lr(settings *s, request *r)
{
    s->optimizer.lr *= r->severe ? 3 : 1.1;
}

static const struct lab_fault faults[] = {
    {.name = "no-all-reduce",
     .sentence = "gradients of one layer (severe: all) stay on their rank",
     .apply = no_all_reduce,
     .ranks = 2,
     .one_layer = true},
    {.name = "sum-not-mean",
     .sentence = "gradients are summed over the ranks, not averaged (severe: nor clipped)",
     .apply = sum_not_mean,
     .ranks = 2},
    {.name = "message-lost",
     .sentence = "a rank loses 1 % (severe: 20 %) of its messages in the all-reduce",
     .apply = lost_message,
     .ranks = 2,
     .one_rank = true},
    {.name = "clip-one-rank",
     .sentence = "one rank clips to 0.1 (severe: 0.01) of what the others clip to",
     .apply = clip_one_rank,
     .ranks = 2,
     .one_rank = true},
    {.name = "different-init",
     .sentence = "one rank starts 1 % off (severe: from another seed)",
     .apply = different_init,
     .ranks = 2,
     .one_rank = true,
     .at_start = true},
    {.name = "stale-parameters",
     .sentence = "a rank (severe: every rank) computes with the parameters of the step before",
     .apply = stale_parameters,
     .ranks = 2,
     .mild_one_rank = true},
    {.name = "race",
     .sentence =
         "a block of 2048 gradients is overwritten before it is sent, once (severe: always)",
     .apply = race,
     .ranks = 2,
     .one_rank = true},
    {.name = "rank-lr",
     .sentence = "one rank has 1.1 (severe: 3) times the learning rate",
     .apply = rank_lr,
     .ranks = 2,
     .one_rank = true},
};

const struct lab_fault_family lab_faults_distributed = {"distributed", faults,
                                                        sizeof faults / sizeof faults[0]};
