/*
 * test_sanitized.c - the lab itself under AddressSanitizer and UndefinedBehaviorSanitizer: short
 * runs of everything, recorded, with the faults that touch memory in ways of their own.
 */
#define LAB_PROGRAM "build/san/bin/lab"
#include "run_lab.h"

static void short_runs_are_clean(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "train --net mlp --steps 3",
        "train --net cnn --steps 3 --dtype f16",
        "train --net gpt --steps 2 --dtype bf16 --accumulate f16 --batch 2",
        "train --net mlp --steps 3 --ranks 3 --optimizer momentum",
        "train --net cnn --steps 3 --batch 200 --workers 8 --optimizer adam",
        "train --net mlp --steps 4 --fault missing-activation@step=2,layer=0",
        "train --net cnn --steps 4 --fault bn-eval-in-train@step=2",
        "train --net gpt --steps 2 --batch 2 --fault untied-weights",
        "train --net gpt --steps 2 --batch 2 --fault truncated-tail",
        "train --net mlp --steps 4 --ranks 2 --fault stale-parameters",
        "train --net cnn --steps 4 --ranks 2 --fault race",
        "train --net mlp --steps 4 --fault bitflip-exponent",
        "train --net mlp --steps 4 --fault sorted-order",
        "train --net mlp --steps 4 --fault imbalance",
        "train --net mlp --steps 4 --fault resume-sampler-reset",
        "faults",
        "nets",
        "--help",
    };
    char out[256], told[256];
    temporary(out, sizeof out, "out");
    temporary(told, sizeof told, "told");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (run_lab_with(out, told, cases[i]) != 0) {
            char *text = read_text(told);
            fail_msg("build/san/bin/lab %s:\n%s", cases[i], text);
        }
    unlink(out);
    unlink(told);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(short_runs_are_clean)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
