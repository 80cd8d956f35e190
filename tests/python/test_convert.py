"""Files that Plumb writes, opened by the real libraries."""
import os

import ml_dtypes
import mindspore as ms
import numpy as np
import safetensors.torch
import torch

from plumb_cli import (BITS, NUMPY_DTYPES, TORCH_DTYPES, Expected, InteropTest, diff, of_numpy, of_torch, random_array,
                       run, show)

NUMPY_OF = {v: np.dtype(k) for k, v in NUMPY_DTYPES.items() if v not in BITS}
NUMPY_OF.update({k: np.dtype(v) for k, v in BITS.items()})
MINDSPORE_LACKS = {"f8e4m3", "f8e5m2", "c64", "c128"}


def load_npz(path):
    found = {}
    with np.load(path) as arrays:
        for name in arrays.files:
            array = arrays[name]
            kind = {"|V2": "bf16", "|V1": "f8"}.get(array.dtype.str)
            found[name] = Expected(list(array.shape), kind or NUMPY_DTYPES[array.dtype.name], array.tobytes())
    return found


def load_torch(path):
    return {k: of_torch(v) for k, v in torch.load(path, weights_only=True).items()}


def load_mindspore(path):
    found = {}
    for name, value in ms.load_checkpoint(path).items():
        if value.dtype == ms.bfloat16:
            array = value.astype(ms.float32).asnumpy().astype(ml_dtypes.bfloat16)
            found[name] = Expected(list(array.shape), "bf16", array.tobytes())
        else:
            found[name] = of_numpy(value.asnumpy())
    return found


def load_safetensors(path):
    return {k: of_torch(v) for k, v in safetensors.torch.load_file(path).items()}


LOADERS = {"npz": load_npz, "pth": load_torch, "ckpt": load_mindspore, "safetensors": load_safetensors}
LACKS = {"npz": set(), "pth": set(), "ckpt": MINDSPORE_LACKS, "safetensors": {"c128"}}


