"""reference="cpu64": each operator's results against float64, and a run that does not notice."""
import subprocess
import sys
import unittest

import numpy
import torch
from torch import nn

import programs
from capture_case import PLUMB, CaptureTest, plumb


def train(model, x):
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    model(x).sum().backward()
    optimizer.step()


class Errors(CaptureTest):
    def saved(self, model, x):
        with self.attached(level="op", save="tensors", reference="cpu64") as result:
            train(model, x)
        return result[0], numpy.load(self.path("run", "rank0000", "step000000.npz"))

    def test_the_difference_is_output_minus_float64(self):
        torch.manual_seed(0)
        model, x = nn.Linear(64, 5), torch.randn(7, 64)
        exact = x.double() @ model.weight.detach().double().t() + model.bias.detach().double()
        run, saved = self.saved(model, x)
        out = saved["addmm/forward/output0"].astype("f8")
        error = saved["addmm/forward/error:output0"]
        self.assertEqual(error.dtype, numpy.float64)
        numpy.testing.assert_allclose(error, out - exact.numpy(), rtol=0, atol=1e-14)
        self.assertGreater(abs(error).max(), 0)
        self.assertLess(abs(error).max(), 1e-5)
        record, = [r for r in run.records("addmm") if r["slot"] == "error:output0"]
        self.assertAlmostEqual(record["stats"]["l2"], float(numpy.linalg.norm(error)))

    def test_an_operator_that_is_wrong_is_seen_where_it_is(self):
        library = torch.library.Library("plumb_test", "DEF")
        self.addCleanup(library._destroy)
        library.define("twice(Tensor x) -> Tensor")
        library.impl("twice", lambda x: x * (2 if x.dtype == torch.float64 else 2.5), "CompositeExplicitAutograd")

        class Wrong(nn.Module):
            def forward(self, x):
                with torch.no_grad():
                    return torch.ops.plumb_test.twice(x)

        model = nn.Linear(4, 4)
        x = torch.ones(2, 4)
        with self.attached(level="op", save="tensors", reference="cpu64"):
            Wrong()(x)
            train(model, x)
        saved = numpy.load(self.path("run", "rank0000", "step000000.npz"))
        worst = {key: float(abs(saved[key]).max()) for key in saved.files if "error:" in key}
        self.assertEqual([key for key, value in worst.items() if value > 1e-3],
                         [key for key in worst if "twice" in key])
        self.assertTrue(any("twice" in key for key in worst), worst)

    def test_what_is_written_in_place(self):
        """Also without a result, as by the operators of a foreach optimizer; and the arguments are as they were."""
        weight = nn.Parameter(torch.full((3,), 0.1))
        optimizer = torch.optim.SGD([weight], 0.1, foreach=True)
        with self.attached(level="op", save="tensors", reference="cpu64"):
            (weight * 1).sum().backward()
            x = torch.full((3,), 0.1)
            x.add_(x)
            x.mul_(3)
            wide, whole = torch.ones(2, dtype=torch.float64), torch.ones(2, dtype=torch.int64)
            wide.add_(1)
            torch._foreach_add_([whole, x], 0)
            whole.add_(1)
            optimizer.step()
        self.assertEqual(wide.tolist() + whole.tolist(), [2.0, 2.0, 2, 2])
        self.assertTrue(torch.equal(x, torch.full((3,), 0.1) * 2 * 3))
        self.assertTrue(torch.equal(weight.detach(), torch.full((3,), 0.1) - 0.1 * torch.ones(3)))
        saved = numpy.load(self.path("run", "rank0000", "step000000.npz"))
        tenth = float(numpy.float32(0.1))
        self.assertEqual(saved["add_/forward/error:output0"].tolist(), [0.0] * 3)
        self.assertEqual(saved["mul_/forward/error:output0"][0], float(x[0]) - 2 * tenth * 3)
        updates = [key for key in saved.files if "_foreach_add_" in key and "error:output0" in key]
        self.assertEqual(len(updates), 1, saved.files)
        self.assertEqual(saved[updates[0]][0], float(weight.detach()[0]) - (tenth - 0.1))

    def test_infinities_that_agree_are_no_difference(self):
        model = nn.Linear(2, 2)
        with self.attached(level="op", save="tensors", reference="cpu64"):
            model(torch.ones(1, 2))  # where the recording begins
            torch.log(torch.tensor([0.0, -1.0, 1.0]))
            train(model, torch.ones(1, 2))
        saved = numpy.load(self.path("run", "rank0000", "step000000.npz"))
        self.assertEqual(saved["log/forward/error:output0"].tolist(), [0.0, 0.0, 0.0])

    def test_what_is_left_out_is_counted(self):
        model = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5))
        with self.attached(level="op", reference="cpu64") as result:
            model(torch.ones(2, 4))  # where the recording begins
            torch.argmax(torch.ones(3)), torch.arange(3) + 1
            torch.view_as_complex(torch.ones(3, 2)) * 2
            train(model, torch.ones(2, 4))
        config = result[0].config()
        self.assertEqual(config["capture.reference"], "cpu64")
        self.assertGreaterEqual(config["capture.reference.skipped.random"], 1)
        self.assertGreaterEqual(config["capture.reference.skipped.integer"], 2)
        self.assertGreaterEqual(config["capture.reference.skipped.foreign"], 1)
        self.assertGreater(config["capture.reference.compared"], 5)


class Unchanged(CaptureTest):
    def test_losses_weights_and_random_numbers_are_the_same(self):
        for program in (programs.plain, programs.convolutions, programs.mixed_precision, programs.checkpointing,
                        programs.adversaries):
            name = program.__name__
            with self.subTest(program=name):
                losses, weights, _ = program()
                state = torch.get_rng_state()
                with self.attached(name, level="op", reference="cpu64") as result:
                    again, weights_again, _ = program()
                    state_again = torch.get_rng_state()
                self.assertEqual(again, losses)
                self.assertTrue(torch.equal(state_again, state))
                self.assertEqual([key for key in weights if not torch.equal(weights[key], weights_again[key])], [])
                self.assertGreater(result[0].config()["capture.reference.compared"], 20)


class Refused(CaptureTest):
    def test_without_operations(self):
        with self.assertRaisesRegex(ValueError, 'say level="op" as well'):
            plumb.attach(level="module", reference="cpu64")
        with self.assertRaisesRegex(ValueError, "no reference 'gpu'"):
            plumb.attach(level="op", reference="gpu")

    def test_on_the_command_line(self):
        for options, words in ((["--reference", "cpu64"], "add --level op"),
                               (["--level", "op", "--reference", "cpu32"], "no reference 'cpu32'; one of cpu64")):
            done = subprocess.run([PLUMB, "run", *options, "--", sys.executable, "-c", "1"], capture_output=True, text=True)
            self.assertEqual(done.returncode, 2)
            self.assertIn(words, done.stderr)

    def test_the_launcher_hands_it_on(self):
        with open(self.path("train.py"), "w", encoding="utf-8") as file:
            file.write("import torch\nm = torch.nn.Linear(3, 3)\no = torch.optim.SGD(m.parameters(), 0.1)\n"
                       "m(torch.ones(2, 3)).exp().sum().backward()\no.step()\n")
        self.launch(self.path("train.py"), options=["--level", "op", "--reference", "cpu64"])
        slots = {record["slot"] for record in plumb.load(self.path("run")).records("exp")}
        self.assertIn("error:output0", slots)


if __name__ == "__main__":
    unittest.main()
