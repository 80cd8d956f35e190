"""msprobe's map of operators (api_mapping) pairs the same tensors in `plumb diff --map` as in msprobe's own compare."""
import csv
import glob
import json
import os
import subprocess
import sys

import yaml

from msprobe_dump import op, tensor, write
from plumb_cli import InteropTest, run

ENTRY = {"ms_api": "Primitive.fancy", "pt_api": "NPU.npu_special", "ms_args": [0, 1], "pt_args": [1, 0], "ms_output": [1], "pt_output": [0]}
PAIRS = [("input.0", "input.1"), ("input.1", "input.0"), ("output.1", "output.0")]


def some(norm, shape=(4, 8)):
    return tensor(norm=norm, most=norm / 2, least=-norm / 3, mean=norm / 7, shape=shape)


def network(api, arguments, results, factor=1.0):
    """relu, an op that each framework calls its own way, relu."""
    values = {"x": some(1.0), "weight": some(2.0), "scale": some(9.0, (3,)), "y": some(3.0 * factor), "mask": some(5.0, (2,))}
    return {"Functional.relu.0.forward": op([some(0.5)], [values["x"]]),
            f"{api}.0.forward": op([values[name] for name in arguments], [values[name] for name in results]),
            "Functional.relu.1.forward": op([values["y"]], [some(4.0 * factor)])}


class OperatorMapTest(InteropTest):
    def setUp(self):
        super().setUp()
        theirs = ("NPU.npu_special", ("weight", "x"), ("y",))
        write(self.path("ms"), network("Primitive.fancy", ("x", "weight", "scale"), ("mask", "y")), framework="mindspore")
        write(self.path("pt"), network(*theirs))
        write(self.path("bad"), network(*theirs, factor=1.01))

    def write_map(self, flow):
        with open(self.path("map.yaml"), "w") as file:
            yaml.safe_dump([ENTRY], file, default_flow_style=flow)
        return self.path("map.yaml")

    def diff(self, a, b, *options, status):
        return json.loads(run("diff", "--json", self.path(a), self.path(b), *options, status=status).stdout)

    def test_pairs(self):
        without = self.diff("ms", "pt", status=0)
        self.assertEqual((without["records"], without["only_a"]), (4, ["Primitive.fancy"]))
        for flow in (None, False):  # lists on a line, and below each other
            path = self.write_map(flow)
            for a, b in (("ms", "pt"), ("pt", "ms")):
                found = self.diff(a, b, "--map", path, status=0)
                self.assertEqual((found["records"], found["only_a"], found["only_b"]), (7, [], []))

    def test_origin(self):
        path = self.write_map(None)
        for a, b, name, slot in (("ms", "bad", "Primitive.fancy", "output1"), ("bad", "ms", "NPU.npu_special", "output0")):
            first = self.diff(a, b, "--map", path, status=1)["first"]
            self.assertEqual((first["op"], first["slot"], first["verdict"]), (name, slot, "different"))
            self.assertIn("what it takes are the same", first["reason"])

    def test_msprobe_pairs_the_same(self):
        tool = os.path.join(os.path.dirname(sys.executable), "msprobe")
        dumps = [os.path.join(self.path(name), "step0", "rank0", "dump.json") for name in ("ms", "pt")]
        done = subprocess.run([tool, "compare", "-tp", dumps[0], "-gp", dumps[1], "-o", self.path("compared"), "-am", self.write_map(None)],
                              capture_output=True, text=True)
        self.assertIn("ends successfully", done.stdout + done.stderr)
        (path,) = glob.glob(os.path.join(self.path("compared"), "*.csv"))
        with open(path, encoding="utf-8-sig") as file:
            rows = [(row["NPU Name"], row["Bench Name"]) for row in csv.DictReader(file)]
        mapped = [(a, b) for a, b in rows if a.startswith("Primitive.fancy") and b.startswith("NPU.")]
        self.assertEqual(mapped, [(f"Primitive.fancy.0.forward.{a}", f"NPU.npu_special.0.forward.{b}") for a, b in PAIRS])

    def test_lists_of_other_lengths(self):
        with open(self.path("map.yaml"), "w") as file:
            yaml.safe_dump([{**ENTRY, "pt_args": [1]}], file)
        said = run("diff", self.path("ms"), self.path("pt"), "--map", self.path("map.yaml"), status=2)
        self.assertIn("entry 1 (Primitive.fancy): expected as many", said.stderr.decode())
