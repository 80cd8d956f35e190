/* log_samples.h - a few lines of every kind of log and table of losses, for tests. */
#ifndef PLUMB_TESTS_LOG_SAMPLES_H
#define PLUMB_TESTS_LOG_SAMPLES_H

struct log_sample {
    const char *format; /* that must be found */
    const char *text;
    const char *series; /* every series: name steps=values, in the order of the file */
};

static const struct log_sample log_samples[] = {
    /* Megatron-LM, training_log(): ' [{}] iteration {:8d}/{:8d} |', ' consumed samples: {:12d} |',
     * ' elapsed time per iteration (ms): {:.1f} |', ' throughput per GPU (TFLOP/s/GPU): {:.1f} |',
     * ' learning rate: {:.6E} |', ' global batch size: {:5d} |', ' {}: {:.6E} |' of every loss,
     * ' loss scale: {:.1f} |', ' grad norm: {:.3f} |', ' num zeros: {} |', ' params norm: {:.3f} |',
     * ' number of skipped iterations: {:3d} |', ' number of nan iterations: {:3d} |'. */
    {"megatron-log",
     "using world size: 8\n"
     " [2026-08-01 10:00:01] iteration       10/     500 | consumed samples:          320 | "
     "elapsed time per iteration (ms): 812.5 | throughput per GPU (TFLOP/s/GPU): 98.3 | "
     "learning rate: 1.500000E-05 | global batch size:    32 | lm loss: 1.012500E+01 | "
     "loss scale: 65536.0 | grad norm: 2.345 | num zeros: 0 | params norm: 238.250 | "
     "number of skipped iterations:   1 | number of nan iterations:   0 |\n"
     "Number of parameters in transformer layers in billions:  0.05\n"
     " [2026-08-01 10:00:09] iteration       20/     500 | consumed samples:          640 | "
     "elapsed time per iteration (ms): 800.0 | throughput per GPU (TFLOP/s/GPU): 99.0 | "
     "learning rate: 3.000000E-05 | global batch size:    32 | lm loss: nan | "
     "loss scale: 32768.0 | grad norm: inf | num zeros: 0 | params norm: 238.250 | "
     "number of skipped iterations:   0 | number of nan iterations:   1 |\n",
     "consumed_samples 10=320 20=640;step_ms 10=812.5 20=800;tflops 10=98.3 20=99;"
     "lr 10=1.5e-05 20=3e-05;global_batch_size 10=32 20=32;loss 10=10.125 20=nan;"
     "loss_scale 10=65536 20=32768;grad_norm 10=2.345 20=inf;num_zeros 10=0 20=0;"
     "param_norm 10=238.25 20=238.25;skipped 10=1 20=0;nan_iterations 10=0 20=1;"},
    /* BigScience's Megatron-DeepSpeed (BLOOM), and ms-swift's times of day. */
    {"megatron-log",
     " iteration    31214/  115311 | consumed samples:     57431296 | consumed tokens: "
     "117619294208 | elapsed time per iteration (s): 104.75 | learning rate: 5.900E-05 | "
     "global "
     "batch size:  2048 | lm loss: 2.199000E+00 | grad norm: 0.242 | num zeros: 0.0 | number "
     "of "
     "skipped iterations:   0 | number of nan iterations:   0 | samples per second: 19.551 | "
     "TFLOPs: 150.21 | elapsed time: 0:01:10 |\n",
     "consumed_samples 31214=57431296;consumed_tokens 31214=117619294208;"
     "elapsed_time_per_iteration_s 31214=104.75;lr 31214=5.9e-05;global_batch_size 31214=2048;"
     "loss 31214=2.199;grad_norm 31214=0.242;num_zeros 31214=0;skipped 31214=0;"
     "nan_iterations 31214=0;samples_per_second 31214=19.551;tflops 31214=150.21;"},
    /* The first Megatron and what was made of it (CPM, GLM): no colons. */
    {"megatron-log",
     " iteration      100/  300000 | elapsed time per iteration (ms): 1031.2 | learning rate "
     "1.500E-06 | lm loss 9.4E+00 | perplexity 12088.3807 | loss scale 262144.0 |\n",
     "step_ms 100=1031.2;lr 100=1.5e-06;loss 100=9.4;perplexity 100=12088.3807;loss_scale "
     "100=262144;"},
    /* MindFormers, MFLossMonitor: "{ Epoch:[%3d/%3d], step:[%5d/%5d], loss: %5.3f, per_step_time:
     * %dms, lr: %s, overflow cond: %s, loss_scale: %s, global_norm: %s%s", without data sinking
     * "loss:[%5.3f/%5.3f]"; then "  %4.1f%% %s %.5f samples/s/p  %s }". */
    {"mindformers-log",
     "2026-08-01 10:00:01,123 - mindformers[mindformers/core/callback/callback.py:529] - INFO "
     "- "
     "{ Epoch:[  1/  2], step:[    2/  100], loss: 10.500, per_step_time: 512ms, lr: 1e-05, "
     "overflow cond: False, loss_scale: 65536.0, global_norm: [1.25], "
     "train_throughput_per_npu: 171.176T\n"
     "2026-08-01 10:00:01,124 - mindformers[mindformers/core/callback/callback.py:540] - INFO "
     "- "
     "   1.0% |                                                  | 15.62500 samples/s/p  "
     "0:00:10 }\n"
     "2026-08-01 10:01:01,123 - mindformers[mindformers/core/callback/callback.py:533] - INFO "
     "- "
     "{ Epoch:[  2/  2], step:[    2/  100], loss:[9.500/9.900], per_step_time: 510ms, lr: "
     "2e-05, overflow cond: True, loss_scale: 32768.0, global_norm: [1.5], "
     "train_throughput_per_npu: 170.000T\n",
     "epoch 2=1 102=2;loss 2=10.5 102=9.5;step_ms 2=512 102=510;lr 2=1e-05 102=2e-05;overflow "
     "2=0 102=1;loss_scale 2=65536 102=32768;grad_norm 2=1.25 102=1.5;"
     "train_throughput_per_npu 2=171.176 102=170;"},
    /* The same with print_separate_loss, of a network with experts: loss is all of it. */
    {"mindformers-log",
     "2026-08-01 10:00:01,123 - mindformers[callback.py:529] - INFO - { Epoch:[  1/  1], "
     "step:[ "
     "   1/  100], loss: 10.625, lm_loss: 10.500, aux_loss: 0.125, per_step_time: 512ms, lr: "
     "1e-05, overflow cond: False, loss_scale: 1.0, global_norm: 1.25\n",
     "epoch 1=1;loss 1=10.625;lm_loss 1=10.5;aux_loss 1=0.125;step_ms 1=512;lr 1=1e-05;"
     "overflow 1=0;loss_scale 1=1;grad_norm 1=1.25;"},
    {"mindspore-log",
     "epoch: 1 step: 1, loss is 1.4110640287399292\n"
     "epoch: 1 step: 2, loss is 1.4205365180969238\n"
     "Train epoch time: 148.705 ms, per step time: 49.568 ms\n"
     "epoch: 2 step: 1, loss is 1.25\n",
     "epoch 1=1 2=1 3=2;loss 1=1.4110640287399292 2=1.4205365180969238 3=1.25;"},
    {"step-log",
     "loading\nstep 0 loss 2.5\nstep 1 loss 2.25\r"
     "iter 2: loss 2.125, time 23ms\nEpoch [1/10], Step [3/600], Loss: 2\n"
     "step: 4, loss: nan, overflow:False, scale:1.0\n",
     "loss 0=2.5 1=2.25 2=2.125 3=2 4=nan;time 2=23;epoch 3=1;overflow 4=0;loss_scale 4=1;"},
    {"csv",
     "# made by hand\nStep,Train Loss,lr,eval_loss,note\n1,2.5,0.1,nan,a\n2,nan,0.1,2,\"b,c\"\n"
     "3,2,0.1\n4,1.5,0.05,,\n",
     "train_loss 1=2.5 2=nan 4=1.5;lr 1=0.1 2=0.1 4=0.05;eval_loss 2=2;"},
    {"csv", "epoch\tstep\tloss\n0\t0\t3\n0\t1\t2\n1\t0\t1.5\n1\t1\t1\n",
     "epoch 0=0 1=0 2=1 3=1;loss 0=3 1=2 2=1.5 3=1;"},
    {"csv", "loss;acc\n3;0.1\n2;0.2\n", "loss 0=3 1=2;acc 0=0.1 1=0.2;"},
    {"jsonl",
     "{\"step\": 1, \"loss\": 2.5, \"train\": {\"lr\": 0.1}, \"note\": \"x\"}\n\n"
     "{\"step\": 2, \"loss\": NaN, \"grad_norm\": \"1.5\"}\nnot json\n{\"step\": 3, \"loss\": "
     "1}",
     "loss 1=2.5 2=nan 3=1;train.lr 1=0.1;grad_norm 2=1.5;"},
    {"hf-trainer",
     "{\"best_metric\": null, \"global_step\": 20, \"log_history\": [{\"epoch\": 0.5, "
     "\"grad_norm\": 1.5, \"learning_rate\": 5e-05, \"loss\": 2.25, \"step\": 10}, {\"epoch\": "
     "1.0, "
     "\"grad_norm\": \"nan\", \"learning_rate\": 0.0, \"loss\": NaN, \"step\": 20}, "
     "{\"epoch\": 1.0, "
     "\"eval_loss\": 2.0, \"step\": 20}], \"max_steps\": 20}",
     "epoch 10=0.5 20=1;grad_norm 10=1.5 20=nan;lr 10=5e-05 20=0;loss 10=2.25 20=nan;eval_loss "
     "20=2;"},
};

#endif
