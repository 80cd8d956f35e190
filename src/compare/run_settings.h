/*
 * run_settings.h - settings of a run by their canonical names, whatever each framework calls them.
 *
 * The names are in run_settings.def. Where a run says a setting twice, the first counts.
 */
#ifndef PLUMB_COMPARE_RUN_SETTINGS_H
#define PLUMB_COMPARE_RUN_SETTINGS_H

#include "base/arena.h"
#include "base/table.h"

struct plumb_settings {
    const struct plumb_run *run;
    struct plumb_arena arena;
    struct plumb_table places; /* "rank name" -> number of the first entry */
    const char **names;        /* of every entry: the canonical one, else its key */
    unsigned char *acts; /* of every entry: enum plumb_stage, or PLUMB_STAGE_COUNT: nowhere */
};

enum plumb_status plumb_settings_open(struct plumb_settings *settings,
                                      const struct plumb_run *run, struct plumb_error *err);
void plumb_settings_release(struct plumb_settings *settings);
/* The entry of a setting on a rank; NULL if there is none. A negative rank is the first that has it. */
const struct plumb_run_config *plumb_settings_find(const struct plumb_settings *settings,
                                                   int rank, const char *name);
/* Its JSON; NULL if it is not there. */
const char *plumb_settings_text(const struct plumb_settings *settings, int rank,
                                const char *name);
/* The path of the layer whose settings an entry gives ("torch.module:blocks.0.norm"); NULL: it is another. */
const char *plumb_settings_module(const char *name);
bool plumb_settings_number(const struct plumb_settings *settings, int rank, const char *name,
                           double *number);

#endif
