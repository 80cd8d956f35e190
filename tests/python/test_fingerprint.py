"""The fingerprint of every dtype, from torch operations and from the C kernels (all of them)."""
import os
import subprocess
import json

import torch

from fingerprint import fingerprint_of_tensor
from plumb_cli import PLUMB, TORCH_DTYPES, InteropTest
from test_torch import random_tensor


class FingerprintTest(InteropTest):
    def shown(self, path, cpu):
        done = subprocess.run([PLUMB, "show", "--json", path], capture_output=True, check=True,
                              env=dict(os.environ, PLUMB_CPU=cpu))
        return {t["name"]: int(str(t["fingerprint"]), 16) for t in json.loads(done.stdout)["tensors"]}

    def test_every_dtype_and_length(self):
        torch.manual_seed(8)
        state = {}
        for dtype, name in TORCH_DTYPES.items():
            for count in (0, 1, 2, 3, 5, 1023, 1024, 1025, 5000):
                state[f"{name}.{count}"] = random_tensor(dtype, count)
        path = self.path("x.pt")
        torch.save(state, path)
        want = {name: fingerprint_of_tensor(tensor) for name, tensor in state.items()}
        for cpu in ("scalar", "avx2", "avx512"):
            self.assertEqual(self.shown(path, cpu), want, cpu)

    def test_large_and_strided(self):
        torch.manual_seed(8)
        base = torch.randn(1500, 2100)
        state = {"base": base, "transposed": base.t(), "slice": base[::3, 5:900:2], "wide": base[:, :1].expand(1500, 700),
                 "half": base.half().t()}
        path = self.path("x.pt")
        torch.save(state, path)
        want = {name: fingerprint_of_tensor(tensor) for name, tensor in state.items()}
        for cpu in ("scalar", "avx2", "avx512"):
            self.assertEqual(self.shown(path, cpu), want, cpu)
