"""plumb run --against: the first record that differs is told while training, and nothing changes."""
import os
import re

import numpy as np

from capture_case import CaptureTest

SCRIPT = """
import sys, torch
from torch import nn
torch.manual_seed(1)
torch.set_num_threads(1)

class Act(nn.Module):
    factor = 1.0
    def forward(self, x):
        return nn.functional.gelu(x) * Act.factor

net = nn.Sequential(nn.Linear(8, 32), Act(), nn.Linear(32, 4))
optimizer = torch.optim.AdamW(net.parameters(), 1e-2)
for step in range(5):
    if "--bad" in sys.argv and step >= 2:
        Act.factor = 1.002
    if "--other" in sys.argv and step >= 1:
        net[1] = nn.Tanh()
    x, t = torch.randn(16, 8), torch.randint(0, 4, (16,))
    loss = nn.functional.cross_entropy(net(x), t)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item().hex())
"""


class AgainstTest(CaptureTest):
    def setUp(self):
        super().setUp()
        with open(self.path("train.py"), "w", encoding="utf-8") as file:
            file.write(SCRIPT)

    def train(self, out, *arguments, options=()):
        return self.launch(self.path("train.py"), *arguments, out=out, options=options)

    def compare(self, level, *arguments):
        self.train("a", options=("--level", level))
        return self.train("b", *arguments, options=("--against", self.path("a")))

    def test_first_op_of_a_level_that_the_other_run_chose(self):
        done = self.compare("op", "--bad")
        first = [line for line in done.stderr.splitlines() if "first difference" in line]
        self.assertEqual(len(first), 2, done.stderr)  # at once, and at the end
        self.assertEqual(first[0], first[1])
        self.assertIn("step 2, forward 1.mul, ", first[0])
        self.assertIn("by more than rounding", first[0])
        self.assertIn("loss differs", done.stderr)
        values = np.load(self.path("b", "rank0000", "divergence.npz"))
        np.testing.assert_array_equal(values["1.mul/forward/input0"], values["1.gelu/forward/output0"])

    def test_nothing_changes(self):
        plain = self.launch("train.py", "--bad", out="plain", cwd=self.folder)
        self.assertEqual(self.compare("op", "--bad").stdout, plain.stdout)

    def test_modules(self):
        done = self.compare("module", "--bad")
        self.assertIn("step 2, forward 1.Act, output0 (by more than rounding)", done.stderr)
        self.assertIn("1.Act/forward/input0", np.load(self.path("b", "rank0000", "divergence.npz")))

    def test_watching_has_weights_and_loss(self):
        done = self.compare("watch", "--bad")
        self.assertIn("loss differs", done.stderr)
        self.assertRegex(done.stderr, r"step 2, optimizer .*\.update, param \(in its bits\)")
        command = re.search(r"^  plumb run --level module --save tensors --steps 2 --ops \S+ --out \S+ -- .*train.py --bad$",
                            done.stderr, re.M)
        self.assertTrue(command, done.stderr)

    def test_the_same_program(self):
        done = self.compare("op")
        self.assertIn("are the same as in", done.stderr)
        self.assertFalse(os.path.exists(self.path("b", "rank0000", "divergence.npz")))

    def test_another_structure_ends_the_comparison(self):
        done = self.compare("op", "--other")
        self.assertIn("no longer compared", done.stderr)
        self.assertIn("step 1", done.stderr)
        self.assertIn("to the last bit; the rest was not compared", done.stderr)

    def test_a_difference_where_nothing_was_recorded(self):
        self.train("a", options=("--level", "op", "--steps", "0-1"))
        done = self.train("b", "--bad", options=("--against", self.path("a")))
        self.assertIn("to the last bit; yet loss differs from step 2 on: what makes the difference was not recorded", done.stderr)

    def test_a_run_that_is_not_there(self):
        done = self.launch(self.path("train.py"), out="b", options=("--against", self.path("nowhere")), status=2)
        self.assertIn("nowhere", done.stderr)
