/*
 * run_check.c - `plumb check`: parameters, settings and seeds of one run or two, as checklists for
 * migrations ask for them, from what the first recorded step and the configuration say.
 */
#include "diagnose/run_check.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "compare/run_config.h"
#include "compare/run_derived.h"
#include "compare/run_rows.h"

#include <math.h>
#include <string.h>

/* ---- rows --------------------------------------------------------------------------------------- */

static void add_row(struct plumb_check *check, enum plumb_check_status status, const char *what,
                    const char *a, const char *b, const char *why)
{
    check->failed |= !what || !a;
    if (check->row_count == PLUMB_CHECK_ROWS) {
        check->left_out++;
        return;
    }
    check->rows[check->row_count++] = (struct plumb_check_row){status, what, a, b, why};
}

static const char *number_text(struct plumb_check *check, double number)
{
    char *text = plumb_arena_printf(&check->arena, "%.9g", number);
    check->failed |= !text;
    return text ? text : "";
}

/* ---- parameters ----------------------------------------------------------------------------------- */

struct parameters {
    size_t used, updated; /* tensors */
    double elements_used, elements_updated;
    bool known, known_updates;
};

/* Those of the first recorded step of the first rank. */
static enum plumb_status count_parameters(struct plumb_run *run, struct parameters *found,
                                          struct plumb_error *err)
{
    const struct plumb_run_rank *rank = plumb_run_rank(run, 0);
    struct plumb_names names = {0};
    struct plumb_rows rows = {0};
    *found = (struct parameters){.known = false};
    if (!rank || !rank->records || rank->last_step < rank->first_step)
        return PLUMB_OK;
    const enum plumb_status status = plumb_rows_load(&rows, &names, run, rank->rank,
                                                     rank->first_step, rank->first_step, err);
    for (size_t i = 0; i < rows.count && !status; i++) {
        const struct plumb_row *row = &rows.rows[i];
        const bool used = row->role == PLUMB_ROW_PARAM && row->phase == PLUMB_PHASE_FORWARD;
        const bool updated = row->phase == PLUMB_PHASE_OPTIMIZER &&
                             plumb_text_starts(names.texts[row->slot], "param");
        found->used += used;
        found->updated += updated;
        found->elements_used += used ? (double)row->count : 0;
        found->elements_updated += updated ? (double)row->count : 0;
    }
    found->known = found->used > 0;
    found->known_updates = found->updated > 0;
    plumb_rows_release(&rows);
    plumb_names_release(&names);
    return status;
}

static void check_count(struct plumb_check *check, const char *what, double a, double b,
                        const char *why)
{
    const bool differ = check->two && a != b;
    add_row(check, differ ? PLUMB_CHECK_ERROR : PLUMB_CHECK_FINE, what, number_text(check, a),
            check->two ? number_text(check, b) : NULL, differ ? why : NULL);
}

static enum plumb_status check_parameters(struct plumb_check *check, struct plumb_run *a,
                                          struct plumb_run *b, struct plumb_error *err)
{
    struct parameters of_a, of_b = {.known = false};
    enum plumb_status status = count_parameters(a, &of_a, err);
    if (!status && b)
        status = count_parameters(b, &of_b, err);
    if (status)
        return status;
    if (!of_a.known || (b && !of_b.known)) {
        add_row(check, PLUMB_CHECK_NOTE, "parameters", "not recorded",
                b ? "not recorded" : NULL, "record the ops of one step to have them checked");
        return PLUMB_OK;
    }
    check_count(check, "parameters used (tensors)", (double)of_a.used, (double)of_b.used,
                "the networks are not the same");
    check_count(check, "parameters used (elements)", of_a.elements_used, of_b.elements_used,
                "the networks are not the same");
    if (of_a.known_updates && (!b || of_b.known_updates)) {
        check_count(check, "parameters of the optimizer (tensors)", (double)of_a.updated,
                    (double)of_b.updated, "other parameters are frozen, tied or left out");
        check_count(check, "parameters of the optimizer (elements)", of_a.elements_updated,
                    of_b.elements_updated, "other parameters are frozen, tied or left out");
    }
    return PLUMB_OK;
}

/* ---- settings --------------------------------------------------------------------------------------- */

/* What a run says about its global batch has to be what its parts give. */
static void check_batch(struct plumb_check *check, const struct plumb_settings *settings,
                        const char *side)
{
    double told, derived;
    if (!plumb_derived_batch(settings, -1, &derived) ||
        !plumb_settings_number(settings, -1, "global batch", &told) || told == derived)
        return;
    char *what = plumb_arena_printf(&check->arena, "global batch of %s", side);
    char *why = plumb_arena_printf(
        &check->arena, "micro batch x accumulation x data parallel give %.9g", derived);
    check->failed |= !why;
    add_row(check, PLUMB_CHECK_ERROR, what, number_text(check, told), NULL, why);
}

static void compare_batches(struct plumb_check *check)
{
    double of_a, of_b;
    const bool known_a = plumb_settings_number(&check->of_a, -1, "global batch", &of_a) ||
                         plumb_derived_batch(&check->of_a, -1, &of_a);
    const bool known_b = plumb_settings_number(&check->of_b, -1, "global batch", &of_b) ||
                         plumb_derived_batch(&check->of_b, -1, &of_b);
    if (known_a && known_b)
        check_count(check, "global batch", of_a, of_b,
                    "the runs see other numbers of samples a step");
}

