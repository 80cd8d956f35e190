"""Level `op`: which operators are seen by which route, and whether what is recorded is what was there."""
import collections
import json
import os
import shutil
import subprocess
import sys
import unittest
from unittest import mock

import numpy
import torch
import torch.nn.functional as F
from torch import nn
from torch.optim.optimizer import register_optimizer_step_pre_hook
from torch.utils._python_dispatch import TorchDispatchMode

from capture_case import PLUMB, CaptureTest, plumb

from plumb import _plumb, torch_ops

# What a dispatch mode changes by being there: the engine adds gradients out of place, reshape chooses another view,
# and torch calls its own detach. torch.tensor() makes its memory where no mode looks; profiler marks have no tensors.
SAME = {"aten::add_.Tensor": "aten::add.Tensor", "aten::_reshape_alias": "aten::view"}
NOT_COMPARED = ("aten::detach", "aten::empty.memory_format", "profiler::")


class Names(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.seen = collections.Counter()

    def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
        schema = function._schema
        self.seen[f"{schema.name}.{schema.overload_name}".rstrip(".")] += 1
        return function(*arguments, **(keywords or {}))


def comparable(seen):
    result = collections.Counter()
    for name, count in seen.items():
        if not name.startswith(NOT_COMPARED):
            result[SAME.get(name, name)] += count
    return result


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(11, 8)
        self.norm = nn.LayerNorm(8)
        self.qkv = nn.Linear(8, 24)
        self.head = nn.Linear(8, 11)

    def forward(self, x, y):
        h = self.tokens(x)
        q, k, v = self.qkv(self.norm(h)).chunk(3, -1)
        a = torch.softmax((q @ k.transpose(1, 2)).masked_fill(torch.ones(5, 5).triu(1).bool(), float("-inf")), -1)
        h = h + F.dropout(a @ v, 0.1)
        return F.cross_entropy(self.head(h).flatten(0, 1), y.flatten())


class Convolutions(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(1, 3, 3, padding=1, bias=False), nn.BatchNorm2d(3), nn.ReLU(inplace=True),
                                  nn.Conv2d(3, 4, 3, stride=2))
        self.head = nn.Linear(4, 3)

    def forward(self, x, y):
        return F.cross_entropy(self.head(self.body(x).mean((2, 3))), y)


class Perceptron(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3))

    def forward(self, x, y):
        return F.mse_loss(self.net(x), y)


def training(kind, **options):
    torch.manual_seed(3)
    model = kind()
    chance = torch.Generator().manual_seed(4)
    if kind is Attention:
        x, y = (torch.randint(11, (2, 5), generator=chance) for _ in range(2))
    elif kind is Convolutions:
        x, y = torch.randn(4, 1, 8, 8, generator=chance), torch.randint(3, (4,), generator=chance)
    else:
        x, y = torch.randn(2, 3, 6, generator=chance), torch.randn(2, 3, 3, generator=chance)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-2, **options)

    def step():
        optimizer.zero_grad()
        loss = model(x, y)
        value = loss.item()  # within the step: what we read of the loss must not be seen beside it
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return value

    return model, step


DTENSORS = """
import json, os, sys, torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Replicate, distribute_module, distribute_tensor
torch.manual_seed(1)
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.Linear(16, 4))
batch = torch.randn(4, 8)
if sys.argv[1] == "wrapped":
    os.environ.update(MASTER_ADDR="localhost", MASTER_PORT="0", RANK="0", WORLD_SIZE="1")
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    mesh = init_device_mesh("cpu", (1,))
    model, batch = distribute_module(model, mesh), distribute_tensor(batch, mesh, [Replicate()])
optimizer = torch.optim.AdamW(model.parameters(), 1e-3, foreach=False)
losses = []
for step in range(3):
    loss = model(batch).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    losses.append(loss.detach())
print(json.dumps([getattr(loss, "_local_tensor", loss).item() for loss in losses]))
if sys.argv[1] == "wrapped":
    dist.destroy_process_group()
"""


