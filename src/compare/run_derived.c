/* run_derived.c - see run_derived.h. */
#include "compare/run_derived.h"

#include "base/error.h"
#include "base/text.h"
#include "compare/run_schedule.h"
#include "compare/setting_value.h"

#include <math.h>
#include <string.h>

struct comparing {
    struct plumb_arena *arena;
    const struct plumb_settings *a, *b;
    int rank;
    struct plumb_config_diff *diff;
    bool failed;
};

static void add(struct comparing *comparing, const char *name, enum plumb_stage acts,
                const char *a, const char *b)
{
    comparing->failed |= !name || !a || !b;
    comparing->diff->settings[comparing->diff->count++] = (struct plumb_setting_diff){
        .name = name,
        .key_a = "derived",
        .key_b = "derived",
        .a = a,
        .b = b,
        .rank = comparing->rank,
        .numeric = true,
        .derived = true,
        .acts = acts,
    };
}

static const char *number_text(struct comparing *comparing, double number)
{
    return plumb_arena_printf(comparing->arena, "%.9g", number);
}

/* Settings that differ and whose sum is the same do not matter. */
static void excuse(struct comparing *comparing, const char *const *names, size_t count)
{
    for (size_t i = 0; i < comparing->diff->count; i++) {
        struct plumb_setting_diff *setting = &comparing->diff->settings[i];
        for (size_t k = 0; k < count && setting->rank == comparing->rank; k++)
            if (!setting->derived && strcmp(setting->name, names[k]) == 0)
                setting->numeric = false;
    }
}

/* ---- schedule --------------------------------------------------------------------------------- */

static void compare_schedules(struct comparing *comparing)
{
    static const char *const parts[] = {"schedule",
                                        "warm-up steps",
                                        "warm-up share",
                                        "warm-up start",
                                        "schedule steps",
                                        "lowest learning rate",
                                        "power of the schedule",
                                        "factor of the schedule",
                                        "interval of the schedule",
                                        "milestones of the schedule"};
    struct plumb_schedule a, b;
    if (!plumb_schedule_find(comparing->a, comparing->rank, &a) ||
        !plumb_schedule_find(comparing->b, comparing->rank, &b))
        return;
    const double step = plumb_schedule_parting(&a, &b);
    if (step < 0) {
        excuse(comparing, parts, sizeof parts / sizeof *parts);
        return;
    }
    add(comparing, plumb_arena_printf(comparing->arena, "learning rate at step %.0f", step),
        PLUMB_STAGE_UPDATE, number_text(comparing, plumb_schedule_rate(&a, step)),
        number_text(comparing, plumb_schedule_rate(&b, step)));
}

/* ---- batch ------------------------------------------------------------------------------------- */

bool plumb_derived_batch(const struct plumb_settings *settings, int rank, double *batch)
{
    double micro, parallel, accumulation = 1;
    if (!plumb_settings_number(settings, rank, "micro batch", &micro))
        return false;
    (void)plumb_settings_number(settings, rank, "accumulation steps", &accumulation);
    if (!plumb_settings_number(settings, rank, "data parallel", &parallel)) {
        double split, others = 1;
        static const char *const kinds[] = {"tensor parallel", "pipeline parallel",
                                            "context parallel"};
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
            others *= plumb_settings_number(settings, rank, kinds[i], &split) && split > 0
                          ? split
                          : 1;
        parallel = fmax((double)plumb_run_rank_count(settings->run) / others, 1);
    }
    *batch = micro * accumulation * parallel;
    return true;
}

static bool batch_of(const struct plumb_settings *settings, int rank, double *batch)
{
    return plumb_settings_number(settings, rank, "global batch", batch) ||
           plumb_derived_batch(settings, rank, batch);
}

static void compare_batches(struct comparing *comparing)
{
    static const char *const parts[] = {"micro batch", "accumulation steps", "data parallel",
                                        "global batch"};
    double a, b, told;
    if (!batch_of(comparing->a, comparing->rank, &a) ||
        !batch_of(comparing->b, comparing->rank, &b))
        return;
    if (a == b)
        excuse(comparing, parts, 3);
    else if (!plumb_settings_number(comparing->a, comparing->rank, parts[3], &told) ||
             !plumb_settings_number(comparing->b, comparing->rank, parts[3], &told))
        add(comparing, "samples a step", PLUMB_STAGE_DATA, number_text(comparing, a),
            number_text(comparing, b));
}

/* ---- weight decay --------------------------------------------------------------------------------- */

static const char *optimizer_of(const struct plumb_settings *settings, int rank)
{
    const char *text = plumb_settings_text(settings, rank, "optimizer");
    const char *meaning = text ? plumb_setting_meaning("optimizer", text) : NULL;
    return meaning ? meaning : "";
}

/* Megatron's "adam" is the one whose decay stays apart from the gradient. */
static bool is_of_megatron(const struct plumb_run *run)
{
    for (size_t i = 0; i < plumb_run_config_count(run); i++)
        if (plumb_text_ends(plumb_run_config(run, i)->key, "lr_decay_style"))
            return true;
    return false;
}

