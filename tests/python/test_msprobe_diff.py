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
        self.assertIn("; not compared:", found["summary"])

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
        self.assertIn("; not compared: ops", found["summary"])
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
        self.assertIn("; not compared: ranks, steps on one side only", found["summary"])

    def test_no_operation_in_common(self):
        a = write(self.path("a"), {"Torch.mul.0.forward": op([tensor()], [tensor()])})
        b = write(self.path("b"), {"Torch.cat.0.backward": {"input": [tensor(shape=(3,))], "output": [tensor(shape=(5,))]}})
        self.assert_nothing(a, b, "share no op")


class FrameworksTest(DumpPairTest):
    def test_glue_outside_of_modules(self):
        """The first addition of each is another one: sizes tell, and nothing is blamed on it."""
        def glue(prefix, sizes):
            data = {f"Tensor.__add__.{i}.forward": op([tensor(shape=(size,))], [tensor(norm=5.0 + size, shape=(size,))])
                    for i, size in enumerate(sizes)}
            data[f"{prefix}.net.fc.Linear.forward.0"] = op([tensor(norm=1.0)], [tensor(norm=2.0)])
            return data
        a = write(self.path("a"), glue("Module", (2, 7)), framework="pytorch")
        b = write(self.path("b"), glue("Cell", (10, 7)), framework="mindspore")
        found = self.pair(a, b, status=0)
        self.assertIsNone(found["first"], found["first"])
        self.assertEqual((found["only_a"], found["only_b"]), (["Tensor.__add__"], ["Tensor.__add__"]))
        c = write(self.path("c"), glue("Module", (10, 7)), framework="pytorch")
        self.assert_first(self.pair(a, c, status=1), "Tensor.__add__", "different")


