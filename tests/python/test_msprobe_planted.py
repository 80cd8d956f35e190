"""Dumps that msprobe itself makes of trainings with one bad kernel: the plant is the first root, whatever was
dumped; the metrics are those of msprobe's own compare, where these are sound."""
import csv
import glob
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import torch

from plumb_cli import ROOT, diff, run

try:
    import msprobe
except ImportError:
    msprobe = None

HERE = os.path.dirname(os.path.abspath(__file__))
TOOL = os.path.join(os.path.dirname(sys.executable), "msprobe")

# Plant, net, and the op it is in: as modules place it, and without them.
PLANTS = {"gelu": ("gpt", "blocks.1.act.Functional.gelu", "Functional.gelu#1"),
          "softmax": ("gpt", "blocks.1.Functional.softmax", "Functional.softmax#1"),
          "nan": ("gpt", "blocks.1.ln2.Functional.layer_norm", "Functional.layer_norm#3"),
          "norm": ("conv", "norms.1.Functional.batch_norm", "Functional.batch_norm#1"),
          "conv": ("conv", "convs.2.Functional.conv2d", "Functional.conv2d#2")}
# Every task with every plant; the levels take turns.
DUMPS = [(task, level, plant) for task, level, plants in (
    ("tensor", "mix", ("gelu", "norm")), ("tensor", "L1", ("softmax", "nan")), ("statistics", "mix", ("gelu", "softmax", "norm")),
    ("statistics", "L1", ("nan", "conv")), ("md5", "mix", ("gelu", "conv"))) for plant in plants]


def number(text):
    return float(text) if text not in ("", "N/A", "unsupported", "None") else None


