"""MindSpore: losses and weights are equal to the last bit with and without capture, and what is recorded is right."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import numpy

from capture_case import ROOT, plumb

HERE = os.path.dirname(os.path.abspath(__file__))
STEPS = {"loss_scale": 6}


class MindSpore(unittest.TestCase):
    maxDiff = 3000

    @classmethod
    def setUpClass(cls):
        os.makedirs(os.path.join(ROOT, "build", "tmp"), exist_ok=True)
        cls.folder = tempfile.mkdtemp(dir=os.path.join(ROOT, "build", "tmp"))
        environment = {**os.environ, "PYTHONPATH": os.path.join(ROOT, "python"), "OMP_NUM_THREADS": "1", "GLOG_v": "3"}
        environment.pop("PLUMB_CAPTURE", None)
        done = subprocess.run([sys.executable, os.path.join(HERE, "mindspore_programs.py"), cls.folder],
                              env=environment, capture_output=True, text=True, timeout=400)
        lines = [line for line in done.stdout.splitlines() if line.startswith("RESULT ")]
        cls.results = json.loads(lines[-1].removeprefix("RESULT ")) if lines else {}
        cls.trouble = f"exit {done.returncode}: {done.stderr[-3000:]}"
        cls.status = done.returncode

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder, ignore_errors=True)

    def result(self, name):
        found = self.results.get(name, {"error": self.trouble})
        self.assertNotIn("error", found, found.get("error"))
        return found

    def check(self, name, said=False):
        """Every level gives the same bits, and a run with every step and every loss in it. Gives the runs."""
        found = self.result(name)
        runs = []
        for row in found["runs"]:
            with self.subTest(**row["options"]):
                self.assertEqual(row["losses"], found["losses"])
                self.assertTrue(row["weights"], "the weights differ")
                self.assertEqual(bool(row["said"]), said, row["said"])
                run = plumb.load(row["path"])
                runs.append(run)
                self.assertEqual(run.ended, "closed")
                self.assertEqual(run.overview["ranks"][0]["finished_steps"], STEPS.get(name, 4))
                self.assertEqual(list(run.series("loss").values()), found["losses"])
        return runs

    def test_the_process_ended_well(self):
        self.assertEqual(self.status, 0, self.trouble)

    def test_functional(self):
        runs = self.check("functional")
        for run in runs:
            self.assertEqual(len(run.series("grad_norm")), 4)
            self.assertEqual(len(run.series("update_norm")), 4)
            self.assertEqual(len(set(run.series("lr").values())), 4)
        self.assertEqual(len(runs), 6)

    def test_module_level_records_all_kinds_of_tensors(self):
        run = plumb.load(self.result("functional")["runs"][1]["path"])
        found = {(row["phase"], row["op"], row["slot"]) for row in run.records(step=1)}
        for expected in (("forward", "conv.Conv2d", "input0"), ("forward", "conv.Conv2d", "param:weight"),
                         ("forward", "Net", "output0"), ("backward", "conv.Conv2d", "input0"),
                         ("backward", "head.2.Dense", "output0"), ("backward", "head.2.Dense", "grad:weight"),
                         ("optimizer", "conv.weight.update", "grad"), ("optimizer", "conv.weight.update", "moment1"),
                         ("optimizer", "conv.weight.update", "param")):
            self.assertIn(expected, found)

    def test_op_level_records_operations_of_both_passes(self):
        run = plumb.load(self.result("functional")["runs"][4]["path"])
        found = {(row["phase"], row["op"], row["slot"]) for row in run.records(step=1)}
        for expected in (("forward", "conv.Conv2D", "input1"), ("forward", "head.0.MatMul", "output0"),
                         ("backward", "head.0.Dense", "grad:weight"), ("backward", "head.0.MatMul", "input0"),
                         ("backward", "head.2.MatMul", "input0"), ("optimizer", "conv.weight.update", "moment2")):
            self.assertIn(expected, found)

    def test_the_backward_pass_has_the_cells_of_the_forward_pass(self):
        run = plumb.load(self.result("functional")["runs"][4]["path"])
        forward, backward = set(), set()
        for row in run.records(step=1):
            if row["slot"] == "output0" and row["phase"] in ("forward", "backward"):
                (forward if row["phase"] == "forward" else backward).add(row["op"].rpartition(".")[0])
                self.assertIn("mindspore_programs.py:", row["called_at"], row)
        self.assertLessEqual({"head.0", "head.1", "head.2"}, backward)
        self.assertLessEqual(backward, forward)

    def test_one_step_cell(self):
        for run in self.check("one_step_cell"):
            self.assertFalse(any("Identity" in row["op"] for row in run.records(step=1)))

    def test_schedule(self):
        rates = list(self.check("scheduled")[0].series("lr").values())
        numpy.testing.assert_allclose(rates, [0.1 * 0.5 ** (step / 2) for step in range(4)], rtol=1e-6)

    def test_experimental_optimizer(self):
        self.check("experimental")

    def test_model_train(self):
        self.check("model_train")

    def test_accumulation(self):
        run = self.check("accumulation")[0]
        self.assertEqual(set(run.series("backward_passes").values()), {2.0})

    def test_two_optimizers(self):
        run = self.check("adversaries")[0]
        self.assertEqual(len(run.series("loss.1")), 4)

    def test_loss_scale(self):
        run = self.check("loss_scale")[0]
        skipped, scale = run.series("skipped"), run.series("loss_scale")
        self.assertEqual(scale[0], 2.0**127)
        self.assertEqual(skipped[0], 1.0)
        self.assertEqual(skipped[5], 0.0)
        for step in range(1, 6):
            self.assertEqual(scale[step] < scale[step - 1], skipped[step - 1] == 1.0)

    def test_a_compiled_function_between_cells(self):
        run = self.check("compiled_loss")[0]
        self.assertIn(("backward", "head.Dense", "input0"), {(r["phase"], r["op"], r["slot"]) for r in run.records(step=1)})

    def test_compiled_step(self):
        self.check("compiled_step", said=True)

    def test_graph_mode_says_what_is_not_seen(self):
        run = self.check("graph_mode", said=True)[0]
        self.assertEqual(len(run.series("update_norm")), 3)  # the first call was not known to be one that updates
        self.assertNotIn("grad_norm", run.names)

    def test_bfloat16_is_saved_bit_for_bit(self):
        self.check("bfloat16")
        row = self.result("bfloat16")["runs"][0]
        with numpy.load(os.path.join(row["path"], "rank0000", "step000001.npz")) as file:
            names = {name: file[name] for name in file.files}
        narrow = next(value for name, value in names.items() if "round.Round" in name and "output0" in name and "forward" in name)
        wide = next(value for name, value in names.items() if "table.Embedding" in name and "output0" in name and "forward" in name)
        bits = wide.view(numpy.uint32)
        rounded = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(numpy.uint16)
        self.assertTrue(numpy.array_equal(narrow.view(numpy.uint16), rounded))

    def test_gradients_are_those_that_the_optimizer_was_handed(self):
        found = self.result("handed_gradients")
        handed = numpy.load(found["file"])
        for step in range(4):
            with numpy.load(os.path.join(found["path"], "rank0000", f"step{step:06d}.npz")) as file:
                for name in found["names"]:
                    saved = [key for key in file.files if f"{name}.update" in key and key.endswith("grad")]
                    self.assertEqual(len(saved), 1, (name, file.files[:5]))
                    self.assertTrue(numpy.array_equal(file[saved[0]], handed[f"{step}.{name}"]), name)

    def test_callback(self):
        found = self.result("callback")
        run = plumb.load(found["path"])
        self.assertEqual(list(run.series("loss").values()), found["losses"])
        self.assertEqual(run.ended, "closed")
