/*
 * fault_resume.c - what a restart from a checkpoint can leave behind.
 */
#include "fault.h"

typedef struct lab_settings settings;
typedef const struct lab_fault_request request;

static void lost_optimizer(settings *s, request *r)
{
    s->resume_loses = LAB_LOSES_MOMENTS;
    s->optimizer.lr *= r->severe ? 3 : 1; /* no state, and no second warm-up to survive that */
}

static void lost_random(settings *s, request *r)
{
    s->resume_loses = LAB_LOSES_RANDOM;
    s->data.shared_draws = r->severe ? s->global_batch : 0;
}

static void sampler_reset(settings *s, request *r)
{
    s->data.restarted = true;
    s->resume_loses = r->severe ? LAB_LOSES_RANDOM : LAB_LOSES_NOTHING;
}

static void lr_reset(settings *s, request *r)
{
    s->resume_loses = LAB_LOSES_SCHEDULE;
    s->optimizer.warmup = r->severe ? 0 : s->optimizer.warmup;
}

static const struct lab_fault faults[] = {
    {.name = "resume-lost-optimizer",
     .sentence =
         "a restart loses the optimizer's moments (severe: at 3 times the learning rate)",
     .apply = lost_optimizer,
     .midway = true},
    {.name = "resume-lost-rng",
     .sentence = "a restart begins with the random numbers of step 0 (severe: in all workers)",
     .apply = lost_random,
     .midway = true},
    {.name = "resume-sampler-reset",
     .sentence =
         "a restart reads the data from the beginning (severe: with the first masks, too)",
     .apply = sampler_reset,
     .midway = true},
    {.name = "resume-lr-reset",
     .sentence = "a restart begins the schedule again (severe: at its peak)",
     .apply = lr_reset,
     .midway = true},
};

const struct lab_fault_family lab_faults_resume = {"resume", faults,
                                                   sizeof faults / sizeof faults[0]};
