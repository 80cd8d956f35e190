"""Logs and tables of losses as the real libraries write them.

What a library wrote is read back with what it was given: TensorBoard's writer, Hugging Face's Trainer,
MindSpore's LossMonitor and SummaryRecord, csv, pandas and json. Real logs of the shared data folder are
read where it is there.
"""
import csv
import json
import math
import os
import subprocess
import sys
import unittest

import numpy as np

from plumb_cli import InteropTest, diff, run

DATA = os.environ.get("PLUMB_DATA", "")  # a folder with real logs
LOSSES = [2.5, 2.25, float("nan"), 1.75, 1e-3]


def series(path, name):
    shown = json.loads(run("show", "--json", path, "--series", name).stdout)
    return dict(zip(shown["steps"], map(float, shown["values"])))


class LogTest(InteropTest):
    def assert_series(self, path, name, expected):
        got = series(path, name)
        self.assertEqual(sorted(got), sorted(expected))
        for step, value in expected.items():
            same = got[step] == value or (math.isnan(got[step]) and math.isnan(value))
            self.assertTrue(same, f"{name} at {step}: {got[step]} instead of {value}")


class Logs(LogTest):
    def test_tensorboard(self):
        from torch.utils.tensorboard import SummaryWriter
        with SummaryWriter(self.path("tb")) as writer:
            for step, loss in enumerate(LOSSES):
                writer.add_scalar("train/loss", loss, step)
                writer.add_scalar("lr", 0.1 / (step + 1), step, new_style=True)
                writer.add_histogram("weights", np.arange(10.0), step)
        self.assert_series(self.path("tb"), "train/loss", {i: float(np.float32(v)) for i, v in enumerate(LOSSES)})
        self.assert_series(self.path("tb"), "lr", {i: float(np.float32(0.1 / (i + 1))) for i in range(len(LOSSES))})

    def test_hugging_face_trainer(self):
        import torch
        import transformers

        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.line = torch.nn.Linear(4, 2)

            def forward(self, x, labels):
                out = self.line(x)
                return {"loss": torch.nn.functional.cross_entropy(out, labels), "logits": out}

        transformers.set_seed(1)
        data = [{"x": torch.randn(4), "labels": torch.tensor(i % 2)} for i in range(32)]
        options = transformers.TrainingArguments(
            self.path("hf"), max_steps=6, per_device_train_batch_size=4, logging_steps=1, save_steps=6, report_to=[],
            use_cpu=True, disable_tqdm=True, learning_rate=0.01, lr_scheduler_type="cosine", warmup_steps=2)
        trainer = transformers.Trainer(Net(), options, train_dataset=data)
        trainer.train()
        state = os.path.join(self.path("hf"), "checkpoint-6", "trainer_state.json")
        history = [row for row in trainer.state.log_history if "loss" in row]
        self.assertEqual(len(history), 6)
        for ours, theirs in (("loss", "loss"), ("lr", "learning_rate"), ("grad_norm", "grad_norm")):
            self.assert_series(state, ours, {row["step"]: float(row[theirs]) for row in history})

    def test_mindspore_console(self):
        script = (
            "import numpy as np, mindspore as ms\n"
            "import mindspore.dataset as ds\n"
            "from mindspore import nn, Model\n"
            "from mindspore.train import LossMonitor, TimeMonitor\n"
            "ms.set_seed(1); np.random.seed(1)\n"
            "def feed():\n"
            "    for i in range(12): yield np.random.randn(8).astype(np.float32), np.array(i % 4, np.int32)\n"
            "data = ds.GeneratorDataset(feed, ['x', 'y'], shuffle=False).batch(4)\n"
            "net = nn.Dense(8, 4)\n"
            "loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction='mean')\n"
            "model = Model(net, loss, nn.Momentum(net.trainable_params(), 0.1, 0.9))\n"
            "class Told(ms.train.Callback):\n"
            "    def on_train_step_end(self, context):\n"
            "        told = context.original_args()\n"
            "        print('told', told.cur_step_num, repr(float(told.net_outputs.asnumpy())))\n"
            "model.train(2, data, callbacks=[LossMonitor(1), TimeMonitor(1), Told()], dataset_sink_mode=False)\n")
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr[-2000:])
        told = [line.split() for line in done.stdout.splitlines() if line.startswith("told")]
        with open(self.path("console"), "w") as file:
            file.write("\n".join(line for line in done.stdout.splitlines() if not line.startswith("told")))
        self.assertEqual(len(told), 6)
        self.assert_series(self.path("console"), "loss", {int(row[1]): float(row[2]) for row in told})

    def test_tables(self):
        import pandas
        rows = [{"step": i, "loss": v, "lr": 0.1 * i} for i, v in enumerate(LOSSES)]
        want = {row["step"]: row["loss"] for row in rows}
        with open(self.path("plain.csv"), "w", newline="") as file:
            writer = csv.DictWriter(file, ["step", "loss", "lr"])
            writer.writeheader()
            writer.writerows(rows)
        pandas.DataFrame(rows).to_csv(self.path("pandas.tsv"), sep="\t", index=False, na_rep="nan")
        with open(self.path("rows.jsonl"), "w") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)
        pandas.DataFrame(rows).drop(index=2).to_json(self.path("pandas.jsonl"), orient="records", lines=True)
        for name in ("plain.csv", "pandas.tsv", "rows.jsonl"):
            self.assert_series(self.path(name), "loss", want)
        self.assert_series(self.path("pandas.jsonl"), "loss", {k: v for k, v in want.items() if k != 2})

    def test_two_formats_side_by_side(self):
        """The same training as a Megatron log and as event files: the same series, whatever they are called."""
        from torch.utils.tensorboard import SummaryWriter
        losses = [10 / (step + 1) for step in range(20)]
        with open(self.path("train.log"), "w") as file:
            for step, loss in enumerate(losses, 1):
                file.write(f" iteration {step:8d}/{20:8d} | consumed samples: {step * 8:12d} | elapsed time per iteration "
                           f"(ms): {100.0:.1f} | learning rate: {1e-4:.6E} | global batch size: {8:5d} | lm loss: "
                           f"{loss:.6E} | loss scale: {1.0:.1f} | grad norm: {1.0:.3f} |\n")
        with SummaryWriter(self.path("tb")) as writer:
            for step, loss in enumerate(losses, 1):
                writer.add_scalar("lm loss", loss, step)
                writer.add_scalar("learning-rate", 1e-4, step)
                writer.add_scalar("grad-norm", 1.0, step)
        shown = diff(self.path("train.log"), self.path("tb"), status=0)
        self.assertEqual(shown["verdict"], "rounding")
        self.assertIn("3 series", shown["summary"])


@unittest.skipUnless(DATA, "no real logs: PLUMB_DATA names no folder")
class RealLogs(LogTest):
    def test_loss_monitor(self):
        path = os.path.join(DATA, "mindspore_2_10", "logs", "loss_monitor_feed.txt")
        self.assert_series(path, "loss", dict(enumerate(
            [1.4110640287399292, 1.4205365180969238, 1.4695308208465576, 1.4818010330200195, 1.4568930864334106,
             1.376239538192749], 1)))

    def test_summary_record(self):
        folder = os.path.join(DATA, "mindspore_2_10", "export")
        name = next(name for name in os.listdir(folder) if "events.summary" in name)
        self.assert_series(os.path.join(folder, name), "loss",
                           {0: 1.0, 1: 0.5, 2: float(np.float32(1 / 3))})


if __name__ == "__main__":
    unittest.main()
