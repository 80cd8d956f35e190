/*
 * pattern.h - the shape a difference has: where it lies and what kind of change explains it.
 *
 * A pattern is one file pattern_<name>.c that ends in one `const struct plumb_pattern_rule`,
 * plus one line in patterns.def. The judge asks the rules in the order of that list and takes
 * the first that recognises the pair, so the list goes from the specific to the general.
 */
#ifndef PLUMB_COMPARE_PATTERN_H
#define PLUMB_COMPARE_PATTERN_H

#include "compare/evidence.h"
#include "compare/judge.h"

struct plumb_pattern_rule {
    struct plumb_entry entry;
    /* Sets `*found`, and then fills `judgement` but for the pattern. */
    enum plumb_status (*find)(const struct plumb_evidence *evidence,
                              struct plumb_judgement *judgement, bool *found,
                              struct plumb_error *err);
};

#define PATTERN(name, value) extern const struct plumb_pattern_rule plumb_pattern_##name;
#include "compare/patterns.def"
#undef PATTERN

/* Asks every rule; one of them always fits. */
enum plumb_status plumb_pattern_find(const struct plumb_evidence *evidence,
                                     struct plumb_judgement *judgement,
                                     struct plumb_error *err);

/* Fills verdict and reason. */
void plumb_judgement_set(struct plumb_judgement *judgement, enum plumb_verdict verdict,
                         const char *format, ...) PLUMB_PRINTF(3, 4);

/* How a set of elements was changed, for reasons: zeroed, scaled, constant. */
enum plumb_change_kind {
    PLUMB_CHANGE_OTHER,
    PLUMB_CHANGE_ZEROED,
    PLUMB_CHANGE_SCALED,
    PLUMB_CHANGE_CONSTANT,
};

struct plumb_change {
    enum plumb_change_kind kind;
    double factor; /* scaled: B over A; constant: the value */
    char text[96]; /* "zero in B", "1.5 times A", "0.25 throughout B", "different values" */
};

void plumb_change_describe(const struct plumb_evidence *evidence, const double *a,
                           const double *b, size_t count, struct plumb_change *change);

/* Whether one factor explains most of a difference that is small enough for rounding: errors
 * of rounding have none in common. */
bool plumb_change_common_factor(const struct plumb_evidence *evidence, double *factor,
                                double *explained);

/* What the error model allows, for the end of a reason: "rounding allows 7.9e-05 of scale". */
void plumb_allowance_text(const struct plumb_evidence *evidence, char *text, size_t size);

#endif