static void check_given(struct plumb_check *check, const struct plumb_settings *settings,
                        const char *side)
{
    static const char *const wanted[] = {"seed", "learning rate"};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        double number;
        if (plumb_settings_number(settings, -1, wanted[i], &number))
            continue;
        char *what = plumb_arena_printf(&check->arena, "%s of %s", wanted[i], side);
        add_row(
            check, PLUMB_CHECK_WARNING, what, "not recorded", NULL,
            "record it with the configuration: without it a difference cannot be explained");
    }
}

static enum plumb_status compare_settings(struct plumb_check *check, struct plumb_run *a,
                                          struct plumb_run *b, struct plumb_error *err)
{
    struct plumb_config_diff *diff = &check->config;
    const enum plumb_status status = plumb_config_compare(&check->arena, a, b, diff, err);
    if (status)
        return status;
    for (size_t i = 0; i < diff->count; i++) {
        const struct plumb_setting_diff *setting = &diff->settings[i];
        const bool both = setting->a && setting->b;
        add_row(check, setting->numeric ? PLUMB_CHECK_ERROR : PLUMB_CHECK_NOTE, setting->name,
                setting->a ? setting->a : "-", setting->b ? setting->b : "-",
                setting->numeric ? "changes what is computed"
                : both           ? NULL
                                 : "only one side says");
    }
    check_count(check, "settings that both have", (double)diff->compared,
                (double)diff->compared, NULL);
    return PLUMB_OK;
}

/* Framework and versions, as run.json has them. */
static void compare_notes(struct plumb_check *check, struct plumb_run *a, struct plumb_run *b)
{
    static const char *const keys[] = {"framework", "framework_version", "world_size",
                                       "plumb_version"};
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
        for (size_t i = 0; i < plumb_run_note_count(a); i++)
            for (size_t j = 0; j < plumb_run_note_count(b); j++) {
                const struct plumb_note *x = plumb_run_note(a, i), *y = plumb_run_note(b, j);
                if (strcmp(x->key, keys[k]) == 0 && strcmp(y->key, keys[k]) == 0 &&
                    strcmp(x->json, y->json) != 0)
                    add_row(check, PLUMB_CHECK_WARNING, keys[k], x->json, y->json,
                            "defaults may differ between them");
            }
}

/* ---- the curves ------------------------------------------------------------------------------------- */

/* A loss that spikes is announced by the norm of the gradient or of the update. */
static void check_spikes(struct plumb_check *check, const struct plumb_run *run,
                         const char *side)
{
    struct plumb_spike spike;
    plumb_spike_find(run, &spike);
    if (!spike.alarms)
        return;
    char *what = plumb_arena_printf(&check->arena, "%s of %s", spike.series, side);
    char *rose =
        plumb_arena_printf(&check->arena, "rose %.2gx over its own last %zu steps at step %lld",
                           spike.times, spike.over, (long long)spike.step);
    char *why = spike.loss_step < 0
                    ? plumb_arena_printf(&check->arena,
                                         "the loss has not followed; go back to a checkpoint "
                                         "before step %lld if it does",
                                         (long long)spike.step)
                    : plumb_arena_printf(&check->arena,
                                         "the loss followed: %.2gx at step %lld; skip the "
                                         "batches from step %lld on or lower the learning rate",
                                         spike.loss_times, (long long)spike.loss_step,
                                         (long long)spike.step);
    check->failed |= !rose || !why;
    add_row(check, PLUMB_CHECK_WARNING, what, rose ? rose : "", NULL, why);
}

/* ---- all of it ---------------------------------------------------------------------------------------- */

static void check_one(struct plumb_check *check, const struct plumb_run *run,
                      const struct plumb_settings *settings, const char *side)
{
    check_batch(check, settings, side);
    check_given(check, settings, side);
    check_spikes(check, run, side);
}

enum plumb_status plumb_check_new(struct plumb_run *a, struct plumb_run *b,
                                  struct plumb_check **out, struct plumb_error *err)
{
    struct plumb_check *check = plumb_alloc_array(1, sizeof *check);
    if (!check)
        return plumb_fail_memory(err);
    check->two = b != NULL;
    enum plumb_status status = plumb_settings_open(&check->of_a, a, err);
    if (!status && b)
        status = plumb_settings_open(&check->of_b, b, err);
    if (!status)
        status = check_parameters(check, a, b, err);
    if (!status)
        check_one(check, a, &check->of_a, "A");
    if (!status && b) {
        check_one(check, b, &check->of_b, "B");
        compare_batches(check);
        compare_notes(check, a, b);
        status = compare_settings(check, a, b, err);
    }
    if (!status && check->failed)
        status = plumb_fail_memory(err);
    if (status)
        plumb_check_free(check);
    else
        *out = check;
    return status;
}

void plumb_check_free(struct plumb_check *check)
{
    if (!check)
        return;
    plumb_config_release(&check->config);
    plumb_settings_release(&check->of_b);
    plumb_settings_release(&check->of_a);
    plumb_arena_release(&check->arena);
    plumb_free(check);
}

size_t plumb_check_row_count(const struct plumb_check *check)
{
    return check->row_count;
}

const struct plumb_check_row *plumb_check_row(const struct plumb_check *check, size_t i)
{
    return i < check->row_count ? &check->rows[i] : NULL;
}

enum plumb_check_status plumb_check_worst(const struct plumb_check *check)
{
    enum plumb_check_status worst = PLUMB_CHECK_FINE;
    for (size_t i = 0; i < check->row_count; i++)
        if (check->rows[i].status > worst)
            worst = check->rows[i].status;
    return worst;
}

const char *plumb_check_status_name(enum plumb_check_status status)
{
    static const char *const names[PLUMB_CHECK_STATUS_COUNT] = {"fine", "note", "warning",
                                                                "error"};
    return (unsigned)status < PLUMB_CHECK_STATUS_COUNT ? names[status] : "unknown";
}
