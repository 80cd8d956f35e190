"""What the interop tests share: running the command, and the promise every readable file makes.

A framework's tensors are described as {name: Expected}: shape, Plumb's dtype name and the bytes
in C order. `InteropTest.assert_reads` compares that with `plumb show --json` (name, shape, dtype, size,
fingerprint) and with the values that `plumb convert` gives numpy.
"""
import json
import os
import shutil
import subprocess
import tempfile
import unittest
from collections import namedtuple

import ml_dtypes
import numpy as np
import torch

from fingerprint import fingerprint

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PLUMB = os.environ.get("PLUMB", os.path.join(ROOT, "build", "plumb"))

Expected = namedtuple("Expected", "shape dtype data")

TORCH_DTYPES = {
    torch.float64: "f64", torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16",
    torch.float8_e4m3fn: "f8e4m3", torch.float8_e5m2: "f8e5m2", torch.int8: "i8", torch.int16: "i16",
    torch.int32: "i32", torch.int64: "i64", torch.uint8: "u8", torch.uint16: "u16", torch.uint32: "u32",
    torch.uint64: "u64", torch.bool: "bool", torch.complex64: "c64", torch.complex128: "c128",
}
NUMPY_DTYPES = {
    "float64": "f64", "float32": "f32", "float16": "f16", "bfloat16": "bf16", "float8_e4m3fn": "f8e4m3",
    "float8_e5m2": "f8e5m2", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint8": "u8",
    "uint16": "u16", "uint32": "u32", "uint64": "u64", "bool": "bool", "complex64": "c64", "complex128": "c128",
}
BITS = {"bf16": ml_dtypes.bfloat16, "f8e4m3": ml_dtypes.float8_e4m3fn, "f8e5m2": ml_dtypes.float8_e5m2}


def of_torch(tensor):
    tensor = tensor.detach().resolve_conj().resolve_neg().contiguous()
    data = tensor.reshape(-1).view(torch.uint8).numpy().tobytes() if tensor.numel() else b""
    return Expected(list(tensor.shape), TORCH_DTYPES[tensor.dtype], data)


def of_numpy(array):
    array = np.asarray(array)
    native = np.ascontiguousarray(array.astype(array.dtype.newbyteorder("=")))
    return Expected(list(array.shape), NUMPY_DTYPES[array.dtype.name], native.tobytes())


def random_array(rng, dtype, shape):
    """Any bits that the dtype allows; booleans are 0 or 1."""
    dtype = np.dtype(dtype)
    count = int(np.prod(shape, dtype=np.int64))
    if dtype == np.bool_:
        return rng.integers(0, 2, shape).astype(np.bool_)
    return np.frombuffer(rng.bytes(count * dtype.itemsize), dtype).reshape(shape).copy()


def run(*args, status=0):
    done = subprocess.run([PLUMB, *map(str, args)], capture_output=True, stdin=subprocess.DEVNULL)
    if status is not None and done.returncode != status:
        raise AssertionError(f"plumb {' '.join(map(str, args))}: exit {done.returncode}, expected {status}\n"
                             f"{done.stdout.decode(errors='replace')}{done.stderr.decode(errors='replace')}")
    return done


def show(path, *args):
    return json.loads(run("show", "--json", path, *args).stdout)


def diff(a, b, *args, status=None):
    return json.loads(run("diff", "--json", a, b, *args, status=status).stdout)


class InteropTest(unittest.TestCase):
    maxDiff = 2000

    def setUp(self):
        os.makedirs(os.path.join(ROOT, "build", "tmp"), exist_ok=True)
        self.folder = tempfile.mkdtemp(dir=os.path.join(ROOT, "build", "tmp"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def assert_reads(self, path, expected, allow_more=False):
        """Every tensor that Plumb lists is what the framework wrote, and none is missing."""
        shown = show(path)
        tensors = {t["name"]: t for t in shown["tensors"]}
        self.assertEqual(len(tensors), len(shown["tensors"]), "a name is listed twice")
        if allow_more:
            tensors = {name: t for name, t in tensors.items() if name in expected}
        self.assertEqual(sorted(tensors), sorted(expected))
        for name, want in expected.items():
            got = tensors[name]
            self.assertEqual((got["shape"], got["dtype"]), (want.shape, want.dtype), name)
            self.assertEqual(got["bytes"], len(want.data), name)
            self.assertEqual(int(str(got["fingerprint"]), 16), fingerprint(want.data, want.dtype), f"fingerprint of {name}")
        self.assert_values(path, expected)
        return shown

    def assert_values(self, path, expected):
        out = self.path("values.npz")
        run("convert", path, out)
        with np.load(out) as values:
            for name, want in expected.items():
                self.assertEqual(list(values[name].shape), want.shape, name)
                self.assertEqual(values[name].tobytes(), want.data, f"values of {name}")
        os.remove(out)
