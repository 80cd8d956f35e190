/* finding.h - what any analysis reports, and every surface shows (DESIGN, section 5). */
#ifndef PLUMB_MODEL_FINDING_H
#define PLUMB_MODEL_FINDING_H

#include "plumb.h"

enum plumb_severity { PLUMB_SEVERITY_ERROR, PLUMB_SEVERITY_WARNING, PLUMB_SEVERITY_NOTE };

/* One fact that shows it, and what would have been normal. */
struct plumb_evidence {
    const char *what;     /* "largest difference" */
    const char *observed; /* "0.5" */
    const char *normal;   /* "at most 3e-7"; NULL if nothing can be said */
};

enum { PLUMB_FINDING_EVIDENCE = 4 };

/* All text lives in the arena of the result that holds the finding. */
struct plumb_finding {
    const char *id;
    const char *title;
    enum plumb_severity severity;
    double confidence;  /* 0..1 */
    const char *tensor; /* where; NULL if it is not about one */
    int64_t element;    /* -1: none */
    bool has_place;     /* it is about an op of a run: */
    int rank;
    int64_t step;
    const char *op;
    struct plumb_evidence evidence[PLUMB_FINDING_EVIDENCE];
    size_t evidence_count;
    const char *cause, *fix, *next_test;
};

const char *plumb_severity_name(enum plumb_severity severity);

#endif
