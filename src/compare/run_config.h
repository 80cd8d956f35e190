/* run_config.h - settings of two runs that differ, whatever each framework calls them. */
#ifndef PLUMB_COMPARE_RUN_CONFIG_H
#define PLUMB_COMPARE_RUN_CONFIG_H

#include "compare/run_settings.h"

/* How two runs were set. All text is in the arena, in `of_a` and `of_b`, or belongs to the runs. */
struct plumb_config_diff {
    struct plumb_settings of_a, of_b;
    struct plumb_setting_diff *settings; /* those that change what is computed first */
    size_t count;
    size_t compared; /* settings that both have */
    size_t numeric;  /* of `count`, those that change what is computed */
};

enum plumb_status plumb_config_compare(struct plumb_arena *arena, struct plumb_run *a,
                                       struct plumb_run *b, struct plumb_config_diff *diff,
                                       struct plumb_error *err);
/* The setting that acts on `stage`, in the layer of `op` (NULL: not known), and differs, `rank`'s first; NULL
 * if there is none. */
const struct plumb_setting_diff *plumb_config_find(const struct plumb_config_diff *diff,
                                                   enum plumb_stage stage, int rank,
                                                   const char *op);
/* "learning rate (optimizer.lr) is 0.1 in A and 0.2 in B", "layer norm1 is LayerNorm(eps=1e-05) in A and ..."; NULL: no memory. */
const char *plumb_setting_sentence(struct plumb_arena *arena,
                                   const struct plumb_setting_diff *setting);
/* Settings whose name fits do not matter between these two runs. */
void plumb_config_excuse(struct plumb_config_diff *diff, const char *pattern);
/* Gives the names back; the rows are in the arena. */
void plumb_config_release(struct plumb_config_diff *diff);

#endif
