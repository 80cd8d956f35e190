"""Two msprobe dumps are compared as far as they can be, what cannot be is named, and nothing is called
the same that was not compared. Each case is a known way of msprobe's own compare to go wrong or a dump
that was damaged."""
import json
import os
import shutil
import unittest

import torch

from msprobe_dump import INF, NAN, chain, hashed, number, op, tensor, write
from plumb_cli import InteropTest, run


class DumpPairTest(InteropTest):
    def pair(self, a, b, status=None):
        """What `plumb diff --json` says of two sets of operations, or of two folders."""
        paths = [write(self.path(name), data) if isinstance(data, dict) else data for name, data in (("a", a), ("b", b))]
        return json.loads(run("diff", "--json", *paths, status=status).stdout)

    def assert_first(self, found, op_name, verdict=None, phase=None):
        self.assertIsNotNone(found["first"], found["summary"])
        self.assertEqual(found["first"]["op"], op_name, found["first"])
        if verdict:
            self.assertEqual(found["verdict"], verdict, found["first"])
        if phase:
            self.assertEqual(found["first"]["phase"], phase, found["first"])


class SilentAnswersTest(DumpPairTest):
    """What compare, first-diff and the verdict column of msprobe pass over without a word."""

    def test_equal_statistics_are_not_called_equal_values(self):
        found = self.pair(chain([tensor()] * 3), chain([tensor()] * 3), status=0)
        self.assertIn("values not compared", found["summary"])
        self.assertEqual(found["same_by_statistics"], found["records"])

    def test_nan_on_one_side(self):
        for least in (NAN, -1.5):  # some versions skip NaN in Max and Min
            bad = tensor(norm=NAN, most=least if least != least else 1.5, least=least, mean=NAN)
            found = self.pair(chain([tensor(), tensor()]), chain([tensor(), bad]), status=1)
            self.assert_first(found, "Functional.relu#1", "different")
            found = self.pair(chain([tensor(), bad]), chain([tensor(), tensor()]), status=1)
            self.assert_first(found, "Functional.relu#1", "different")

    def test_infinity_of_the_other_sign(self):
        up, down = tensor(norm=INF, most=INF, mean=INF), tensor(norm=INF, least=-INF, mean=-INF)
        found = self.pair(chain([tensor(), up]), chain([tensor(), down]), status=1)
        self.assert_first(found, "Functional.relu#1", "different")

    def test_infinity_on_one_side(self):
        found = self.pair(chain([tensor(), tensor()]), chain([tensor(), tensor(norm=INF, most=INF, mean=INF)]), status=1)
        self.assert_first(found, "Functional.relu#1", "different")

    def test_both_not_finite_is_the_same(self):
        bad = tensor(norm=NAN, most=NAN, least=NAN, mean=NAN)
        self.assertIsNone(self.pair(chain([tensor(), bad]), chain([tensor(), bad]), status=0)["first"])

    def test_statistics_that_were_not_computed(self):
        """Integers and float64 have Max and Min only since 26: these still tell."""
        for dtype in ("int64", "float64", "bool"):
            def made(most):
                return tensor(norm=None, mean=None, most=most, least=0, dtype=dtype)
            found = self.pair(chain([tensor(), made(7)]), chain([tensor(), made(9)]), status=1)
            self.assert_first(found, "Functional.relu#1")
            self.assertIsNone(self.pair(chain([tensor(), made(7)]), chain([tensor(), made(7)]), status=0)["first"])

    def test_statistic_on_one_side_only(self):
        """An older version computed the mean of integers, a newer does not: no difference."""
        old, new = tensor(dtype="int64"), tensor(dtype="int64", mean=None, norm=None)
        self.assertIsNone(self.pair(chain([old, tensor()]), chain([new, tensor()]), status=0)["first"])

    def test_tensors_without_any_number_are_named(self):
        """fp8, meta and other tensors have no statistics at all."""
        empty = tensor(norm=None, most=None, least=None, mean=None)
        found = self.pair(chain([tensor(), empty]), chain([tensor(), empty]), status=0)
        self.assertEqual(found["not_compared"], 1)
        self.assertIn("not compared", found["summary"])

    def test_weight_on_one_side_only(self):
        def layer(*names):
            return {"Module.fc.Linear.forward.0": op([tensor()], [tensor()], parameters={n: tensor(shape=(8,)) for n in names})}
        for a, b in ((("weight", "bias"), ("weight",)), (("weight",), ("weight", "bias")), ((), ("weight",))):
            found = self.pair(layer(*a), layer(*b), status=1)
            self.assert_first(found, "fc.Linear", "different", "weights")

    def test_operations_of_the_reference_only_are_listed(self):
        long, short = chain([tensor(norm=2.0 + i) for i in range(4)]), chain([tensor(norm=2.0 + i) for i in range(3)])
        found = self.pair(long, short)
        self.assertEqual((found["only_a"], found["only_b"]), (["Functional.relu#3"], []))
        self.assertIn("not compared: ops", found["summary"])
        self.assertEqual(self.pair(short, long)["only_b"], ["Functional.relu#3"])

    def test_cast_that_was_not_dumped(self):
        """`to` and `half` are not in a default dump: that something lies between is seen all the same."""
        cast = tensor(norm=4.0156, most=1.5078, least=-1.5, mean=0.2508, dtype="bfloat16")
        a = {"Torch.mul.0.forward": op([tensor(norm=1.0)], [tensor()]), "Torch.add.0.forward": op([tensor()], [tensor(norm=5.0)])}
        b = {"Torch.mul.0.forward": op([tensor(norm=1.0)], [tensor()]), "Torch.add.0.forward": op([cast], [tensor(norm=5.1)])}
        found = self.pair(a, b)
        self.assert_first(found, "Torch.add")
        self.assertIn("(f32 in A, bf16 in B)", found["first"]["reason"])
        self.assertIn("not what the op before it made", found["first"]["reason"])
        self.assertEqual(found["other_types"], 1)

    def test_argument_that_differs(self):
        def norm(eps):
            return {"Functional.layer_norm.0.forward": op([tensor(norm=1.0), number(eps)], [tensor()])}
        found = self.pair(norm(1e-5), norm(1e-3), status=1)
        self.assertEqual(found["first"]["slot"], "input1")

    def test_error_below_the_limits_of_the_verdict_column(self):
        """+0.03 % in the norm of one output: under every limit of msprobe, and the origin."""
        a = chain([tensor(norm=7.0 + i, mean=0.1 * i) for i in range(8)])
        b = chain([tensor(norm=(7.0 + i) * (1.0003 if i >= 3 else 1), mean=0.1 * i) for i in range(8)])
        self.assert_first(self.pair(a, b, status=1), "Functional.relu#3")


