"""Two trainings that differ in one known way, watched only: what plumb diff makes of them."""
import unittest

import torch
from torch import nn

from capture_case import CaptureTest, plumb


def train(seed=1, dropout=0.1, scale=1.0, steps=6):
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Dropout(dropout), nn.Linear(32, 4))
    with torch.no_grad():
        model[3].weight.mul_(scale)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    torch.manual_seed(seed)
    for _ in range(steps):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(torch.randn(8, 16)), torch.randint(4, (8,))).backward()
        optimizer.step()


class Answers(CaptureTest):
    def summary(self, **other):
        for name, options in (("a", {}), ("b", other)):
            with self.attached(name):
                train(**options)
        return plumb.diff(self.path("a"), self.path("b"))

    def test_same(self):
        answer = self.summary()
        self.assertEqual(answer["verdict"], "identical", answer["summary"])

    def test_a_layer_is_set_differently(self):
        """The numbers alone say no more than that the loss differs."""
        answer = self.summary(dropout=0.5)
        self.assertNotEqual(answer["verdict"], "identical")
        self.assertIn("layer 2 is Dropout(p=0.1, inplace=False) in A and Dropout(p=0.5, inplace=False) in B",
                      answer["summary"])

    def test_other_weights_to_begin_with(self):
        answer = self.summary(scale=1.01)
        self.assertIn("at step 0 on rank 0 in the weights of 3.parameters", answer["summary"])


if __name__ == "__main__":
    unittest.main()
