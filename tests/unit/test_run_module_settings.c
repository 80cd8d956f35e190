/* test_run_module_settings.c - settings of a layer are read out of the words of its framework. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "compare/run_module_settings.h"
#include "unit/scratch_group.h"

/* A run whose only entries are a layer and one around it. */
static struct plumb_run *record(const char *name, const char *key, const char *words)
{
    struct plumb_error error;
    struct plumb_recorder *recorder = NULL;
    struct plumb_run *run = NULL;
    char path[600], json[400];
    (void)snprintf(path, sizeof path, "%s", scratch_path(&scratch, name));
    (void)snprintf(json, sizeof json, "\"%s\"", words);
    const struct plumb_recorder_options options = {.path = path, .no_thread = true};
    assert_int_equal(plumb_recorder_open(&options, &recorder, &error), PLUMB_OK);
    plumb_record_config(recorder, "torch.module:net", "\"Net(eps=5)\"");
    plumb_record_config(recorder, key, json);
    assert_int_equal(plumb_recorder_close(recorder, NULL, &error), PLUMB_OK);
    if (plumb_run_open(path, &run, &error))
        fail_msg("%s", error.message);
    return run;
}

static const struct {
    const char *a, *b, *reason;
} cases[] = {
    {"LayerNorm((64,), eps=1e-05, elementwise_affine=True)",
     "LayerNorm(normalized_shape=(64,), epsilon=0.01)",
     "; its setting eps is 1e-05 in A and 0.01 in B"},
    {"LayerNorm((64,), eps=1e-05)", "LayerNorm(epsilon=1e-05)", ""},
    {"Dropout(p=0.5, inplace=False)", "Dropout(keep_prob=0.9), not training",
     "; its setting p is 0.5 in A and 0.1 in B"},
    {"BatchNorm2d(4, affine=True, track_running_stats=True)",
     "BatchNorm2d(4, affine=False, use_batch_statistics=False)",
     "; its setting track_running_stats is 1 in A and 0 in B, affine is 1 in A and 0 in B"},
    {"Conv2d(3, 4, stride=(1, 1), groups=2, mstride=1)",
     "Conv2d(3, 4, stride=2, group=4, my_groups=2)",
     "; its setting groups is 2 in A and 4 in B"},
    {"BatchNorm2d(4, momentum=0.1)", "BatchNorm2d(num_features=4, momentum=0.9)", ""},
    {"BatchNorm2d(4, momentum=0.1)", "BatchNorm2d(num_features=4, momentum=0.1)",
     "; its setting momentum is 0.1 in A and 0.9 in B"},
    {"Mine(steps=3, p=high)", "Mine(steps=4, p=low)", ""},
};

static void every_case(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char name[32];
        struct plumb_run_diff diff = {.finding_count = 0};
        struct plumb_run_root root = {.op = "net.layer.native_op", .reason = "why"};
        (void)snprintf(name, sizeof name, "a%zu", i);
        diff.a = record(name, "torch.module:net.layer", cases[i].a);
        name[0] = 'b';
        diff.b = record(name, "mindspore.module:net.layer", cases[i].b);
        assert_true(plumb_module_settings_explain(&diff, &root));
        assert_memory_equal(root.reason, "why", 3);
        assert_string_equal(root.reason + 3, cases[i].reason);
        plumb_arena_release(&diff.arena);
        plumb_run_close(diff.b);
        plumb_run_close(diff.a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_case)};
    return cmocka_run_group_tests(tests, scratch_group_open, scratch_group_close);
}
