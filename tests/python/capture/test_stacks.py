"""Where in the program modules and operations are called: lines of this file, each stack written once."""
import inspect
import json
import os
import subprocess
import unittest

import torch
import torch.nn.functional as F
from torch import nn

from capture_case import PLUMB, CaptureTest

FILE = os.path.basename(__file__)


def line_of(mark):
    """Of the one line in this file that ends in the mark."""
    lines = inspect.getsource(inspect.getmodule(line_of)).splitlines()
    return f"{FILE}:{[i for i, line in enumerate(lines, 1) if line.endswith('# ' + mark)][0]}"


def helper(x):
    return x * 3.0  # times


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.rest = nn.Sequential(nn.GELU(), nn.Linear(4, 4))

    def forward(self, x):
        x = self.linear(x)  # linear
        x = helper(x) + helper(-x)  # helpers
        return self.rest(x)  # rest


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.one = Block()
        self.two = Block()

    def forward(self, x):
        return self.two(self.one(x))  # blocks


class Stacks(CaptureTest):
    def train(self, **options):
        torch.manual_seed(1)
        model = Net()
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        with self.attached(**options) as result:
            for _ in range(2):
                optimizer.zero_grad()
                loss = F.mse_loss(model(torch.ones(2, 4)), torch.zeros(2, 4))  # loss
                loss.backward()
                optimizer.step()  # step
        return {(r["op"], r["phase"], r["slot"]): r for r in result[0].records("*", 1)}

    def called(self, record):
        """The line the program called it from, without directory and function."""
        return os.path.basename(record["called_at"]).split(" ")[0]

    def check_modules(self, records, linear, gelu):
        self.assertEqual(self.called(records[linear, "forward", "output0"]), line_of("linear"))
        self.assertEqual(self.called(records[gelu, "forward", "output0"]), line_of("rest"))
        stack = records[linear, "forward", "output0"]["stack"]
        self.assertEqual([line.split("/")[-1].split(" ")[1] for line in stack[:3]], ["forward", "forward", "train"])
        self.assertEqual([os.path.basename(line).split(" ")[0] for line in stack[:3]],
                         [line_of("linear"), line_of("blocks"), line_of("loss")])

    def test_modules(self):
        records = self.train(level="module")
        self.check_modules(records, "two.linear.Linear", "two.rest.0.GELU")
        backward = records["two.rest.1.Linear", "backward", "input0"]
        self.assertEqual(self.called(backward), line_of("rest"))
        self.assertEqual(self.called(records["one.linear.weight.update", "optimizer", "param"]), line_of("step"))

    def check_operations(self):
        records = self.train(level="op")
        self.check_modules(records, "two.linear.addmm", "two.rest.0.gelu")
        for op in ("two.mul", "two.mul#1"):  # the same line, called twice from another
            record = records[op, "forward", "output0"]
            self.assertEqual(self.called(record), line_of("times"))
            self.assertEqual(os.path.basename(record["stack"][1]).split(" ")[0], line_of("helpers"))
        self.assertEqual(self.called(records["two.rest.0.gelu_backward", "backward", "output0"]), line_of("rest"))
        self.assertEqual(self.called(records["mse_loss", "forward", "output0"]), line_of("loss"))
        step = next(r for (_, phase, _), r in records.items() if phase == "optimizer")
        self.assertEqual(self.called(step), line_of("step"))

    def test_operations(self):
        self.check_operations()

    def test_operations_by_the_slower_route(self):
        os.environ["PLUMB_OP_ROUTE"] = "dispatch-mode"
        self.addCleanup(os.environ.pop, "PLUMB_OP_ROUTE")
        self.check_operations()

    def test_a_stack_is_written_once(self):
        self.train(level="op")
        with open(self.path("run", "rank0000", "records.plumb"), "rb") as file:
            content = file.read()
        # Both blocks are called in one line, and so have one stack, whatever the number of steps and tensors.
        self.assertEqual(content.count(f"{line_of('linear')} forward".encode()), 1)

    def test_reports_name_the_line(self):
        def train(name, broken):
            torch.manual_seed(1)
            model = Net()
            optimizer = torch.optim.SGD(model.parameters(), 0.1)
            with self.attached(name=name, level="op", ops="div*"):
                x = torch.ones(2, 4)
                y = model(x)
                y = y / (0.0 if broken else 1.0)  # divide
                y.sum().backward()
                optimizer.step()

        train("good", False)
        train("bad", True)
        for words in (["nan", self.path("bad")], ["diff", self.path("good"), self.path("bad")],
                      ["show", self.path("bad"), "--op", "div"]):
            said = subprocess.run([PLUMB, *words], capture_output=True, text=True).stdout
            self.assertIn("called at", said)
            self.assertIn(line_of("divide"), said)
        found = json.loads(subprocess.run([PLUMB, "nan", "--json", self.path("bad")], capture_output=True).stdout)
        self.assertIn(line_of("divide"), found["origin"]["called_at"])

    def test_msprobes_layout_has_them(self):
        self.train(level="module")
        subprocess.run([PLUMB, "export", self.path("run"), "--msprobe", self.path("probe")], check=True,
                       capture_output=True)
        with open(self.path("probe", "step0", "rank0", "stack.json"), encoding="utf-8") as file:
            stacks = json.load(file)
        frames = next(frames for names, frames in stacks.values() if "Module.two.linear.Linear.forward.0" in names)
        number = line_of("linear").split(":")[1]
        self.assertRegex(frames[0], rf"^File .*{FILE}, line {number}, in forward, \n ")


if __name__ == "__main__":
    unittest.main()