class DamagedPairsTest(DumpPairTest):
    def test_one_step_each_is_compared(self):
        a = write(self.path("a"), chain([tensor()] * 2), step=3)
        b = write(self.path("b"), chain([tensor(), tensor(norm=5.0)]), step=7)
        found = self.pair(a, b, status=1)
        self.assert_first(found, "Functional.relu#1")
        self.assertEqual(found["step_shift"], 4)

    def test_one_rank_each_is_compared(self):
        a = write(self.path("a"), chain([tensor()] * 2), rank="rank1")
        b = write(self.path("b"), chain([tensor(), tensor(norm=5.0)]), rank="rank6")
        self.assert_first(self.pair(a, b, status=1), "Functional.relu#1")

    def assert_nothing(self, a, b, words):
        said = run("diff", a, b, status=2)
        self.assertEqual(said.stdout, b"")
        self.assertIn(words, said.stderr.decode())

    def test_no_step_in_common(self):
        for name, steps in (("a", (0, 1)), ("b", (2, 3))):
            for step in steps:
                write(self.path(name), chain([tensor()]), step=step)
        self.assert_nothing(self.path("a"), self.path("b"), "no step in common")

    def test_no_rank_in_common(self):
        for name, ranks in (("a", (0, 1)), ("b", (2, 3))):
            for rank in ranks:
                write(self.path(name), chain([tensor()]), rank=f"rank{rank}")
        self.assert_nothing(self.path("a"), self.path("b"), "no rank in common")

    def test_hashes_against_statistics(self):
        a, b = write(self.path("a"), chain([tensor()] * 2)), write(self.path("b"), chain([hashed("0a0b0c0d")] * 2, hashed("1")))
        self.assert_nothing(a, b, "not of one kind")

    def test_hashes(self):
        same = chain([hashed("0a0b0c0d"), hashed("01020304")], hashed("1"))
        other = chain([hashed("0a0b0c0d"), hashed("01020305")], hashed("1"))
        found = self.pair(same, same, status=0)
        self.assertEqual(found["same_by_statistics"], 0)
        self.assertIn("no difference", found["summary"])
        self.assert_first(self.pair(same, other, status=1), "Functional.relu#1")

    def test_missing_ranks_and_steps(self):
        for rank in range(3):
            for step in range(3):
                write(self.path("a"), chain([tensor()] * 2), step=step, rank=f"rank{rank}")
                if rank != 1 and step != 1:
                    write(self.path("b"), chain([tensor()] * 2), step=step, rank=f"rank{rank}")
        found = self.pair(self.path("a"), self.path("b"), status=0)
        self.assertEqual((found["ranks"], found["ranks_only_a"], found["steps_only_a"]), (2, 1, 2))
        self.assertIn("not compared: ranks, steps on one side only", found["summary"])

    def test_no_operation_in_common(self):
        a = write(self.path("a"), {"Torch.mul.0.forward": op([tensor()], [tensor()])})
        b = write(self.path("b"), {"Torch.cat.0.backward": {"input": [tensor(shape=(3,))], "output": [tensor(shape=(5,))]}})
        self.assert_nothing(a, b, "share no op")