@unittest.skipUnless(msprobe, "msprobe is not installed")
class PlantedTest(unittest.TestCase):
    maxDiff = 2000

    @classmethod
    def setUpClass(cls):
        os.makedirs(os.path.join(ROOT, "build", "tmp"), exist_ok=True)
        cls.folder = tempfile.mkdtemp(dir=os.path.join(ROOT, "build", "tmp"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        wanted = {(PLANTS[plant][0], kind, task, level) for task, level, plant in DUMPS for kind in ("none", plant)}
        specs = [f"{net}-{plant}-{task}-{level}:{net}:{plant}:{task}:{level}" for net, plant, task, level in sorted(wanted)]
        done = subprocess.run([sys.executable, os.path.join(HERE, "planted_dumps.py"), cls.folder, *specs], capture_output=True,
                              text=True)
        if done.returncode:
            raise AssertionError(done.stdout[-2000:] + done.stderr[-4000:])

    def dump(self, net, plant, task, level):
        return os.path.join(self.folder, f"{net}-{plant}-{task}-{level}")

    def test_the_plant_is_the_first_root(self):
        for task, level, plant in DUMPS:
            with self.subTest(task=task, level=level, plant=plant):
                net, placed, counted = PLANTS[plant]
                found = diff(self.dump(net, "none", task, level), self.dump(net, plant, task, level))
                first = found["first"]
                self.assertEqual((first["op"], first["slot"], first["phase"], first["step"]),
                                 (placed if level == "mix" else counted, "output0", "forward", 0), first)
                self.assertEqual(first["basis"] == "values", task == "tensor", first)
                others = [root["op"] for root in found["roots"][1:] if root["verdict"] not in ("rounding", "identical")]
                self.assertEqual(others, [])
                self.assertEqual((found["values_lost"], found["not_compared"]), (0, 0))

    def test_a_dump_is_itself(self):
        for task, level, _ in DUMPS:
            with self.subTest(task=task, level=level):
                path = self.dump("gpt" if (task, level) != ("statistics", "L1") else "conv", "none", task, level)
                found = diff(path, path, status=0)
                self.assertEqual((found["verdict"], found["first"]), ("identical", None))
                # Only the tensors of an API that was not called with tensors have no hash and no values.
                self.assertEqual(found["same_by_statistics"] > 0, task == "statistics")

    def test_one_step_against_the_next(self):
        path = self.dump("gpt", "none", "statistics", "mix")
        found = diff(os.path.join(path, "step0"), os.path.join(path, "step1"), status=1)
        self.assertEqual((found["step_shift"], found["first"]["phase"], found["only_a"], found["only_b"]), (1, "data", [], []))

    def compare(self, net, plant, task, level):
        """Rows of msprobe's own table, the reference as golden."""
        out = tempfile.mkdtemp(dir=self.folder)
        a, b = self.dump(net, "none", task, level), self.dump(net, plant, task, level)
        done = subprocess.run([TOOL, "compare", "-tp", os.path.join(b, "step0"), "-gp", os.path.join(a, "step0"), "-o", out],
                              capture_output=True, text=True)
        self.assertIn("ends successfully", done.stdout + done.stderr)
        (path,) = glob.glob(os.path.join(out, "*.csv"))
        with open(path, encoding="utf-8-sig") as file:
            return a, b, list(csv.DictReader(file))

    def values(self, path):
        (folder,) = glob.glob(os.path.join(path, "step0", "*", "dump_tensor_data"))
        return folder

    def test_metrics_are_those_of_msprobe(self):
        a, b, rows = self.compare("gpt", "gelu", "tensor", "mix")
        pairs = json.loads(run("diff", "--json", self.values(a), self.values(b), status=1).stdout)["pairs"]
        ours = {pair["a"].removesuffix("/tensor") + ".pt": pair for pair in pairs}
        compared = 0
        for row in rows:
            names = row["Data_name"].strip("[]").replace("'", "").split(", ")
            if number(row["MaxAbsErr"]) is None or names[0] not in ours:
                continue
            pair = ours[names[0]]
            metrics, count = pair["metrics"], math.prod(pair["shape"])
            with self.subTest(name=row["NPU Name"]):
                compared += metrics["max_abs"] > 0
                self.assertAlmostEqual(metrics["max_abs"], number(row["MaxAbsErr"]), delta=1e-12 + 1e-6 * metrics["max_abs"])
                if number(row["Cosine"]) is None:
                    continue  # of single numbers msprobe has no more
                euclidean = metrics["rmse"] * math.sqrt(count)
                self.assertAlmostEqual(euclidean, number(row["EucDist"]), delta=1e-9 + 1e-5 * euclidean)
                self.assertAlmostEqual(metrics["cosine"], number(row["Cosine"]), delta=1e-5)
                # Where the reference is 0 msprobe divides by an epsilon; Plumb leaves such elements out.
                if torch.load(os.path.join(self.values(a), names[0])).count_nonzero() == count:
                    self.assertAlmostEqual(metrics["max_rel"], number(row["MaxRelativeErr"]), delta=1e-6 + 1e-3 * metrics["max_rel"])
                    self.assertAlmostEqual(metrics["within_1e3"], number(row["One Thousandth Err Ratio"]), delta=1e-3 + 1 / count)
                    self.assertAlmostEqual(metrics["within_5e3"], number(row["Five Thousandths Err Ratio"]), delta=1e-3 + 1 / count)
        self.assertGreater(compared, 40)

    def test_statistics_are_those_of_msprobe(self):
        """The differences msprobe's table shows are those of the records, and its verdicts miss the plant."""
        a, b, rows = self.compare("conv", "conv", "statistics", "L1")
        sides = [{(r["origin"], r["slot"]): r["stats"] for r in json.loads(run("show", "--json", path, "--op", "*", "--step", 0).stdout)["records"]
                  if r["stats"]} for path in (a, b)]
        compared = 0
        for row in rows:
            origin, _, slot = row["NPU Name"].rpartition(".output.")
            key = (origin, f"output{slot}")
            if key not in sides[0] or number(row["L2norm diff"]) is None:
                continue
            with self.subTest(name=row["NPU Name"]):
                left, right = sides[0][key], sides[1][key]
                for name, column in (("max", "Max diff"), ("min", "Min diff"), ("mean", "Mean diff"), ("l2", "L2norm diff")):
                    if left[name] is not None:
                        self.assertAlmostEqual(right[name] - left[name], number(row[column]), delta=1e-12 + 1e-6 * abs(left[name]))
                compared += left != right
        self.assertGreater(compared, 10)


if __name__ == "__main__":
    unittest.main()
