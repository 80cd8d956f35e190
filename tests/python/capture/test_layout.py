"""Tensor parallelism over gloo against one process: the pieces are put together, and are the same."""
import json
import subprocess
import unittest

from capture_case import PLUMB, CaptureTest

PROGRAM = """
import os, sys
import torch, torch.distributed as dist
from torch import nn
world = int(os.environ.get("WORLD_SIZE", 1))
rank = int(os.environ.get("RANK", 0))
if world > 1:
    dist.init_process_group("gloo")

class Reduce(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x = x.clone()
        dist.all_reduce(x)
        return x
    @staticmethod
    def backward(ctx, gradient):
        return gradient

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        mine = slice(rank * 8 // world, (rank + 1) * 8 // world)
        torch.manual_seed(1)
        up, down = torch.randint(-3, 4, (8, 6)).float(), torch.randint(-3, 4, (6, 8)).float()
        self.up, self.down = nn.Linear(6, 8 // world, bias=False), nn.Linear(8 // world, 6, bias=False)
        self.up.weight.data, self.down.weight.data = up[mine].clone(), down[:, mine].clone()
        if sys.argv[1:] == ["wrong"] and rank == world - 1:
            self.down.weight.data[3, 1] += 1

    def forward(self, x):
        out = self.down(torch.relu(self.up(x)))
        return Reduce.apply(out) if world > 1 else out

net = Net()
optimizer = torch.optim.SGD(net.parameters(), 1 / 1024)
torch.manual_seed(2)
for step in range(2):
    net(torch.randint(-3, 4, (4, 6)).float()).mean().backward()
    optimizer.step()
    optimizer.zero_grad()
"""

LAYOUT = {"ranks": {"tp": 2}, "split": [
    {"op": "up.weight*", "over": "tp", "axis": 0},
    {"op": "down.weight*", "over": "tp", "axis": 1},
    {"op": "up*", "slot": "*:weight", "over": "tp", "axis": 0},
    {"op": "down*", "slot": "*:weight", "over": "tp", "axis": 1},
    {"op": "up*", "slot": "output0", "phase": "forward", "over": "tp", "axis": -1},
    {"op": "up*", "slot": "input0", "phase": "backward", "over": "tp", "axis": -1},
    {"op": "down*", "slot": "input0", "phase": "forward", "over": "tp", "axis": -1},
    {"op": "down*", "slot": "output0", "phase": "forward", "over": "tp", "sum": True},
    {"op": "down*", "slot": "output0", "phase": "backward", "over": "tp", "axis": -1}]}


class Layout(CaptureTest):
    def record(self, name, ranks, *arguments):
        script = self.path("train.py")
        with open(script, "w") as file:
            file.write(PROGRAM)
        words = ["-m", "torch.distributed.run", "--nproc-per-node", str(ranks)] if ranks > 1 else []
        self.launch(*words, script, *arguments, out=name,
                    options=["--level", "module", "--save", "tensors"])

    def compare(self, a, b):
        with open(self.path("layout.json"), "w") as file:
            json.dump(LAYOUT, file)
        done = subprocess.run([PLUMB, "diff", self.path(a), self.path(b), "--layout-b", self.path("layout.json"), "--json"],
                              capture_output=True, text=True)
        self.assertLess(done.returncode, 2, done.stderr)
        return json.loads(done.stdout)

    def test_column_and_row(self):
        self.record("whole", 1)
        self.record("split", 2)
        self.assertIn(self.compare("whole", "split")["verdict"], ("identical", "rounding"))
        self.record("wrong", 2, "wrong")
        shown = self.compare("whole", "wrong")
        self.assertEqual(shown["verdict"], "different")
        self.assertTrue(shown["first"]["op"].startswith("down"), shown["first"])


if __name__ == "__main__":
    unittest.main()
