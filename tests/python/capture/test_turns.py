"""A benchmark of the capture must not pass because nothing was captured."""
import os
import sys

import torch

from capture_case import ROOT, CaptureTest, plumb

sys.path.insert(0, os.path.join(ROOT, "bench"))

import turns  # noqa: E402


class TurnsTest(CaptureTest):
    def record(self, name, count, fails=False, **options):
        session = plumb.attach(out=self.path(name), **options)
        session.options.launched = True
        session.say = lambda text: None
        model = torch.nn.Linear(4, 2)
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        for number in range(count):
            if fails and number == count - 1:
                session.fail(ValueError("the reason"))
            model(torch.ones(3, 4)).sum().backward()
            optimizer.step()
        session.close()

    def check(self, name, steps, route=None):
        turns.Run(self.path(name), [], route).check(steps, "its words")

    def assert_stops(self, sentence, *arguments):
        with self.assertRaises(SystemExit) as stopped:
            self.check(*arguments)
        self.assertIn(sentence, str(stopped.exception))
        self.assertIn("its words", str(stopped.exception))

    def test_the_whole_training_was_recorded(self):
        self.record("whole", 3)
        self.check("whole", 3)
        self.assert_stops("ended early: 3 of 4 steps", "whole", 4)

    def test_the_capture_ended_early(self):
        self.record("early", 3, fails=True)
        self.assert_stops("ended early: 2 of 3 steps, stopped: ValueError: the reason", "early", 3)

    def test_nothing_was_recorded(self):
        self.assert_stops("the capture is not there", "nowhere", 3)

    def test_operators_of_the_last_step(self):
        self.record("op", 3, level="op")
        self.check("op", 3, "record-function")
        self.assert_stops("took the route record-function, not dispatch-mode", "op", 3, "dispatch-mode")
        self.record("first", 3, level="op", steps="0")
        self.assert_stops("no tensor records at step 2", "first", 3, "record-function")
