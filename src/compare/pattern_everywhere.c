/* pattern_everywhere.c - different all over, without a simpler description. */
#include "compare/pattern.h"

#include <math.h>

/* The size that all differences share, or 0. */
static double common_size(const struct plumb_evidence *e)
{
    double sum = 0, squares = 0;
    size_t count = 0;
    for (size_t i = 0; i < e->sample.count; i++) {
        const double difference = e->sample.b[i] - e->sample.a[i];
        if (!isfinite(difference))
            continue;
        sum += fabs(difference);
        squares += difference * difference;
        count++;
    }
    if (count < 16 || !(squares > 0) || sum * sum < 0.9 * (double)count * squares)
        return 0;
    return sum / (double)count;
}

static enum plumb_status find(const struct plumb_evidence *e, struct plumb_judgement *judgement,
                              bool *found, struct plumb_error *err)
{
    (void)err;
    const struct plumb_comparison *c = e->comparison;
    const double unequal = 100.0 * (double)(c->count - c->equal) / (double)c->count;
    *found = true;
    if (!e->grid) {
        plumb_judgement_set(judgement, PLUMB_DIFFERENT,
                            "%.3g %% of the elements differ, by up to %.6g; integers allow "
                            "none",
                            unequal, c->max_abs);
        return PLUMB_OK;
    }
    const double size = common_size(e);
    const char *hint = "";
    if (size > 0)
        hint = "; nearly all moved by the same amount, as in a step of Adam";
    else if (fabs(c->cosine) < 0.1 && c->count > 1000)
        hint = "; the two are unrelated, as after another initialisation";
    else if (e->grid->bits == 24 && c->relative_l2 > 5e-5 && c->relative_l2 < 6e-4)
        hint = "; if one side multiplied matrices in TF32 or HF32, this is its error";
    plumb_judgement_set(judgement, PLUMB_DIFFERENT,
                        "%.3g %% of the elements differ, mean |b - a| %.3g, relative L2 %.3g "
                        "where %s sums of up to 65536 terms allow %.2g%s",
                        unequal, c->mean_abs, c->relative_l2,
                        e->grid->bits > 24 ? "fp64" : "fp32",
                        fmax(e->allowed_rms, ldexp(1, -e->grid->bits)), hint);
    return PLUMB_OK;
}

const struct plumb_pattern_rule plumb_pattern_everywhere = {
    .entry = {.name = "everywhere",
              .summary = "different all over",
              .detail = "The difference is spread over the tensor and is none of the other "
                        "patterns: another step of\ntraining, another seed, another input. "
                        "Compare what comes before."},
    .find = find,
};