class Operators(CaptureTest):
    def route(self, name):
        os.environ["PLUMB_OP_ROUTE"] = name
        self.addCleanup(os.environ.pop, "PLUMB_OP_ROUTE", None)

    def seen_by_plumb(self, kind, **options):
        _, step = training(kind, **options)
        step()
        with self.attached(level="op", steps="1"):
            step()
            _plumb.ops_seen()
            step()
            seen = _plumb.ops_seen()
        return seen

    def test_the_operators_are_those_that_a_dispatch_mode_sees(self):
        for kind in (Attention, Convolutions, Perceptron):
            for options in ({"foreach": False}, {"foreach": True}, {"fused": True}):
                with self.subTest(kind=kind.__name__, **options):
                    _, step = training(kind, **options)
                    step(), step()
                    with Names() as names:
                        step()
                    seen = self.seen_by_plumb(kind, **options)
                    ours, theirs = comparable(seen), comparable(names.seen)
                    self.assertEqual({name: (ours[name], theirs[name]) for name in ours.keys() | theirs.keys()
                                      if ours[name] != theirs[name]}, {})
                    self.assertGreater(sum(seen.values()), 20)
                shutil.rmtree(self.path("run"), ignore_errors=True)

    def assert_values(self, route, save="tensors"):
        self.route(route)
        for kind in (Attention, Convolutions, Perceptron):
            with self.subTest(kind=kind.__name__, route=route):
                plain, step = training(kind)
                losses = [step() for _ in range(3)]
                model, step = training(kind)
                gradients = {}

                def look(optimizer, arguments, keywords):
                    gradients.update((name, p.grad.clone()) for name, p in model.named_parameters())

                with self.attached(level="op", save=save, steps="0-1") as result:
                    again = [step()]
                    hook = register_optimizer_step_pre_hook(look)
                    again.append(step())
                    hook.remove()
                    again.append(step())
                self.assertEqual(again, losses)
                for a, b in zip(plain.parameters(), model.parameters()):
                    self.assertTrue(torch.equal(a, b))
                self.assert_gradients(gradients)
                shutil.rmtree(self.path("run"), ignore_errors=True)

    def assert_gradients(self, gradients):
        saved = numpy.load(self.path("run", "rank0000", "step000001.npz"))
        found = {key: saved[key] for key in saved.files if "/grad:" in key}
        for name, gradient in gradients.items():
            module, _, own = name.rpartition(".")
            keys = [key for key in found if key.startswith(module + ".") and key.endswith(f"/backward/grad:{own}")]
            self.assertEqual(len(keys), 1, (name, sorted(found)))
            self.assertEqual(found[keys[0]].tobytes(), gradient.contiguous().numpy().tobytes(), name)

    def test_gradients_are_what_the_optimizer_gets(self):
        self.assert_values("record-function")

    def test_the_dispatch_mode_records_the_same(self):
        self.assert_values("dispatch-mode")

    def test_saved_values_are_torch_s_to_the_bit(self):
        weight = nn.Parameter(torch.randn(6, 4))
        optimizer = torch.optim.SGD([weight], 0.1)
        kept = {}
        with self.attached(level="op", save="tensors", steps="0"):
            module = nn.Linear(4, 6, dtype=torch.bfloat16)
            x = torch.randn(5, 8, dtype=torch.bfloat16)[:, ::2]
            out = module(x)
            kept["addmm/forward/output0"] = out.detach().view(torch.int16).numpy().tobytes()
            kept["addmm/forward/input1"] = x.contiguous().view(torch.int16).numpy().tobytes()
            ((weight @ weight.t()).sum() + out.float().sum()).backward()
            optimizer.step()
        saved = numpy.load(self.path("run", "rank0000", "step000000.npz"))
        self.assertEqual({key: saved[key].tobytes() for key in kept if key in saved.files}, kept)

    def test_only_what_was_asked_for(self):
        _, step = training(Perceptron)
        with self.attached(level="op", save="tensors", ops="*.addmm") as result:
            step()
        saved = numpy.load(self.path("run", "rank0000", "step000000.npz"))
        self.assertEqual({key.split("/")[0].split("#")[0] for key in saved.files}, {"net.0.addmm", "net.2.addmm"})

    def test_modules_that_are_computed_again_say_so(self):
        from torch.utils.checkpoint import checkpoint
        torch.manual_seed(0)
        first, second = nn.Sequential(nn.Linear(4, 4), nn.Tanh()), nn.Linear(4, 1)
        model = nn.Sequential(first, second)
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        with self.attached(level="op", save="tensors", steps="0"):
            loss = second(checkpoint(first, torch.randn(3, 4), use_reentrant=False)).sum()
            loss.backward()
            optimizer.step()
        saved = numpy.load(self.path("run", "rank0000", "step000000.npz"))
        again = [key for key in saved.files if ".recompute" in key]
        self.assertIn("0.0.addmm.recompute/backward/output0", again)
        self.assertNotIn("0.0.addmm#1/forward/output0", saved.files)

    def test_modules_in_modules_in_modules(self):
        """Three hundred deep, where Python's own limit has to be raised."""
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(5000)
        self.addCleanup(sys.setrecursionlimit, limit)
        model = nn.Linear(2, 2)
        for _ in range(300):
            model = nn.Sequential(model)
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        with self.attached("run", level="op") as result:
            model(torch.ones(3, 2)).sum().backward()
            optimizer.step()
        place = ".".join("0" * 300)
        ops = {(record["op"], record["phase"]) for record in result[0].records()}
        self.assertLessEqual({(f"{place}.addmm", "forward"), (f"{place}.mm", "backward")}, ops)

    def test_a_profiler_sees_what_it_sees_without_plumb(self):
        def profiled(step):
            step(), step()
            with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
                step()
            # Under a dispatch mode, the route of older versions, reshape() makes a view instead of an alias.
            return collections.Counter(event.name.replace("::_reshape_alias", "::view") for event in profile.events())

        plain = profiled(training(Attention)[1])
        with self.attached(level="op"):
            ours = profiled(training(Attention)[1])
        missing = {name: count for name, count in plain.items()
                   if name.startswith("aten::") and ours[name] < count}
        self.assertEqual(missing, {})

    def test_memory_for_a_result_is_no_input(self):
        """What lay there before means nothing: compiled code hands over whatever it finds."""
        for route in ("record-function", "dispatch-mode"):
            with self.subTest(route=route):
                self.route(route)
                model = nn.Linear(2, 2)
                optimizer = torch.optim.SGD(model.parameters(), 0.1)
                with self.attached(route, level="op") as result:
                    model(torch.ones(1, 2)).sum().backward()
                    torch.mul(torch.ones(3), torch.ones(3), out=torch.full((3,), float("nan")))
                    torch.ones(3).mul_(2.0)  # changed in place: this is an input
                    optimizer.step()
                slots = {(r["op"], r["slot"]): r["stats"]["nan"] for r in result[0].records("mul*", 0)}
                self.assertEqual(slots["mul", "output0"], 0)
                self.assertEqual([slot for op, slot in slots if op == "mul"], ["input0", "input1", "output0"])
                self.assertIn(("mul_", "input0"), slots)

    def test_what_numpy_writes_is_seen(self):
        """Nobody says that it writes, and most of an image is black before and after."""
        pixels = numpy.zeros((64, 784), dtype=numpy.float32)
        images = torch.from_numpy(pixels)
        model = nn.Linear(2, 2)
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        with self.attached(level="op") as result:
            loss = model(torch.ones(1, 2)).sum()
            images.sum()
            pixels[numpy.random.default_rng(1).random(pixels.shape) < 0.02] = 2.0
            images.mean()
            loss.backward()
            optimizer.step()
        most = [r["stats"]["max"] for r in result[0].records("*", 0) if r["slot"] == "input0" and r["shape"] == [64, 784]]
        self.assertEqual(most, [0.0, 2.0])

    def assert_weights(self, route):
        self.route(route)
        torch.manual_seed(5)
        model = nn.Sequential(nn.Linear(32, 64, bias=False), nn.Linear(64, 32, bias=False))
        optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
        weights, scanned = [], []

        def step():
            weights.append([numpy.linalg.norm(layer.weight.detach().numpy().astype(float)) for layer in model])
            before = _plumb.ops_counts()["scanned_bytes"] if scanned else 0  # a recording begins in the first
            loss = model(torch.ones(1, 32)).sum()
            scanned.append(_plumb.ops_counts()["scanned_bytes"] - before)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()

        with self.attached(level="op") as result:
            step()
            step()
            with torch.no_grad():
                model[0].weight[3] = 7  # by an operator
            model[1].weight.detach().numpy()[:] *= 2  # and by none
            step()
        found = [[r["stats"]["l2"] for r in result[0].records("*.mm", number)
                  if r["phase"] == "forward" and r["slot"] == "input1"] for number in range(3)]
        for row, expected in zip(found, weights, strict=True):
            numpy.testing.assert_allclose(row, expected, rtol=1e-12)
        size = sum(layer.weight.nbytes for layer in model)
        self.assertEqual([count >= size for count in scanned], [True, False, True], scanned)

    def test_weights_are_looked_at_again_only_if_written(self):
        self.assert_weights("record-function")

    def test_weights_are_looked_at_again_only_if_written_in_a_dispatch_mode(self):
        self.assert_weights("dispatch-mode")

    def test_tensors_that_cannot_be_read_are_passed_over(self):
        weight = nn.Parameter(torch.ones(3))
        optimizer = torch.optim.SGD([weight], 0.1)
        with self.attached(level="op"):
            for _ in range(2):
                torch.eye(3).to_sparse().to_dense()
                torch.ones(3, device="meta") + 1
                torch.func.grad(lambda w: (w * w).sum())(torch.ones(3))
                torch.vmap(torch.sin)(torch.ones(2, 2))
                torch.zeros(0) + 1
                (weight * 2).sum().backward()
                optimizer.step()

    def test_what_an_operator_writes_that_is_not_asked_again(self):
        """Of sequences of different lengths torch shows nothing, and takes its time to say so."""
        weight = nn.Parameter(torch.ones(3))
        optimizer = torch.optim.SGD([weight], 0.1)
        values, factors = torch.ones(20000), torch.ones(20000)
        factors[12345] = 5.0
        with self.attached(level="op") as result:
            loss = (weight * 2).sum()
            loss.backward()
            for _ in range(6):
                torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]).mul_(2.0)
            values.sum()
            values.mul_(factors)
            values.mean()
            optimizer.step()
        if result[0].config()["capture.route"] == "record-function":
            self.assertGreaterEqual(result[0].config()["capture.ops.failed"], 4)
        inputs = {r["op"]: r["stats"]["max"] for r in result[0].records("*", 0) if r["shape"] == [20000] and r["slot"] == "input0"}
        self.assertEqual(inputs["mean"], 5.0)

    def test_what_torch_func_wraps_is_recorded(self):
        """torch throws where its wrappers are asked for their values, which takes milliseconds."""
        weight = nn.Parameter(torch.ones(3))
        optimizer = torch.optim.SGD([weight], 0.1)
        with self.attached(level="op") as result:
            for step in range(6):
                torch.func.grad(lambda w: (w * w).sum())(torch.full((5,), 3.0))
                torch.vmap(lambda row: row.sin() * 2)(torch.full((2, 7), float(step)))
                torch.func.jacrev(torch.exp)(torch.zeros(2))
                (weight * 2).sum().backward()
                optimizer.step()
        run = result[0]
        self.assertEqual(run.config()["capture.ops.failed"], 0)
        self.assertEqual(run.config()["capture.ops.foreign"], 0)
        for step in range(1, 6):  # the recording begins with the first pass backward
            outputs = [(r["op"], r["phase"], r["shape"], r["stats"]["max"]) for r in run.records("*", step) if r["slot"] == "output0"]
            self.assertIn(("mul", "forward", [5], 9.0), outputs)
            self.assertIn(("sin", "forward", [2, 7], float(torch.tensor(float(step)).sin())), outputs)
            self.assertIn(("exp", "forward", [2], 1.0), outputs)
            self.assertIn([3], [shape for op, phase, shape, _ in outputs if op.startswith("mul") and phase == "forward"])

    def test_the_tensors_inside_of_a_dtensor_are_recorded(self):
        program = self.path("train.py")
        with open(program, "w") as file:
            file.write(DTENSORS)
        plain = self.launch(program, "plain", out="plain", options=("--level", "op"))
        losses = subprocess.run([sys.executable, program, "wrapped"], capture_output=True, text=True, check=True).stdout
        self.assertEqual(plain.stdout, losses)
        for number, (name, value) in enumerate((("PLUMB_OP_ROUTE", ""), ("PLUMB_OP_ROUTE", "dispatch-mode"),
                                                ("PLUMB_FORCE_DEVICE", "1"))):
            with self.subTest(**{name: value}):
                out = f"wrapped{number}"
                printed = self.launch(program, "wrapped", out=out, options=("--level", "op"), env=dict(os.environ, **{name: value}))
                self.assertEqual(printed.stdout, losses)
                self.assertNotIn("data pointer", printed.stderr)  # of what torch traces with, which it warns of
                self.assertEqual(list(plumb.load(self.path(out)).series("loss").values()), json.loads(losses))
                ours, theirs = self.forward_and_backward("plain"), self.forward_and_backward(out)
                self.assertEqual(theirs, ours)
                self.assertGreater(len(ours), 10)

    def forward_and_backward(self, name):
        """{place: statistics} of what a step puts out before its optimizer; no two ways of moving tensors are the same."""
        found = {}
        for record in plumb.load(self.path(name)).records("*", 1):
            if record["phase"] in ("forward", "backward") and record["slot"].startswith("output") and "ones" not in record["op"]:
                found[record["op"], record["phase"], record["slot"]] = [record["shape"], record["fingerprint"]]
        return found

    def load_late(self, route):
        """They are known from the next step on; sections of the program's own are looked for once."""
        self.route(route)
        space = "plumb_late_" + route[:6]
        weight = nn.Parameter(torch.ones(3))
        optimizer = torch.optim.SGD([weight], 0.1)
        looked = mock.Mock(side_effect=torch_ops.operators)
        with self.attached(route, level="op") as result, mock.patch.object(torch_ops, "operators", looked):
            for step in range(6):
                if step == 2:
                    library = torch.library.Library(space, "DEF")
                    library.define("twice(Tensor x) -> Tensor")
                    library.impl("twice", lambda x: x * 2, "CPU")
                with torch.profiler.record_function("mine::section"):
                    loss = (weight * 2).sum()
                if step >= 2:
                    getattr(torch.ops, space).twice(weight.detach())
                loss.backward()
                optimizer.step()
        self.assertEqual([record["step"] for record in result[0].records(f"{space}.twice") if record["slot"] == "output0"],
                         [3, 4, 5])
        self.assertLessEqual(looked.call_count, 3)  # the recording begins; the section; the library

    def test_operators_of_a_library_that_is_loaded_later(self):
        self.load_late("record-function")

    def test_operators_of_a_library_that_is_loaded_later_in_a_dispatch_mode(self):
        self.load_late("dispatch-mode")

    def test_numbers_made_on_the_device_are_those_of_the_host(self):
        program = self.path("train.py")
        with open(program, "w") as file:
            file.write("import sys; sys.path.insert(0, %r)\n" % os.path.dirname(os.path.abspath(__file__)) +
                       "import torch, test_torch_ops as t; torch.set_num_threads(1)\n"
                       "step = t.training(t.Attention)[1]; print([step() for _ in range(2)])\n")
        options = ("--level", "op", "--steps", "1")
        printed = [self.launch(program, out=out, options=options, env=dict(os.environ, PLUMB_FORCE_DEVICE=forced)).stdout
                   for out, forced in (("host", "0"), ("device", "1"))]
        self.assertEqual(*printed)
        host, device = (self.prints(name) for name in ("host", "device"))
        self.assertGreater(len(device), 50)
        common = host.keys() & device.keys()
        self.assertEqual([key for key in device.keys() - common if not key[1].endswith("add")], [])  # out of place there
        for key in common:
            ours, theirs = host[key], device[key]
            self.assertEqual(ours["fingerprint"], theirs["fingerprint"], key)
            for name, number in ours["stats"].items():
                if isinstance(number, float):
                    self.assertAlmostEqual(number, theirs["stats"][name], delta=1e-9 * max(1, abs(number)), msg=key)
                else:
                    self.assertEqual(number, theirs["stats"][name], (key, name))

    def prints(self, name):
        done = subprocess.run([PLUMB, "show", self.path(name), "--json", "--op", "*"], capture_output=True, text=True)
        return {(record["phase"], record["op"], record["slot"]): record for record in json.loads(done.stdout)["records"]
                if record["slot"].startswith("output")}


if __name__ == "__main__":
    unittest.main()
