/*
 * fault.h - what can be wrong with a run, by name: a change of its settings from a step on, mild
 * or severe, in a layer, on a rank.
 *
 * A fault is one entry of the table at the end of a fault_<family>.c; a family is one line in
 * faults.def. Nothing that is recorded ever holds a fault's name.
 */
#ifndef LAB_FAULT_H
#define LAB_FAULT_H

#include "plan.h"

enum lab_fault_nets { LAB_ON_MLP = 1, LAB_ON_CNN = 2, LAB_ON_GPT = 4, LAB_ON_ALL = 7 };

struct lab_fault_request;

struct lab_fault {
    const char *name;
    const char *sentence;
    void (*apply)(struct lab_settings *settings, const struct lab_fault_request *request);
    unsigned nets;      /* where it exists; 0: everywhere */
    int ranks;          /* at least; 0: any number */
    bool one_rank;      /* on one rank unless all are asked for: rank 1, or 0 if it is alone */
    bool mild_one_rank; /* mild on one rank, severe on all */
    bool one_layer;     /* in layer 1 unless another is asked for; else in all */
    bool at_start;      /* exists only from the first step on */
    bool midway;        /* begins half way unless told otherwise */
    bool low_precision; /* shows only in f16 or bf16 */
    enum plumb_dtype dtype; /* shows only in this one: f16 or bf16; else f64, for any */
    bool needs_optimizer;   /* shows only with this one: */
    enum lab_optimizer_kind optimizer;
};

struct lab_fault_request {
    const struct lab_fault *fault;
    bool severe;
    int step, layer, rank;
};

struct lab_fault_family {
    const char *name;
    const struct lab_fault *faults;
    size_t count;
};

/* NULL past the end; `family` may be NULL. */
const struct lab_fault *lab_fault_at(size_t i, const char **family);

/* What the command line fixed: a fault must not change it, only fill in what is open. */
struct lab_fault_given {
    bool net, ranks, dtype, optimizer;
};

/* Parses NAME[:mild|severe][@step=K,layer=L,rank=R], or gives up with what is wrong. */
void lab_fault_parse(const char *text, struct lab_fault_request *request);
/* Sees to network, ranks, dtype and optimizer that the fault needs to exist: fills in what is
 * open, gives up if it was given otherwise. */
void lab_fault_require(const struct lab_fault_request *request,
                       const struct lab_fault_given *given, const struct lab_net_kind **kind,
                       int *ranks, enum plumb_dtype *dtype, enum lab_optimizer_kind *optimizer);
/* Makes plan->changed of plan->usual. */
void lab_fault_install(struct lab_fault_request *request, struct lab_plan *plan);

/* The site a request names. */
static inline struct lab_site lab_fault_site(const struct lab_fault_request *request)
{
    return (struct lab_site){true, request->layer};
}

/* Mild: in the one layer; severe: in all. */
static inline struct lab_site lab_fault_spread(const struct lab_fault_request *request)
{
    return (struct lab_site){true, request->severe ? LAB_ALL_LAYERS : request->layer};
}

#endif