class FirstNanTest(InteropTest):
    """Four ranks that reduce in two pairs and then all together: msprobe looks at the first pair only."""

    def reduce(self, group, taken, made):
        return {"input_args": [taken], "output": [made],
                "input_kwargs": {"group": {"type": "torch.ProcessGroup", "group_ranks": group, "group_id": "%08x" % sum(group)}}}

    def rank(self, rank, origin, nested):
        good, bad = tensor(), tensor(norm=NAN, most=NAN, least=NAN, mean=NAN)
        mine = bad if rank == origin else good
        made = [[mine]] if nested else [mine]  # nested values are passed over by msprobe
        pair = [rank // 2 * 2, rank // 2 * 2 + 1]
        paired = bad if origin in pair else good
        return {"Torch.matmul.0.forward": op([good], [good]),
                "Distributed.all_reduce.0.forward": self.reduce(pair, good, good),
                "Torch.matmul.1.forward": op([good], made),
                "Distributed.all_reduce.1.forward": self.reduce(pair, mine, paired),
                "Torch.add.0.forward": op([paired], [paired]),
                "Distributed.all_reduce.2.forward": self.reduce([0, 1, 2, 3], paired, bad),
                "Torch.add.1.forward": op([bad], [bad])}

    def test_origin_on_each_rank(self):
        for nested in (False, True):
            for origin in range(4):
                with self.subTest(origin=origin, nested=nested):
                    folder = self.path(f"dump-{nested}-{origin}")
                    for rank in range(4):
                        write(folder, self.rank(rank, origin, nested), rank=f"rank{rank}")
                    found = json.loads(run("nan", "--json", folder, status=1).stdout)["origin"]
                    self.assertEqual((found["rank"], found["op"]), (origin, "Torch.matmul#1"))


class VersionsTest(DumpPairTest):
    """Dumps of msprobe 8 beside those of 26, and files that say things twice."""

    def layer(self, gradients, weight=5.0, **more):
        return {"Functional.linear.0.forward": {**op([tensor(norm=1.0)], [tensor(norm=2.0)]), **more},
                "Module.fc.Linear.forward.0": op([tensor(norm=1.0)], [tensor(norm=2.0)], parameters={"weight": tensor(norm=3.0)}),
                gradients: {"weight": [tensor(norm=weight)]}}

    def test_old_and_new_forms(self):
        """No framework, no number behind parameters_grad, is_recompute; frames by name in stack.json."""
        a = write(self.path("a"), self.layer("Module.fc.Linear.parameters_grad", is_recompute=False), framework=None)
        with open(os.path.join(a, "step0", "rank0", "stack.json"), "w") as file:
            json.dump({"Functional.linear.0.forward": ["File train.py, line 1, in f, \n x"]}, file)
        b = write(self.path("b"), self.layer("Module.fc.Linear.parameters_grad.0"))
        found = self.pair(a, b, status=0)
        self.assertEqual((found["first"], found["only_a"], found["only_b"]), (None, [], []))
        c = write(self.path("c"), self.layer("Module.fc.Linear.parameters_grad.0", weight=6.0))
        self.assert_first(self.pair(a, c, status=1), "fc.Linear", "different", "backward")

    def test_gradients_count_on_in_the_next_step(self):
        a = write(self.path("a"), self.layer("Module.fc.Linear.parameters_grad.0"), step=0)
        b = write(self.path("b"), self.layer("Module.fc.Linear.parameters_grad.1"), step=1)
        self.assertEqual(self.pair(a, b, status=0)["only_b"], [])

    def test_names_that_come_twice(self):
        """JSON with a key twice, as two processes that write one file leave it: both are read, and that is said."""
        def twice(name, second):
            folder = write(self.path(name), {"Torch.mul.0.forward": op([tensor(norm=1.0)], [tensor()]), "TWICE": second})
            path = os.path.join(folder, "step0", "rank0", "dump.json")
            with open(path) as file:
                text = file.read().replace("TWICE", "Torch.mul.0.forward")
            with open(path, "w") as file:
                file.write(text)
            return folder
        a, b = twice("a", op([tensor(norm=1.0)], [tensor()])), twice("b", op([tensor(norm=1.0)], [tensor(norm=9.0)]))
        found = self.pair(a, b, status=1)
        self.assert_first(found, "Torch.mul", "different")
        self.assertIn("have the name of an earlier one", " ".join(found["warnings"]))
        self.assertEqual(self.pair(a, a, status=0)["verdict"], "identical")

    def test_names_too_long_for_a_file(self):
        """msprobe leaves out tensors whose path is too long: their statistics are compared, and that is said."""
        name = "Module." + "deep." * 60 + "Linear.forward.0"
        made = tensor(norm=2.0, data_name=name + ".output.0.pt")
        other = tensor(norm=2.5, data_name=name + ".output.0.pt")
        a = write(self.path("a"), {name: op([tensor(norm=1.0)], [made])}, task="tensor")
        b = write(self.path("b"), {name: op([tensor(norm=1.0)], [other])}, task="tensor")
        for folder in (a, b):
            os.makedirs(os.path.join(folder, "step0", "rank0", "dump_tensor_data"))
        found = self.pair(a, b, status=1)
        self.assertEqual(found["values_lost"], 1)
        self.assert_first(found, "deep." * 59 + "deep.Linear", "different")

    def test_cut_at_every_line(self):
        whole = write(self.path("a"), chain([tensor(norm=2.0 + i) for i in range(4)]))
        path = os.path.join(whole, "step0", "rank0", "dump.json")
        with open(path) as file:
            lines = file.read().splitlines(keepends=True)
        cut = write(self.path("b"), {})
        for count in range(8, len(lines), 7):
            with open(os.path.join(cut, "step0", "rank0", "dump.json"), "w") as file:
                file.write("".join(lines[:count]))
            said = run("diff", "--json", whole, cut, status=None)
            self.assertIn(said.returncode, (1, 2), count)
            if said.returncode == 1:
                found = json.loads(said.stdout)
                self.assertEqual(found["verdict"], "incomplete", count)
                self.assertIn("; not compared:", found["summary"], count)
                self.assertTrue(any("cut off" in warning for warning in found["warnings"]), count)


@unittest.skipUnless(os.path.isdir(os.environ.get("PLUMB_MSPROBE_DATA", "")), "PLUMB_MSPROBE_DATA names no folder of real dumps")
class RealDumpsTest(DumpPairTest):
    """Dumps that are too large to keep here: folders msprobe (the tool's own samples) and msprobe_26_2."""
    real = os.environ.get("PLUMB_MSPROBE_DATA", "")

    def test_statistics(self):
        pair = [os.path.join(self.real, "msprobe_26_2", name) for name in ("stat_base", "stat_fault")]
        self.assert_first(self.pair(*pair, status=1), "blocks.2.act.Functional.gelu")
        self.assertEqual(len(self.pair(*pair)["roots"]), 1)

    def test_values(self):
        shutil.unpack_archive(os.path.join(self.real, "msprobe_26_2", "tensor_pair.tar.gz"), self.path("unpacked"))
        found = self.pair(*(os.path.join(self.path("unpacked"), name) for name in ("tensor_base", "tensor_fault")), status=1)
        self.assert_first(found, "Functional.gelu#1", "different")
        self.assertIn("only index 0 of axis 1", found["first"]["reason"])

    def test_frameworks(self):
        """PyTorch and MindSpore agree in all statistics; glue between the modules differs."""
        pair = [os.path.join(self.real, "msprobe", "cross_framework", name) for name in ("pytorch_data", "mindspore_data")]
        found = self.pair(*pair, status=0)
        self.assertIsNone(found["first"], found["first"])
        self.assertGreater(found["records"], 18)

    def test_steps(self):
        steps = [os.path.join(self.real, "msprobe", "resnet50_gpu", f"step{i}") for i in range(2)]
        found = self.pair(*steps, status=1)
        self.assert_first(found, "conv1.Functional.conv2d", "different", "data")
        self.assertEqual((found["only_a"], found["only_b"]), ([], []))


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

    def test_infinities_of_other_signs_at_one_place(self):
        values, other = self.outputs(), self.outputs()
        values[1][2, 3], other[1][2, 3] = INF, -INF
        a = self.saved("a", values)
        found = self.pair(a, self.saved("b", other), status=1)
        self.assert_first(found, "Functional.relu#1", "different")
        self.assertEqual(found["first"]["basis"], "values")
        self.assertIsNone(self.pair(a, self.saved("c", values), status=0)["first"])

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