class SavedValuesTest(DumpPairTest):
    def saved(self, name, values):
        """A tensor dump of one chain; the values of each output."""
        data = chain([tensor(norm=float(v.norm()), most=float(v.max()), least=float(v.min()), mean=float(v.mean()),
                             shape=v.shape, data_name=f"Functional.relu.{i}.forward.output.0.pt") for i, v in enumerate(values)])
        for i in range(1, len(values)):
            data[f"Functional.relu.{i}.forward"]["input_args"] = [dict(data[f"Functional.relu.{i - 1}.forward"]["output"][0])]
        folder = write(self.path(name), data, task="tensor")
        place = os.path.join(folder, "step0", "rank0", "dump_tensor_data")
        os.makedirs(place, exist_ok=True)
        for i, v in enumerate(values):
            torch.save(v, os.path.join(place, f"Functional.relu.{i}.forward.output.0.pt"))
        return folder

    def outputs(self):
        return [torch.arange(24, dtype=torch.float32).reshape(4, 6) * (i + 1) for i in range(3)]

    def test_equal_statistics_of_other_values(self):
        values = self.outputs()
        other = self.outputs()
        other[1] = other[1].flip(0)  # every statistic stays
        a = self.saved("a", values)
        found = self.pair(a, self.saved("b", other), status=1)
        self.assert_first(found, "Functional.relu#1", "different")
        self.assertEqual(found["first"]["basis"], "values")
        same = self.pair(a, self.saved("c", values), status=0)
        self.assertEqual(same["same_by_statistics"], 1)  # the first input, which was not saved

    def test_missing_and_damaged_files_are_counted(self):
        a, b = self.saved("a", self.outputs()), self.saved("b", self.outputs())
        place = os.path.join(b, "step0", "rank0", "dump_tensor_data")
        os.remove(os.path.join(place, "Functional.relu.1.forward.output.0.pt"))
        with open(os.path.join(place, "Functional.relu.2.forward.output.0.pt"), "r+b") as file:
            file.truncate(300)
        found = self.pair(a, b, status=0)
        self.assertGreaterEqual(found["values_lost"], 2)
        self.assertGreater(found["same_by_statistics"], 0)
        self.assertIn("values not compared", found["summary"])

    def test_values_against_statistics(self):
        a, values = self.saved("a", self.outputs()), self.outputs()
        values[2] = values[2] * 1.5
        b = self.saved("b", values)
        shutil.rmtree(os.path.join(b, "step0", "rank0", "dump_tensor_data"))
        found = self.pair(a, b, status=1)
        self.assert_first(found, "Functional.relu#2", "different")
        self.assertEqual(found["first"]["basis"], "statistics")


if __name__ == "__main__":
    unittest.main()
