"""What the program copies, saves and looks at is what it would be without Plumb: nothing of ours is in its objects."""
import copy
import csv
import io
import os
import pickle
import subprocess
from unittest import mock

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from capture_case import PLUMB, CaptureTest

LEVELS = ("watch", "module", "op")


def one():
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(4, 5), nn.Linear(5, 2))
    return model, torch.optim.Adam(model.parameters(), 0.1)


def train(model, optimizer, steps=3):
    for _ in range(steps):
        model(torch.ones(3, 4)).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()


def saved(thing):
    file = io.BytesIO()
    torch.save(thing, file)
    return file.getvalue()


class Untouched(CaptureTest):
    def compare(self, work):
        expected = work(*one())
        for level in LEVELS:
            name = level + os.environ.get("PLUMB_OP_ROUTE", "")
            with self.subTest(level=name), self.attached(name, level=level):
                self.assertEqual(work(*one()), expected)

    def test_a_whole_model_is_saved(self):
        def work(model, optimizer):
            train(model, optimizer)
            again = pickle.loads(pickle.dumps(model))  # whose bytes have addresses in them
            return saved(model), saved(again), saved([optimizer, optimizer.state_dict()])

        self.compare(work)

    def test_an_average_of_the_model_is_a_copy(self):
        def work(model, optimizer):
            train(model, optimizer)
            average, second = copy.deepcopy(model), copy.deepcopy(optimizer)
            train(model, optimizer)
            train(average, torch.optim.SGD(average.parameters(), 0.1))
            return saved(average), saved(model), saved(second.state_dict())

        self.compare(work)

    def test_no_module_has_a_hook(self):
        def work(model, optimizer):
            train(model, optimizer)
            return [[len(hooks) for name, hooks in vars(module).items() if "hooks" in name] for module in model.modules()], [
                type(module).__mro__ for module in model.modules()]

        self.compare(work)

    def test_a_dispatch_mode_of_the_program_sees_its_own_operators_alone(self):
        def work(model, optimizer):
            seen = []

            class Mode(TorchDispatchMode):
                def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
                    seen.append(str(function))
                    return function(*arguments, **(keywords or {}))

            with Mode():
                train(model, optimizer)
            count = len(seen)
            train(model, optimizer)
            return seen, count  # none was seen once it was left

        self.compare(work)
        with mock.patch.dict(os.environ, PLUMB_OP_ROUTE="dispatch-mode"):
            self.compare(work)

    def test_the_phases_of_a_step(self):
        """Forward is timed without such a hook: once a pass, not while evaluating."""
        with self.attached("run", level="watch"):
            model, optimizer = one()
            train(model, optimizer, 2)
            with torch.no_grad():
                model(torch.ones(2, 4))
            train(model, optimizer, 1)
            for _ in range(2):  # two passes for one update
                model(torch.ones(3, 4)).square().mean().backward()
            optimizer.step()
        subprocess.run([PLUMB, "export", self.path("run"), "--csv", self.path("csv")], check=True, capture_output=True)
        with open(os.path.join(self.path("csv"), "spans.csv"), encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        counts = {}
        for row in rows:
            counts[int(row["step"]), row["name"]] = counts.get((int(row["step"]), row["name"]), 0) + 1
        self.assertEqual([counts.get((step, "forward"), 0) for step in range(4)], [0, 1, 1, 2])
        self.assertEqual([counts.get((step, "backward"), 0) for step in range(4)], [1, 1, 1, 2])
        spans = {(int(row["step"]), row["name"]): row for row in rows}
        for step in (1, 2, 3):
            forward, backward = spans[step, "forward"], spans[step, "backward"]
            self.assertLessEqual(int(forward["end_ns"]), int(backward["begin_ns"]))


if __name__ == "__main__":
    import unittest
    unittest.main()
