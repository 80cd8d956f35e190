/* judge.h - from a comparison to a verdict with its reason. */
#ifndef PLUMB_COMPARE_JUDGE_H
#define PLUMB_COMPARE_JUDGE_H

#include "compare/operand.h"
#include "model/scan.h"

/* Judges a pair that has been compared. `map` may be NULL: then large tensors with few
 * differences may not be looked at where they differ. */
enum plumb_status plumb_judge_pair(const struct plumb_operand *a, const struct plumb_operand *b,
                                   const struct plumb_comparison *comparison,
                                   const struct plumb_block_map *map,
                                   struct plumb_judgement *judgement, struct plumb_error *err);

/* By value of enum plumb_verdict and of enum plumb_pattern; NULL past the end. */
const struct plumb_entry *plumb_verdict_entry(size_t i);
const struct plumb_entry *plumb_pattern_entry(size_t i);

#endif
