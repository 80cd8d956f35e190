"""A run is not changed by being watched: losses and weights are equal to the last bit, steps are counted right."""
import importlib.util

import torch

import programs
from capture_case import CaptureTest, plumb

LEVELS = [dict(level="watch"), dict(level="module"), dict(level="module", save="fingerprint"),
          dict(level="module", save="tensors"), dict(level="op"), dict(level="op", save="tensors", steps="1-2")]


class Bits(CaptureTest):
    def setUp(self):
        super().setUp()
        self.use_threads(1)

    def use_threads(self, count):
        threads = torch.get_num_threads()
        torch.set_num_threads(count)
        self.addCleanup(torch.set_num_threads, threads)

    def compare(self, program, levels):
        losses, weights, steps = program()
        for number, options in enumerate(levels):
            with self.subTest(program=program.__name__, **options):
                name = f"{program.__name__}{number}"
                with self.attached(name, **options) as result:
                    again, weights_again, _ = program()
                run = result[0]
                self.assertEqual(again, losses)
                self.assertEqual(sorted(weights_again), sorted(weights))
                for key, value in weights.items():
                    self.assertTrue(torch.equal(value, weights_again[key]), key)
                self.assert_recorded(run, program, losses, steps)

    def assert_recorded(self, run, program, losses, steps):
        self.assertEqual(run.ended, "closed")
        self.assertEqual(sum(rank["finished_steps"] for rank in run.overview["ranks"]), steps)
        recorded = run.series("loss")
        self.assertEqual(sorted(recorded), list(range(steps)))
        if program is not programs.trainer:  # which prints something else
            self.assertEqual(list(recorded.values()), losses)


def add(program, levels, threads=1):
    def test(self):
        self.use_threads(threads)
        if program is programs.trainer and not importlib.util.find_spec("transformers"):
            self.skipTest("no transformers beside this torch")
        self.compare(program, levels)

    setattr(Bits, f"test_{program.__name__}" + (f"_in_{threads}_threads" if threads > 1 else ""), test)


for each in programs.ALL:
    add(each, LEVELS)
for each in programs.SLOW:
    add(each, LEVELS[:2] + LEVELS[4:5])
for each in programs.THREADED:
    add(each, LEVELS[4:5], threads=2)
del each


class Steps(CaptureTest):
    def test_a_scaler_that_skips(self):
        for program in (programs.overflowing_scale, programs.overflowing_scale_fused):
            with self.subTest(program=program.__name__):
                with self.attached(program.__name__) as result:
                    program()
                skipped, scale = result[0].series("skipped"), result[0].series("loss_scale")
                self.assertEqual(skipped[0], 1.0)
                self.assertEqual(scale[0], 2.0**127)
                for step in range(1, 5):
                    self.assertEqual(scale[step] < scale[step - 1], skipped[step - 1] == 1.0)

    def test_two_optimizers_have_a_loss_each(self):
        with self.attached() as result:
            programs.adversaries()
        self.assertEqual(sorted(result[0].series("loss.1")), [0, 1, 2, 3])
        self.assertEqual(result[0].series("backward_passes") if "backward_passes" in result[0].names else {}, {})

    def test_accumulation_says_how_many_passes(self):
        with self.attached() as result:
            programs.accumulation()
        self.assertEqual(set(result[0].series("backward_passes").values()), {2.0})

    def test_an_optimizer_that_steps_less_often(self):
        model, other = torch.nn.Linear(3, 3), torch.nn.Linear(3, 3)
        often = torch.optim.SGD(model.parameters(), 0.1)
        rare = torch.optim.SGD(other.parameters(), 0.1)
        with self.attached() as result:
            plumb.attach(model, [often, rare])
            for step in range(9):
                other(model(torch.ones(2, 3))).sum().backward()
                often.step()
                if step % 3 == 2:
                    rare.step()
        self.assertEqual(result[0].overview["ranks"][0]["finished_steps"], 9)


class Device(CaptureTest):
    """The way of tensors on a device, taken on the host."""

    def test_the_same_numbers_arrive(self):
        from plumb import torch_device
        with self.attached("near") as near:
            losses, weights, _ = programs.plain()
        self.addCleanup(setattr, torch_device, "FORCED", False)
        torch_device.FORCED = True
        with self.attached("far") as far:
            again, weights_again, _ = programs.plain()
        self.assertEqual(again, losses)
        self.assertTrue(all(torch.equal(weights[name], weights_again[name]) for name in weights))
        self.assertEqual(far[0].series("loss"), near[0].series("loss"))
        for step, norm in near[0].series("grad_norm").items():
            self.assertAlmostEqual(far[0].series("grad_norm")[step], norm, places=5)
