/* test_metrics.c - the registries of metrics, verdicts and patterns are complete and sound. */
#include "unit/verdict_lab.h"

#include "compare/metric.h"

static void check_entry(const struct plumb_entry *entry)
{
    assert_non_null(entry->name);
    assert_true(strlen(entry->summary) > 5 && strlen(entry->summary) <= 60);
    assert_null(strchr(entry->summary, '\n'));
    assert_true(strlen(entry->detail) > 5);
}

static void test_registries(void **state)
{
    (void)state;
    size_t metrics = 0;
    for (const struct plumb_entry *entry; (entry = plumb_metric_entry(metrics)); metrics++)
        check_entry(entry);
    assert_true(metrics >= 20);
    for (size_t i = 0; i < PLUMB_VERDICT_COUNT; i++)
        check_entry(plumb_verdict_entry(i));
    assert_null(plumb_verdict_entry(PLUMB_VERDICT_COUNT));
    for (size_t i = 0; i < PLUMB_PATTERN_COUNT; i++)
        check_entry(plumb_pattern_entry(i));
    assert_null(plumb_pattern_entry(PLUMB_PATTERN_COUNT));
    assert_string_equal(plumb_pattern_name(PLUMB_PATTERN_LOW_ACCUMULATION), "low-accumulation");
    assert_string_equal(plumb_verdict_name(PLUMB_APPROXIMATION), "approximation");
}

struct expected_value {
    const char *name;
    double value;
};

/* A = 1, -2, 0, 4; B = 1, -2.5, 1, 4. */
static const struct expected_value values[] = {
    {"max_abs", 1},
    {"mean_abs", 0.375},
    {"max_rel", 0.25},
    {"mean_rel", 0.25 / 3},
    {"bias", 0.125},
    {"equal", 0.5},
    {"within_1e3", 0.5},
    {"within_5e3", 0.5},
    {"allclose", 0.5},
    {"nan_mismatch", 0},
    {"inf_mismatch", 0},
    {"first_index", 1},
    {"worst_index", 2},
    {"rmse", 0.5590169943749475},
    {"relative_l2", 0.24397501823713327},
    {"bias_outward", 0.125},
    {"ulp_0_1", 0.5},
    {"ulp_over_16", 0.5},
};

static void test_values(void **state)
{
    (void)state;
    static const float a[] = {1, -2, 0, 4}, b[] = {1, -2.5f, 1, 4};
    struct plumb_comparison c;
    double value;
    plumb_values_compare(PLUMB_F32, a, PLUMB_F32, b, 4, 0, 0, &c);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        assert_true(plumb_metric_value(values[i].name, &c, &value));
        if (!(fabs(value - values[i].value) <= 1e-12))
            fail_msg("%s is %.17g, not %.17g", values[i].name, value, values[i].value);
    }
    assert_true(plumb_metric_value("cosine", &c, &value) && value > 0.97 && value < 0.98);
    assert_false(plumb_metric_value("beauty", &c, &value));
}

static void test_shares_of_nothing(void **state)
{
    (void)state;
    struct plumb_comparison c;
    double value;
    plumb_values_compare(PLUMB_F32, "", PLUMB_F32, "", 0, 0, 0, &c);
    assert_true(plumb_metric_value("equal", &c, &value));
    assert_true(value == 1);
    assert_true(plumb_metric_value("ulp_over_16", &c, &value));
    assert_true(value == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_registries),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_shares_of_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
