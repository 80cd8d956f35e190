/*
 * test_run_config.c - two configurations that say the same in different words are alike; what several
 * settings amount to is compared before the settings themselves.
 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <string.h>
#include <cmocka.h>

#include "compare/run_config.h"
#include "compare/run_schedule.h"
#include "unit/scratch_group.h"

/* "key=json; key=json" */
static struct plumb_run *record(const char *name, const char *config)
{
    struct plumb_error error;
    struct plumb_recorder *recorder = NULL;
    struct plumb_run *run = NULL;
    char path[600], text[1024], *rest = text;
    (void)snprintf(path, sizeof path, "%s", scratch_path(&scratch, name));
    const struct plumb_recorder_options options = {.path = path, .no_thread = true};
    (void)snprintf(text, sizeof text, "%s", config);
    assert_int_equal(plumb_recorder_open(&options, &recorder, &error), PLUMB_OK);
    for (char *entry; (entry = strsep(&rest, ";"));) {
        char *equals = strchr(entry, '=');
        assert_non_null(equals);
        *equals = '\0';
        plumb_record_config(recorder, entry + strspn(entry, " "), equals + 1);
    }
    assert_int_equal(plumb_recorder_close(recorder, NULL, &error), PLUMB_OK);
    if (plumb_run_open(path, &run, &error))
        fail_msg("%s", error.message);
    return run;
}

static const struct {
    const char *name;
    const char *a, *b;
    const char *numeric; /* names of what changes the computation, first to last */
} cases[] = {
    {"Hugging Face against Megatron, the same",
     "learning_rate=3e-4; lr_scheduler_type=\"cosine\"; warmup_ratio=0.1; max_steps=1000; "
     "per_device_train_batch_size=8; gradient_accumulation_steps=4; "
     "optim=\"adamw_torch_fused\"; "
     "weight_decay=0.1; bf16=true; adam_beta1=0.9; adam_beta2=0.95; num_attention_heads=8",
     "lr=0.0003; lr_decay_style=\"cosine\"; lr_warmup_iters=100; train_iters=1000; "
     "micro_batch_size=16; global_batch_size=32; optimizer=\"adam\"; weight_decay=0.1; "
     "params_dtype=\"torch.bfloat16\"; optimizer.betas=[0.9, 0.95]; num_attention_heads=8",
     ""},
    {"PyTorch against MindFormers, the same",
     "optimizer.name=\"AdamW\"; optimizer.lr=1e-5; schedule.name=\"linear\"; "
     "schedule.warmup=10; "
     "steps=100; hidden_act=\"swish\"",
     "optimizer.type=\"AdamWeightDecay\"; lr_schedule.learning_rate=1e-5; "
     "lr_schedule.type=\"LinearWithWarmUpLR\"; lr_schedule.warmup_steps=10; "
     "lr_schedule.total_steps=100; max_steps=100; hidden_act=\"silu\"",
     ""},
    {"other warm-up", "lr=1; scheduler=\"constant\"; warmup_steps=10; max_steps=100",
     "lr=1; scheduler=\"constant_with_warmup\"; warmup_ratio=0.2; max_steps=100",
     "learning rate at step 1"},
    {"other horizon", "lr=1; lr_scheduler=\"cosine\"; max_steps=100; lr_decay_steps=100",
     "lr=1; lr_scheduler=\"cosine\"; max_steps=100; lr_decay_steps=200",
     "learning rate at step 1, schedule steps"},
    {"a polynomial of power 1 is a line",
     "lr=1; lr_scheduler=\"polynomial\"; lr_power=1; max_steps=100",
     "lr=1; lr_scheduler=\"linear\"; max_steps=100", ""},
    {"a polynomial of power 2 is not",
     "lr=1; lr_scheduler=\"polynomial\"; lr_power=2; max_steps=100",
     "lr=1; lr_scheduler=\"linear\"; max_steps=100", "learning rate at step 1, schedule"},
    {"milestones are an interval",
     "lr=1; lr_scheduler=\"MultiStepLR\"; milestones=[30, 60, 90]; max_steps=100",
     "lr=1; lr_scheduler=\"StepLR\"; lr_step_size=30; lr_gamma=0.1; max_steps=100", ""},
    {"other milestones", "lr=1; lr_scheduler=\"multistep\"; milestones=[30, 60]; max_steps=100",
     "lr=1; lr_scheduler=\"multistep\"; milestones=[40, 60]; max_steps=100",
     "learning rate at step 30, milestones of the schedule"},
    {"micro batches that add up", "micro_batch_size=8; gradient_accumulation_steps=4; dp=2",
     "micro_batch_size=16; gradient_accumulation_steps=2; dp=2", ""},
    {"micro batches that do not", "micro_batch_size=8; gradient_accumulation_steps=4",
     "micro_batch_size=8; gradient_accumulation_steps=2", "samples a step, accumulation steps"},
    {"global batch against its parts", "global_batch_size=64", "micro_batch_size=8; dp=4",
     "samples a step"},
    {"decay in the gradient", "optimizer=\"AdamW\"; weight_decay=0.01",
     "optimizer=\"torch.optim.Adam\"; weight_decay=0.01", "weight decay acts, optimizer"},
    {"no decay at all", "optimizer=\"AdamW\"; weight_decay=0",
     "optimizer=\"torch.optim.Adam\"; weight_decay=0", ""},
    {"precision by switch", "bf16=true; fp16=false", "dtype=\"float32\"",
     "operators compute in"},
    {"precision by level", "amp_level=\"O2\"", "torch_dtype=\"torch.float16\"", ""},
    {"a layer, whatever its name ends in",
     "torch.module:net.dropout=\"Dropout(p=0.1)\"; "
     "torch.module:net.Norm=\"LayerNorm(eps=1e-05)\"",
     "torch.module:net.dropout=\"Dropout(p=0.2)\"; "
     "torch.module:net.Norm=\"LayerNorm(eps=1e-05)\"",
     "torch.module:net.dropout"},
    {"layers of two frameworks", "torch.module:net.norm=\"LayerNorm(eps=1e-05)\"",
     "mindspore.module:net.norm=\"LayerNorm(epsilon=1e-05)\"", ""},
    {"betas", "betas=[0.9, 0.999]", "adam_beta1=0.9; adam_beta2=0.95", "beta2 of the moments"},
};

