"""What the program drops is not kept by its record: models, optimizers, their memory."""
import gc
import os
import weakref

import torch
from torch import nn

from capture_case import CaptureTest


def train(model, optimizer, steps=2):
    for _ in range(steps):
        model(torch.ones(3, 4)).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()


def one(kind=torch.optim.Adam):
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(4, 5), nn.Linear(5, 2))
    return model, kind(model.parameters(), 0.1)


class Forgotten(CaptureTest):
    def check(self, level):
        with self.attached(level, level=level) as result:
            model, optimizer = one()
            train(model, optimizer)
            parameters = [weakref.ref(p) for p in model.parameters()]
            states = [weakref.ref(optimizer.state[p]["exp_avg"]) for p in model.parameters()]
            del model, optimizer
            gc.collect()
            self.assertEqual([reference() for reference in parameters + states], [None] * 8)
            train(*one())
        return result[0]

    def test_watch(self):
        run = self.check("watch")
        self.assertEqual(len(run.series("loss")), 2)
        self.assertEqual(len(run.series("loss.1")), 2)

    def test_module(self):
        run = self.check("module")
        self.assertIn("0.weight.update", {record["op"] for record in run.records(step=1)})
        self.assertIn("Sequential.0.weight.update", {record["op"] for record in run.records(step=3)})

    def test_operations(self):
        run = self.check("op")
        self.assertIn("Sequential.0.weight.update", {record["op"] for record in run.records(step=3)})

    def test_operations_by_the_dispatch_mode(self):
        os.environ["PLUMB_OP_ROUTE"] = "dispatch-mode"
        self.addCleanup(os.environ.pop, "PLUMB_OP_ROUTE")
        self.check("op")

    def test_a_part_outlives_the_whole(self):
        """Its gradients are still recorded, under the name that it had."""
        with self.attached(level="module") as result:
            part = nn.Linear(4, 2)
            whole = nn.Sequential(nn.Identity(), part)
            optimizer = torch.optim.SGD(part.parameters(), 0.1)
            train(whole, optimizer)
            del whole
            train(part, optimizer)
        for step in (1, 3):
            found = {(record["op"], record["slot"]) for record in result[0].records(step=step)}
            self.assertIn(("1.Linear", "grad:weight"), found)