class ConvertTest(InteropTest):
    def setUp(self):
        super().setUp()
        rng = np.random.default_rng(33)
        self.arrays = {}
        for name, dtype in NUMPY_OF.items():
            self.arrays[name] = random_array(rng, dtype, (4, 3))
            if name in ("bf16", "f16"):  # no NaN: some loaders go through a cast that drops its payload
                self.arrays[name] = rng.standard_normal((4, 3)).astype(dtype)
        self.arrays["scalar"] = np.float32(1.25).reshape(())
        self.arrays["with.dots and space"] = rng.standard_normal((2, 3, 4)).astype(np.float32)
        self.arrays["vector"] = rng.standard_normal(1000)

    def source(self, lacks=()):
        """A .pt by torch with everything but `lacks`, and what it holds."""
        tensors = {}
        for name, array in self.arrays.items():
            if name in lacks:
                continue
            dtype = next((t for t, d in TORCH_DTYPES.items() if d == NUMPY_DTYPES[array.dtype.name]))
            tensors[name] = torch.frombuffer(bytearray(array.tobytes()), dtype=dtype).reshape(array.shape)
        path = self.path("source.pt")
        torch.save(tensors, path)
        return path, {k: of_torch(v) for k, v in tensors.items()}

    def assert_same(self, got, want):
        self.assertEqual(sorted(got), sorted(want))
        for name, value in want.items():
            self.assertEqual(got[name].shape, value.shape, name)
            if not got[name].dtype == "f8":
                self.assertEqual(got[name].dtype, value.dtype, name)
            self.assertEqual(got[name].data, value.data, name)

    def test_every_format_loads_bit_equal(self):
        for suffix, load in LOADERS.items():
            path, want = self.source(LACKS[suffix])
            out = self.path(f"out.{suffix}")
            run("convert", path, out)
            self.assert_same(load(out), want)

    def test_round_trips_through_every_pair_of_formats(self):
        for first in LOADERS:
            for second in LOADERS:
                lacks = LACKS[first] | LACKS[second]
                # numpy's |V1 and |V2 do not say which 8- or 16-bit float they are.
                if first == "npz":
                    lacks = lacks | {"bf16", "f8e4m3", "f8e5m2"}
                path, want = self.source(lacks)
                a, b = self.path(f"a.{first}"), self.path(f"b.{second}")
                run("convert", path, a)
                run("convert", a, b)
                self.assert_same(LOADERS[second](b), want)

    def test_npy(self):
        for name, array in self.arrays.items():
            dtype = NUMPY_DTYPES[array.dtype.name]
            source, out = self.path("one.pt"), self.path("one.npy")
            kind = next(t for t, d in TORCH_DTYPES.items() if d == dtype)
            torch.save({"x": torch.frombuffer(bytearray(array.tobytes()), dtype=kind).reshape(array.shape)}, source)
            run("convert", source, out)
            got = np.load(out)
            self.assertEqual((got.shape, got.tobytes()), (array.shape, array.tobytes()), name)
            if dtype not in BITS:
                self.assertEqual(got.dtype, array.dtype)
            else:
                self.assertEqual(got.dtype.str, f"|V{array.dtype.itemsize}")

    def test_views_are_written_out(self):
        base = torch.randn(5, 6)
        views = {"t": base.t(), "slice": base[1:4, ::2], "wide": torch.randn(3, 1).expand(3, 4)}
        path = self.path("v.pt")
        torch.save(views, path)
        for suffix, load in LOADERS.items():
            out = self.path(f"v.{suffix}")
            run("convert", path, out)
            self.assert_same(load(out), {k: of_torch(v) for k, v in views.items()})

    def test_empty_tensors(self):
        path = self.path("e.pt")
        torch.save({"none": torch.zeros(0, 4), "some": torch.ones(2)}, path)
        for suffix in ("npz", "pth", "safetensors"):
            out = self.path(f"e.{suffix}")
            run("convert", path, out)
            self.assertEqual(LOADERS[suffix](out)["none"].shape, [0, 4])

    def test_casts_equal_torch(self):
        torch.manual_seed(1)
        x = torch.cat([torch.randn(5000) * 10.0 ** torch.randint(-12, 9, (5000,)), torch.tensor([0.0, -0.0, 1e30, -1e30])])
        path = self.path("x.pt")
        torch.save({"x": x, "i": torch.arange(5)}, path)
        for name, dtype in (("f64", torch.float64), ("f16", torch.float16), ("bf16", torch.bfloat16),
                            ("f8e5m2", torch.float8_e5m2)):
            out = self.path("cast.pth")
            run("convert", path, out, "--dtype", name)
            got = torch.load(out, weights_only=True)
            self.assertEqual(got["x"].dtype, dtype)
            self.assertEqual(got["i"].dtype, torch.int64)
            self.assertEqual(of_torch(got["x"]).data, of_torch(x.to(dtype)).data, name)

    def test_rounding_modes(self):
        import math

        torch.manual_seed(2)
        x = torch.randn(4000)
        path = self.path("x.pt")
        torch.save({"x": x}, path)
        results = {}
        for mode in ("nearest-even", "nearest-away", "odd", "up", "down", "zero"):
            out = self.path("r.pth")
            run("convert", path, out, "--dtype", "bf16", "--round", mode)
            results[mode] = torch.load(out, weights_only=True)["x"].double()
        exact = x.double()
        self.assertTrue((results["up"] >= exact).all())
        self.assertTrue((results["down"] <= exact).all())
        self.assertTrue((results["zero"].abs() <= exact.abs()).all())
        step = (results["up"] - results["down"])
        self.assertTrue(((results["nearest-even"] - exact).abs() * 2 <= step + 1e-300).all())
        odd = results["odd"].bfloat16().view(torch.int16) & 1
        self.assertTrue((odd[results["odd"] != exact] == 1).all())
        self.assertTrue(math.isclose(float(results["nearest-away"].sum()), float(exact.sum()), rel_tol=1e-2, abs_tol=1))

    def test_casts_are_rounding(self):
        """Whatever the mode and however small the tensor: a cast is not called different."""
        torch.manual_seed(4)
        state = {f"layer{n}.weight": torch.randn(n) * 0.1 for n in (1, 2, 3, 8, 10, 24, 63, 64, 200, 5000)}
        path, out = self.path("x.pt"), self.path("cast.pth")
        torch.save(state, path)
        for dtype in ("f16", "bf16", "f8e4m3", "f8e5m2"):
            for mode in ("nearest-even", "nearest-away", "odd", "up", "down", "zero"):
                run("convert", path, out, "--dtype", dtype, "--round", mode)
                verdicts = {p["a"]: p["verdict"] for p in diff(path, out)["pairs"]}
                wrong = {k: v for k, v in verdicts.items() if v not in ("rounding", "identical")}
                self.assertEqual(wrong, {}, f"{dtype} {mode}")

    def test_failure_leaves_nothing(self):
        path = self.path("x.pt")
        torch.save({"x": torch.randn(100, 100)}, path)
        with open(path, "rb") as f:
            data = f.read()
        with open(self.path("cut.pt"), "wb") as f:
            f.write(data[:30000])
        before = sorted(os.listdir(self.folder))
        done = run("convert", self.path("cut.pt"), self.path("out.npz"), status=None)
        if done.returncode:
            self.assertEqual(sorted(os.listdir(self.folder)), before)

    def test_output_that_exists_is_replaced_whole(self):
        path, out = self.path("x.pt"), self.path("out.safetensors")
        torch.save({"x": torch.ones(3)}, path)
        with open(out, "w") as f:
            f.write("old")
        run("convert", path, out)
        self.assertEqual(diff(path, out)["verdict"], "identical")
        self.assertEqual([t["name"] for t in show(out)["tensors"]], ["x"])