static void every_case(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char name[32], found[600] = "";
        struct plumb_arena arena = {0};
        struct plumb_config_diff diff;
        struct plumb_error error;
        (void)snprintf(name, sizeof name, "a%zu", i);
        struct plumb_run *a = record(name, cases[i].a);
        name[0] = 'b';
        struct plumb_run *b = record(name, cases[i].b);
        assert_int_equal(plumb_config_compare(&arena, a, b, &diff, &error), PLUMB_OK);
        for (size_t k = 0; k < diff.numeric; k++)
            (void)snprintf(found + strlen(found), sizeof found - strlen(found), "%s%s",
                           k ? ", " : "", diff.settings[k].name);
        if (strcmp(found, cases[i].numeric) != 0)
            fail_msg("%s: [%s] instead of [%s]", cases[i].name, found, cases[i].numeric);
        plumb_config_release(&diff);
        plumb_arena_release(&arena);
        plumb_run_close(b);
        plumb_run_close(a);
    }
}

/* Rates that torch 2.15 gives for lr 1: LambdaLR of transformers' schedules, StepLR, ExponentialLR. */
static void rates(void **state)
{
    (void)state;
    const struct plumb_schedule cosine = {"cosine", 1, 0, 0, 10, 110, 1, 0, 0, NULL};
    assert_float_equal(plumb_schedule_rate(&cosine, 5), 0.5, 1e-12);
    assert_float_equal(plumb_schedule_rate(&cosine, 10), 1, 1e-12);
    assert_float_equal(plumb_schedule_rate(&cosine, 60), 0.5, 1e-12);
    assert_float_equal(plumb_schedule_rate(&cosine, 35), 0.85355339059327373, 1e-12);
    assert_float_equal(plumb_schedule_rate(&cosine, 500), 0, 1e-12);
    const struct plumb_schedule power = {"polynomial", 1, 0.1, 0, 0, 100, 2, 0, 0, NULL};
    assert_float_equal(plumb_schedule_rate(&power, 50), 0.325, 1e-12);
    const struct plumb_schedule step = {"step", 1, 0, 0, 0, 100, 1, 0.5, 30, NULL};
    assert_float_equal(plumb_schedule_rate(&step, 61), 0.25, 1e-12);
    const struct plumb_schedule root = {
        "inverse square root", 1, 0, 0, 100, 1000, 1, 0, 0, NULL};
    assert_float_equal(plumb_schedule_rate(&root, 400), 0.5, 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_case), cmocka_unit_test(rates)};
    return cmocka_run_group_tests(tests, scratch_group_open, scratch_group_close);
}
