"""Dumps that msprobe writes are read, and it takes what Plumb writes for it."""
import csv
import glob
import json
import math
import os
import subprocess
import sys
import unittest

from plumb_cli import ROOT, InteropTest, run, show

try:
    import msprobe  # noqa: F401
except ImportError:
    msprobe = None

TRAIN = """
import json, os, sys
import torch, torch.nn as nn, torch.nn.functional as F
out, task, level, summary = sys.argv[1:5]
os.makedirs(out)
settings = {"scope": [], "list": [], "data_mode": ["all"]}
if task == "statistics":
    settings["summary_mode"] = summary
config = os.path.join(out, "config.json")
json.dump({"task": task, "dump_path": out, "rank": [], "step": [0, 1], "level": level, task: settings}, open(config, "w"))
from msprobe.pytorch import PrecisionDebugger
debugger = PrecisionDebugger(config_path=config)
torch.manual_seed(1)
net = nn.Sequential(nn.Embedding(10, 8), nn.LayerNorm(8), nn.Linear(8, 8), nn.GELU(), nn.Linear(8, 10))
optimizer = torch.optim.SGD(net.parameters(), 0.1)
for step in range(2):
    debugger.start(model=net)
    loss = F.cross_entropy(net(torch.arange(6)), torch.arange(6))
    if step == 1:
        loss = loss * float("nan")
    loss.backward()
    debugger.stop()
    debugger.step()
    optimizer.step()
"""


def leaves(value):
    """Tensors of an operation in the order of the file."""
    if isinstance(value, dict):
        if isinstance(value.get("type"), str):
            if "shape" in value:
                yield value
            return
        value = value.values()
    elif not isinstance(value, list):
        return
    for item in value:
        yield from leaves(item)


def number(value):
    return math.nan if value is None else float(value)


@unittest.skipUnless(msprobe, "msprobe is not installed")
class MsprobeTest(InteropTest):
    def dump(self, task, level, summary="statistics"):
        script, out = self.path("train.py"), self.path(f"{task}-{level}-{summary}")
        with open(script, "w") as file:
            file.write(TRAIN)
        done = subprocess.run([sys.executable, script, out, task, level, summary], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return out

    def assert_same(self, out, records, step):
        """Every tensor in dump.json is a record with the same numbers, in the same order."""
        (path,) = glob.glob(os.path.join(out, f"step{step}", "*", "dump.json"))
        with open(path) as file:
            data = json.load(file)["data"]
        want = [(name, leaf) for name, op in data.items() for leaf in leaves(op)]
        got = [r for r in records if r["step"] == step and r["stats" if "stats" in r else "fingerprint"] is not None]
        got = [r for r in got if r.get("stats", {}).get("partial", "stats" not in r)]
        self.assertEqual(len(got), len(want))
        for record, (name, leaf) in zip(got, want):
            self.assertEqual((record["origin"], record["shape"]), (name, leaf["shape"]))
            if leaf.get("md5"):
                self.assertEqual(int(record["fingerprint"], 16), int(leaf["md5"], 16))
                self.assertEqual(record["fingerprint_kind"], "crc32")
            for ours, theirs in (("max", "Max"), ("min", "Min"), ("mean", "Mean"), ("l2", "Norm")):
                if theirs not in leaf:
                    continue
                value = number(leaf[theirs])
                if math.isfinite(value):
                    self.assertEqual(record["stats"][ours], value, f"{name} {theirs}")
                else:
                    self.assertIsNone(record["stats"][ours], f"{name} {theirs}")
        return want

    def test_statistics(self):
        out = self.dump("statistics", "mix")
        records = show(out, "--op", "*")["records"]
        self.assertGreater(len(self.assert_same(out, records, 0)), 20)
        self.assert_same(out, records, 1)
        self.assertEqual(show(out)["warnings"], [])
        found = json.loads(run("nan", "--json", out, status=1).stdout)
        self.assertEqual((found["origin"]["step"], found["origin"]["op"]), (1, "Tensor.__mul__"))

    def test_hashes(self):
        out = self.dump("statistics", "L1", "md5")
        self.assert_same(out, show(out, "--op", "*")["records"], 0)

    def test_values(self):
        out = self.dump("tensor", "L1")
        records = show(out, "--op", "*")["records"]
        self.assert_same(out, records, 0)
        self.assertTrue(all(r["saved"] for r in records if r["stats"].get("partial")))
        again = self.path("again")  # through Plumb and back, read by msprobe
        run("export", out, "--msprobe", again)
        rows = self.compare(os.path.join(again, "step0"), os.path.join(again, "step0"))
        self.assertTrue(all(row["Result"] == "pass" for row in rows))
        self.assertTrue(all(float(row["MaxAbsErr"]) == 0 for row in rows if row["MaxAbsErr"] not in ("", "unsupported", "N/A")))

    def compare(self, target, golden):
        out = self.path("compared")
        os.makedirs(out, exist_ok=True)
        tool = os.path.join(os.path.dirname(sys.executable), "msprobe")
        done = subprocess.run([tool, "compare", "-tp", target, "-gp", golden, "-o", out], capture_output=True, text=True)
        self.assertIn("ends successfully", done.stdout + done.stderr)
        (path,) = glob.glob(os.path.join(out, "*.csv"))
        with open(path, encoding="utf-8-sig") as file:
            rows = list(csv.DictReader(file))
        os.remove(path)
        return rows

    def test_export(self):
        lab = os.path.join(ROOT, "build", "lab")
        dumps = []
        for name, seed in (("a", "1"), ("b", "2")):
            subprocess.run([lab, "train", "--steps", "1", "--seed", seed, "--save", "tensors", "--out", self.path(name)],
                           check=True, capture_output=True)
            run("export", self.path(name), "--msprobe", self.path(name + "-dump"))
            dumps.append(os.path.join(self.path(name + "-dump"), "step0"))
        rows = self.compare(*dumps)
        recorded = show(self.path("a"), "--op", "*")["records"]
        self.assertEqual(len(rows), len(recorded))
        norms = {}
        for record in show(self.path("a-dump"), "--op", "*")["records"]:
            norms[(record["origin"], record["slot"])] = record["stats"]["l2"]
        self.assertEqual(sorted(norms.values()), sorted(record["stats"]["l2"] for record in recorded))
        self.assertTrue(any(row["Cosine"] not in ("1.0", "unsupported") for row in rows))


if __name__ == "__main__":
    unittest.main()
