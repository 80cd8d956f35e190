/* log_samples.h - a few lines of every kind of log and table of losses, for tests. */
#ifndef PLUMB_TESTS_LOG_SAMPLES_H
#define PLUMB_TESTS_LOG_SAMPLES_H

struct log_sample {
    const char *format; /* that must be found */
    const char *text;
    const char *series; /* every series: name steps=values, in the order of the file */
};

static const struct log_sample log_samples[] = {
    {"megatron-log",
     "using world size: 8\n"
     " [2026-08-01 10:00:01] iteration       10/     500 | consumed samples:          320 | "
     "elapsed "
     "time per iteration (ms): 812.5 | learning rate: 1.500000E-05 | lm loss: 1.012500E+01 | "
     "loss "
     "scale: 65536.0 | grad norm: 2.345 | number of skipped iterations:   1 |\n"
     " iteration       20/     500 | consumed samples:          640 | elapsed time per "
     "iteration "
     "(ms): 800.0 | learning rate: 3.000000E-05 | lm loss: nan | loss scale: 32768.0 | grad "
     "norm: "
     "inf | number of skipped iterations:   0 |\n",
     "consumed_samples 10=320 20=640;step_ms 10=812.5 20=800;lr 10=1.5e-05 20=3e-05;loss "
     "10=10.125 "
     "20=nan;loss_scale 10=65536 20=32768;grad_norm 10=2.345 20=inf;skipped 10=1 20=0;"},
    {"mindformers-log",
     "2026-08-01 - INFO - { Epoch:[  1/  2], step:[    2/  100], loss: 10.5, per_step_time: "
     "512ms, "
     "lr: 1e-05, overflow cond: False, loss_scale: 65536.0, global_norm: [1.25]\n"
     "2026-08-01 - INFO -    0.0% |   | 15.6 samples/s/p  0:00:10 }\n"
     "2026-08-01 - INFO - { Epoch:[  2/  2], step:[    2/  100], loss:[9.5/9.9], "
     "per_step_time: "
     "510ms, lr: 2e-05, overflow cond: True, loss_scale: 32768.0, global_norm: [1.5]\n",
     "epoch 2=1 102=2;loss 2=10.5 102=9.5;step_ms 2=512 102=510;lr 2=1e-05 102=2e-05;overflow "
     "2=0 "
     "102=1;loss_scale 2=65536 102=32768;grad_norm 2=1.25 102=1.5;"},
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
