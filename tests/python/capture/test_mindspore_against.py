"""plumb run --against with a MindSpore training: the first op that differs is told while it trains, with its values."""
import os
import unittest

import numpy as np

from capture_case import CaptureTest

SCRIPT = """
import sys
import mindspore
import numpy as np
from mindspore import Tensor, nn
mindspore.set_device("CPU")
mindspore.set_seed(1)

class Act(nn.Cell):
    factor = 1.0
    def construct(self, x):
        return mindspore.mint.nn.functional.relu(x) * Act.factor

net = nn.SequentialCell(nn.Dense(8, 32), Act(), nn.Dense(32, 4))
optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
loss_of = nn.CrossEntropyLoss()
gradients_of = mindspore.value_and_grad(lambda x, t: loss_of(net(x), t), None, optimizer.parameters)
chance = np.random.default_rng(5)
for step in range(4):
    if "--bad" in sys.argv and step >= 2:
        Act.factor = 1.002
    x = Tensor(chance.standard_normal((16, 8), dtype=np.float32))
    t = Tensor(chance.integers(0, 4, 16).astype(np.int32))
    loss, gradients = gradients_of(x, t)
    optimizer(gradients)
    print(step, float(loss.asnumpy()).hex(), flush=True)
"""


class MindSporeAgainst(CaptureTest):
    def train(self, out, *arguments, options):
        return self.launch(self.path("train.py"), *arguments, out=out, options=options,
                           env={**os.environ, "OMP_NUM_THREADS": "1", "GLOG_v": "3"})

    def test_the_first_op_that_differs(self):
        with open(self.path("train.py"), "w", encoding="utf-8") as file:
            file.write(SCRIPT)
        good = self.train("a", options=("--level", "op"))
        done = self.train("b", "--bad", options=("--against", self.path("a")))
        first = [line for line in done.stderr.splitlines() if "first difference" in line]
        self.assertEqual(len(first), 2, done.stderr)  # at once, and at the end
        self.assertRegex(first[0], r"step 2, forward 1\.Muls, output0 \(by more than rounding\)")
        self.assertIn("loss differs", done.stderr)
        self.assertEqual(done.stdout.splitlines()[:2], good.stdout.splitlines()[:2])  # up to there nothing changes
        values = np.load(self.path("b", "rank0000", "divergence.npz"))
        np.testing.assert_array_equal(values["1.Muls/forward/input0"], values["1.ReLU/forward/output0"])
        np.testing.assert_allclose(values["1.Muls/forward/output0"], values["1.Muls/forward/input0"] * np.float32(1.002), rtol=1e-6)


if __name__ == "__main__":
    unittest.main()
