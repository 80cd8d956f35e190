"""`plumb run` with MindSpore: the example as it is, compiled, and under msrun."""
import json
import os
import re
import socket
import subprocess
import sys

from capture_case import PLUMB, ROOT, CaptureTest, plumb

LENET = os.path.join(ROOT, "examples", "mindspore", "lenet.py")
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "GLOG_v": "3",
               "PATH": os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"]}
WORKER = """
import numpy as np, mindspore
from mindspore import nn, ops, Tensor
from mindspore.communication import init, get_rank
mindspore.set_device("CPU")
init()
mindspore.set_seed(1)
net = nn.Dense(4, 2)
optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
reduce = ops.AllReduce()
gradients_of = mindspore.value_and_grad(lambda x: net(x).square().mean(), None, optimizer.parameters)
for step in range(3):
    x = Tensor(np.random.default_rng(step * 2 + get_rank()).standard_normal((8, 4), dtype=np.float32))
    loss, gradients = gradients_of(x)
    optimizer(tuple(reduce(g) / 2 for g in gradients))
    print(f"rank {get_rank()} step {step} loss {float(loss.asnumpy())!r}", flush=True)
"""


def printed(text, rank=""):
    return [float(value) for value in re.findall(rf"{rank}step \d+ loss (\S+)", text)]


def settings(path):
    done = subprocess.run([PLUMB, "show", "--json", path], capture_output=True, text=True, check=True)
    return json.dumps(json.loads(done.stdout))


class Launch(CaptureTest):
    def test_lenet(self):
        done = self.launch(LENET, "--steps", "6", env=ENVIRONMENT)
        run = plumb.load(self.path("run"))
        self.assertEqual(list(run.series("loss").values()), printed(done.stdout))
        self.assertEqual(len(printed(done.stdout)), 6)
        for name in ("lr", "grad_norm", "update_norm", "throughput", "skipped"):
            self.assertEqual(len(run.series(name)), 6, name)
        profile = os.path.join(self.path("run"), "rank0000", "minddata")
        with open(os.path.join(profile, "pipeline_profiling_0.json"), encoding="utf-8") as file:
            self.assertIn("BatchOp", [row["op_type"] for row in json.load(file)["op_info"]])
        self.assertTrue(os.path.getsize(os.path.join(profile, "dataset_iterator_profiling_0.txt")))
        said = settings(self.path("run"))
        for word in ("mindspore 2", "conv1.weight", "Momentum", "NumpySlicesDataset", '"seed"'):
            self.assertIn(word, said)
        batches = [row for row in run.records("data.batch", step=1) if row["slot"] == "output0"]
        self.assertEqual([row["shape"] for row in batches], [[32, 1, 28, 28]])

    def test_compiled_lenet(self):
        done = self.launch(LENET, "--steps", "3", "--graph", env=ENVIRONMENT, options=("--level", "op"))
        run = plumb.load(self.path("run"))
        self.assertEqual(list(run.series("loss").values()), printed(done.stdout))
        self.assertIn("compiled graphs are not seen", done.stderr)
        self.assertIn("capture.unseen", settings(self.path("run")))

    def test_msrun(self):
        with open(self.path("train.py"), "w", encoding="utf-8") as file:
            file.write(WORKER)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        done = self.launch("msrun", "--worker_num=2", "--local_worker_num=2", f"--master_port={port}",
                           f"--log_dir={self.path('logs')}", "--join=True", self.path("train.py"), python=False,
                           env=ENVIRONMENT, cwd=self.folder, options=("--level", "op"))
        self.assertEqual(sorted(name for name in os.listdir(self.path("run")) if name.startswith("rank")),
                         ["rank0000", "rank0001"])
        self.assertFalse(os.path.exists(self.path("run-2")))
        run = plumb.load(self.path("run"))
        for rank in range(2):
            with open(self.path("logs", f"worker_{rank}.log"), encoding="utf-8") as file:
                losses = printed(file.read(), f"rank {rank} ")
            self.assertEqual(list(run.series("loss", rank).values()), losses, done.stderr)
            self.assertEqual(len(losses), 3)
            rows = run.records("*AllReduce*", step=2, rank=rank)
            self.assertTrue(rows)
        weights = [{row["op"]: row["fingerprint"] for row in run.records("*.update", step=2, rank=rank) if row["slot"] == "param"}
                   for rank in range(2)]
        self.assertEqual(weights[0], weights[1])
        self.assertEqual(len(weights[0]), 2)