/* In the gradient Adam divides it by the gradient's size. */
static bool is_apart(const struct plumb_settings *settings, const char *optimizer)
{
    return strcmp(optimizer, "AdamW") == 0 || strcmp(optimizer, "LAMB") == 0 ||
           strcmp(optimizer, "Lion") == 0 ||
           (strcmp(optimizer, "Adam") == 0 && is_of_megatron(settings->run));
}

static const char *decay_text(struct comparing *comparing, double decay, bool apart)
{
    return plumb_arena_printf(comparing->arena, "%.9g %s", decay,
                              apart ? "apart from the gradient" : "in the gradient");
}

static void compare_decay(struct comparing *comparing)
{
    static const char *const parts[] = {"optimizer"};
    const char *of_a = optimizer_of(comparing->a, comparing->rank);
    const char *of_b = optimizer_of(comparing->b, comparing->rank);
    double a = 0, b = 0;
    if (!*of_a || !*of_b ||
        !plumb_settings_number(comparing->a, comparing->rank, "weight decay", &a) ||
        !plumb_settings_number(comparing->b, comparing->rank, "weight decay", &b))
        return;
    const bool apart_a = is_apart(comparing->a, of_a), apart_b = is_apart(comparing->b, of_b);
    const bool adams = plumb_text_starts(of_a, "Adam") && plumb_text_starts(of_b, "Adam") &&
                       strlen(of_a) <= 5 && strlen(of_b) <= 5;
    if (!adams)
        return;
    if (apart_a == apart_b || (a == 0 && b == 0))
        excuse(comparing, parts, 1); /* Adam without decay is AdamW without decay */
    else
        add(comparing, "weight decay acts", PLUMB_STAGE_UPDATE,
            decay_text(comparing, a, apart_a), decay_text(comparing, b, apart_b));
}

/* ---- moments --------------------------------------------------------------------------------------- */

/* [0.9, 0.95] in one setting, or each in its own. */
static bool beta_of(const struct plumb_settings *settings, int rank, size_t i, double *beta)
{
    const char *list = plumb_settings_text(settings, rank, "betas");
    return plumb_settings_number(settings, rank, i ? "beta2" : "beta1", beta) ||
           (list && plumb_setting_item(list, i, beta));
}

static void compare_betas(struct comparing *comparing)
{
    for (size_t i = 0; i < 2; i++) {
        const char *name = i ? "beta2" : "beta1";
        double a, b, both;
        if (!beta_of(comparing->a, comparing->rank, i, &a) ||
            !beta_of(comparing->b, comparing->rank, i, &b) || a == b ||
            (plumb_settings_number(comparing->a, comparing->rank, name, &both) &&
             plumb_settings_number(comparing->b, comparing->rank, name, &both)))
            continue;
        add(comparing, i ? "beta2 of the moments" : "beta1 of the moments", PLUMB_STAGE_UPDATE,
            number_text(comparing, a), number_text(comparing, b));
    }
}

/* ---- precision --------------------------------------------------------------------------------------- */

/* What operators compute in: a type, switches like bf16: true, or a level of mixed precision. */
static const char *compute_type(const struct plumb_settings *settings, int rank)
{
    const char *text = plumb_settings_text(settings, rank, "type of computation");
    const char *level = plumb_settings_text(settings, rank, "mixed precision");
    enum plumb_dtype dtype;
    double on;
    if (plumb_settings_number(settings, rank, "bf16 switch", &on) && on != 0)
        return "bf16";
    if (plumb_settings_number(settings, rank, "f16 switch", &on) && on != 0)
        return "f16";
    if (level && plumb_setting_dtype(level, &dtype))
        return plumb_dtype_name(dtype);
    if (level && strpbrk(level, "123"))
        return "f16"; /* O1, O2, O3 */
    if (text && plumb_setting_dtype(text, &dtype))
        return plumb_dtype_name(dtype);
    return level || plumb_settings_text(settings, rank, "bf16 switch") ||
                   plumb_settings_text(settings, rank, "f16 switch")
               ? "f32"
               : NULL;
}

static void compare_precision(struct comparing *comparing)
{
    static const char *const parts[] = {"bf16 switch", "f16 switch", "mixed precision"};
    const char *a = compute_type(comparing->a, comparing->rank);
    const char *b = compute_type(comparing->b, comparing->rank);
    if (!a || !b)
        return;
    if (strcmp(a, b) == 0)
        excuse(comparing, parts, sizeof parts / sizeof *parts);
    else
        add(comparing, "operators compute in", PLUMB_STAGE_FORWARD, a, b);
}

enum plumb_status plumb_derived_compare(struct plumb_arena *arena,
                                        const struct plumb_settings *a,
                                        const struct plumb_settings *b, int rank,
                                        struct plumb_config_diff *diff, struct plumb_error *err)
{
    struct comparing comparing = {.arena = arena, .a = a, .b = b, .rank = rank, .diff = diff};
    compare_schedules(&comparing);
    compare_batches(&comparing);
    compare_decay(&comparing);
    compare_betas(&comparing);
    compare_precision(&comparing);
    return comparing.failed ? plumb_fail_memory(err) : PLUMB_OK;
}
