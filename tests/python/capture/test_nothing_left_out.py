"""What other tools leave out of a dump without a word is in ours: numbers of integers and doubles, casts and copies,
linear and chain_matmul, tensors of modules with very long paths, settings under their own names."""
import json
import os
import subprocess
from unittest import mock

import numpy as np
import torch
from torch import nn

from capture_case import PLUMB, CaptureTest

HERE = os.path.dirname(os.path.abspath(__file__))
DEPTH = 100
MIXED = """
import warnings
import torch
import torch.nn.functional as F
from torch import nn
warnings.simplefilter("ignore")
torch.manual_seed(1)
torch.set_num_threads(1)

class Mixed(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(4, 4))
    def forward(self, x, ids):
        x = F.linear(x, self.weight)
        x = torch.chain_matmul(x, x.t(), x)
        x = x.to(torch.float64).to(torch.float32)
        x = x.half().float().bfloat16().float()
        x = torch.cat([x.clamp(-1, 1), x.triu()], 0).clone()
        scale = (ids * 3).double().sqrt().mean()
        return (x.sum().double() * scale).float()

model = Mixed()
optimizer = torch.optim.SGD(model.parameters(), 0.1)
loss = model(torch.randn(4, 4), torch.arange(12).reshape(3, 4))
loss.backward()
optimizer.step()
"""


class Scaled(nn.Linear):
    factor = 1.0

    def forward(self, x):
        return super().forward(x) * self.factor


def deep_step(depth, factor):
    """A step of a network that is `depth` blocks deep; the innermost one multiplies."""
    torch.manual_seed(1)
    net = Scaled(3, 3)
    net.factor = factor
    for _ in range(depth):
        outer = nn.Sequential()
        outer.add_module("a_block_with_a_rather_long_name", net)
        outer.add_module("tail", nn.Tanh())
        net = outer
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    net(torch.ones(4, 3)).sum().backward()
    optimizer.step()


class NothingLeftOut(CaptureTest):
    def say(self, *words):
        return json.loads(subprocess.run([PLUMB, *words, "--json"], capture_output=True, text=True).stdout)

    def records(self, out="run"):
        return self.say("show", self.path(out), "--op", "*")["records"]

    def test_a_default_capture_has_all_types_and_casts(self):
        with open(self.path("train.py"), "w", encoding="utf-8") as file:
            file.write(MIXED)
        self.launch(self.path("train.py"), options=("--level", "op", "--save", "tensors"))
        found = self.records()
        self.assert_statistics(found)
        forward = [r for r in found if r["phase"] == "forward"]
        self.assert_products(np.load(self.path("run", "rank0000", "step000000.npz")))
        self.assert_casts(forward)
        for op in ("clamp", "triu", "cat", "clone"):
            self.assertEqual([r["slot"] for r in forward if r["op"] == op and r["slot"] == "output0"], ["output0"], op)

    def assert_statistics(self, found):
        """Of integers and doubles, too."""
        ids = torch.arange(12).reshape(3, 4)
        expected = {"i64": (ids * 3).double(), "f64": (ids * 3).double().sqrt()}
        for dtype, values in expected.items():
            made = [r["stats"] for r in found if r["dtype"] == dtype and r["shape"] == [3, 4] and r["slot"] == "output0"
                    and r["stats"]["max"] == values.max().item()]
            self.assertTrue(made, dtype)
            for stats in made:
                self.assertAlmostEqual(stats["mean"], values.mean().item(), places=12)
                self.assertAlmostEqual(stats["l2"], values.norm().item(), places=12)
        lacking = [(r["op"], r["slot"]) for r in found if r["stats"]["mean"] is None or r["stats"]["l2"] is None]
        self.assertEqual(lacking, [])

    def assert_products(self, saved):
        """linear and the two products of chain_matmul, as the kernels that compute them."""
        x, weight, linear, first, second = (saved[name].astype(float) for name in (
            "mm/forward/input0", "parameters/forward/param:weight", "mm/forward/output0", "mm#1/forward/output0",
            "mm#2/forward/output0"))
        np.testing.assert_allclose(x @ weight.T, linear, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(linear @ linear.T, first, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(first @ linear, second, rtol=1e-4, atol=1e-5)

    def assert_casts(self, forward):
        """Each, from and to the types of the script, in its order."""
        types = {}
        for r in forward:
            if r["op"].split("#")[0] == "_to_copy":
                types.setdefault(r["op"], {})[r["slot"]] = r["dtype"]
        self.assertEqual([(t["input0"], t["output0"]) for t in types.values()],
                         [("f32", "f64"), ("f64", "f32"), ("f32", "f16"), ("f16", "f32"), ("f32", "bf16"), ("bf16", "f32"),
                          ("i64", "f64"), ("f32", "f64"), ("f64", "f32")])

    def assert_whole_chain(self, out, inner):
        """Every block of the network has its output and its values: paths of 37 to 3200 characters."""
        found = [r["op"] for r in self.records(out) if r["phase"] == "forward" and r["slot"] == "output0"]
        tails = [op for op in found if op.lower().endswith("tail.tanh")]
        self.assertEqual(len(set(tails)), DEPTH)
        self.assertEqual(len([op for op in found if op.endswith("name." + inner)]), 1)
        saved = np.load(self.path(out, "rank0000", "step000000.npz"))
        values = [saved[op + "/forward/output0"] for op in tails]
        for before, after in zip(values, values[1:]):
            np.testing.assert_allclose(np.tanh(before), after, rtol=1e-6)

    def test_operators_of_very_long_paths(self):
        for out, factor in (("a", 1.0), ("b", 1.01)):
            program = f"import sys; sys.path.insert(0, {HERE!r}); import test_nothing_left_out as t; t.deep_step(t.DEPTH, {factor})"
            self.launch("-c", program, out=out, options=("--level", "op", "--save", "tensors"))
        self.assert_whole_chain("a", "mul")
        first = self.say("diff", self.path("a"), self.path("b"))["first"]
        self.assertTrue(first["op"].endswith("name.mul"), first)
        self.assertEqual(first["phase"], "forward")

    def test_modules_of_very_long_paths(self):
        with self.attached(level="module", save="tensors", steps="0"):
            deep_step(DEPTH, 1.0)
        self.assert_whole_chain("run", "Scaled")

    def test_environment_is_compared_by_its_own_names(self):
        variables = ("HCCL_INTRA_PCIE_ENABLE", "HCCL_INTRA_ROCE_ENABLE")
        for out, *values in (("a", "1", "0"), ("b", "0", "0"), ("c", None, "1")):
            with mock.patch.dict(os.environ):
                for name, value in zip(variables, values):
                    os.environ.pop(name, None)
                    if value:
                        os.environ[name] = value
                with self.attached(out, level="module"):
                    deep_step(1, 1.0)
        for other, expected in (("b", [(variables[0], "1", "0")]), ("c", [(variables[0], "1", None), (variables[1], "0", "1")])):
            settings = self.say("diff", self.path("a"), self.path(other))["settings"]
            found = sorted((s["key_a"] or s["key_b"], s["a"], s["b"]) for s in settings if "HCCL" in (s["key_a"] or s["key_b"]))
            self.assertEqual(found, [("environment." + name, a, b) for name, a, b in expected])
