"""The same networks in torch and MindSpore: `plumb diff` finds the pairs itself, and the one thing that is planted.

Both sides are recorded once, op by op and module by module; every case is one comparison.
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
PLUMB = os.path.join(ROOT, "build", "plumb")

REFERENCES = ["mlp", "cnn", "block", "mlp:accumulate"]
# what runs -> {level: (phase, op, step, words in the answer)}
FAULTS = {
    "mlp:bias": dict(op=("weights", "first.parameters", 0, "in A only"),
                     module=("weights", "first.Linear", 0, "in A only")),
    "mlp:dropout": dict(op=("forward", "drop.Dropout", 0, "A has no such op"),
                        module=("forward", "drop.Dropout", 0, "A has no such op")),
    "mlp:transposed": dict(op=("weights", "second.parameters", 0, "transposed"),
                           module=("weights", "second.Linear", 0, "transposed")),
    "mlp:scaled": dict(op=("forward", "loss", 0, "B is 2 times A"), module=("forward", "loss", 0, "B is 2 times A")),
    "mlp:average": dict(op=("update", "div_", 0, "B is 2 times A"),
                        module=("update", "first.weight.update", 0, "B is 2 times A")),
    "cnn:bias": dict(op=("weights", "two.parameters", 0, "in A only"),
                     module=("weights", "two.Conv2d", 0, "in A only")),
    "cnn:eps": dict(op=("forward", "norm_two.native_batch_norm", 0, "eps is 1e-05 in A and 0.001 in B"),
                    module=("forward", "norm_two.BatchNorm2d", 0, "eps is 1e-05 in A and 0.001 in B")),
    "cnn:momentum": dict(op=("forward", "norm_one.native_batch_norm", 1, "momentum is 0.1 in A and 0.9 in B"),
                         module=("forward", "norm_one.BatchNorm2d", 1, "momentum is 0.1 in A and 0.9 in B")),
    "block:eps": dict(op=("forward", "between.native_layer_norm", 0, "eps is 1e-05 in A and 0.01 in B"),
                      module=("forward", "between.LayerNorm", 0, "eps is 1e-05 in A and 0.01 in B")),
    "block:gelu": dict(op=("forward", "gelu", 0, ""), module=("forward", "act.GELU", 0, "")),
    "block:dropout": dict(op=("forward", "drop.Dropout", 0, "p is 0 in A and 0.1 in B"),
                          module=("forward", "drop.Dropout", 0, "p is 0 in A and 0.1 in B")),
    "block:contiguous": dict(op=("forward", "attention.out.addmm", 0, "order"),
                             module=("forward", "attention.out.Linear", 0, "order")),
    "block:transposed": dict(op=("weights", "attention.key.parameters", 0, "transposed"),
                             module=("weights", "attention.key.Linear", 0, "transposed")),
}
LEVELS = ("op", "module")


def record(folder, side, level, wanted):
    environment = dict(os.environ, PYTHONPATH=os.path.join(ROOT, "python"))
    done = subprocess.run([sys.executable, os.path.join(HERE, f"{side}_side.py"), folder, level, *wanted],
                          capture_output=True, text=True, env=environment, timeout=300)
    if done.returncode:
        raise AssertionError(f"{side}, {level}: exit {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-4000:]}")


class CrossFramework(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        os.makedirs(os.path.join(ROOT, "build", "tmp"), exist_ok=True)
        cls.place = tempfile.TemporaryDirectory(dir=os.path.join(ROOT, "build", "tmp"))
        cls.addClassCleanup(cls.place.cleanup)
        for level in LEVELS:
            record(cls.place.name, "torch", level, REFERENCES)
            record(cls.place.name, "mindspore", level, REFERENCES + list(FAULTS) + ["mlp:renamed"])

    def run_of(self, side, level, name):
        return os.path.join(self.place.name, f"{side}-{level}-{name.replace(':', '-')}")

    def diff(self, level, name, *options, swapped=False):
        reference = name if name in REFERENCES else "mlp:accumulate" if name == "mlp:average" else name.split(":")[0]
        sides = [self.run_of("torch", level, reference), self.run_of("mindspore", level, name)]
        sides = sides[::-1] if swapped else sides
        done = subprocess.run([PLUMB, "diff", "--json", *options, *sides], capture_output=True, text=True)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return done.returncode, json.loads(done.stdout)

    def test_the_same_network_differs_by_rounding(self):
        for level in LEVELS:
            for name in REFERENCES:
                for swapped in (False, True):
                    with self.subTest(network=name, level=level, swapped=swapped):
                        status, answer = self.diff(level, name, swapped=swapped)
                        self.assertEqual((answer["verdict"], status), ("rounding", 0), answer["summary"])

    def test_names_of_its_own_are_found_and_written(self):
        for level in LEVELS:
            with self.subTest(level=level):
                written = os.path.join(self.place.name, f"{level}.yaml")
                status, answer = self.diff(level, "mlp:renamed", "--write-map", written)
                self.assertEqual((answer["verdict"], status), ("rounding", 0), answer["summary"])
                with open(written, encoding="utf-8") as file:
                    lines = file.read().splitlines()
                self.assertIn("entry.Dense: first.Linear" if level == "module" else "entry.BiasAdd: first.addmm", lines)
                self.assertEqual(self.diff(level, "mlp:renamed", "--map", written)[0], 0)

    def paired_by_other_means(self, *options, swapped):
        """How many ops were not paired by name, as the report says."""
        sides = [self.run_of("torch", "module", "mlp"), self.run_of("mindspore", "module", "mlp:renamed")]
        done = subprocess.run([PLUMB, "diff", *options, *(sides[::-1] if swapped else sides)], capture_output=True,
                              text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return int(re.search(r"(\d+) ops are called differently", done.stdout)[1])

    def test_a_layer_map_is_followed(self):
        written = os.path.join(self.place.name, "layers.yaml")
        with open(written, "w", encoding="utf-8") as file:
            file.write("TopLayer:\n  entry: first\n  middle.dense: second\n  leave: head\n")
        for swapped in (False, True):
            with self.subTest(swapped=swapped):
                self.assertLess(self.paired_by_other_means("--map", written, swapped=swapped),
                                self.paired_by_other_means(swapped=swapped))

    def test_what_is_planted_is_the_first_root(self):
        for name, levels in FAULTS.items():
            for level, (phase, op, step, words) in levels.items():
                with self.subTest(fault=name, level=level):
                    status, answer = self.diff(level, name)
                    first = answer["first"]
                    self.assertIn(answer["verdict"], ("different", "approximation"), answer["summary"])
                    self.assertEqual((first["phase"], first["op"], first["step"]), (phase, op, step), first["reason"])
                    self.assertIn(words, first["reason"])
                    self.assertEqual(status, 1)


if __name__ == "__main__":
    unittest.main()
