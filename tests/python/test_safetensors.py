"""Files that safetensors writes, and sharded checkpoints as the hubs lay them out."""
import json
import os

import numpy as np
import safetensors.numpy
import safetensors.torch
import torch

from plumb_cli import TORCH_DTYPES, InteropTest, of_numpy, of_torch, random_array
from test_torch import random_tensor


class SafetensorsTest(InteropTest):
    def setUp(self):
        super().setUp()
        torch.manual_seed(9)
        self.rng = np.random.default_rng(9)

    def test_every_dtype(self):
        state = {name: random_tensor(dtype, 3, 4) for dtype, name in TORCH_DTYPES.items() if name != "c128"}
        state["scalar"] = torch.tensor(1.5)
        state["empty"] = torch.zeros(0, 3)
        path = self.path("x.safetensors")
        safetensors.torch.save_file(state, path, metadata={"format": "pt", "note": "two words"})
        shown = self.assert_reads(path, {k: of_torch(v) for k, v in state.items()})
        self.assertIn("two words", json.dumps(shown["other"]))

    def test_numpy_writer_and_names(self):
        state = {"a.b.c": random_array(self.rng, "f4", (5,)), "with space": random_array(self.rng, "i8", (2, 2)),
                 "quote\"and\\slash": random_array(self.rng, "u1", (3,)), "名前": random_array(self.rng, "f2", (4,))}
        path = self.path("x.safetensors")
        safetensors.numpy.save_file(state, path)
        self.assert_reads(path, {k: of_numpy(v) for k, v in state.items()})

    def shards(self, save, pattern, index_name):
        state = {f"layers.{i}.weight": torch.randn(4, 3) for i in range(7)}
        names = list(state)
        files, weight_map = {}, {}
        for i, name in enumerate(names):
            file = pattern.format(i % 3 + 1)
            files.setdefault(file, {})[name] = state[name]
            weight_map[name] = file
        for file, part in files.items():
            save(part, self.path(file))
        with open(self.path(index_name), "w") as out:
            json.dump({"metadata": {"total_size": 336}, "weight_map": weight_map}, out)
        expected = {k: of_torch(v) for k, v in state.items()}
        self.assert_reads(self.path(index_name), expected)
        self.assert_reads(self.folder, expected)

    def test_sharded(self):
        self.shards(safetensors.torch.save_file, "model-{:05d}-of-00003.safetensors", "model.safetensors.index.json")

    def test_sharded_bin(self):
        self.shards(torch.save, "pytorch_model-{:05d}-of-00003.bin", "pytorch_model.bin.index.json")

    def test_missing_shard_is_named(self):
        from plumb_cli import run

        safetensors.torch.save_file({"a": torch.ones(2)}, self.path("one.safetensors"))
        with open(self.path("model.safetensors.index.json"), "w") as out:
            json.dump({"weight_map": {"a": "one.safetensors", "b": "two.safetensors"}}, out)
        done = run("show", self.path("model.safetensors.index.json"), status=None)
        self.assertIn("two.safetensors", (done.stdout + done.stderr).decode())

    def test_directory_of_files(self):
        os.mkdir(self.path("rank0"))
        safetensors.torch.save_file({"a": torch.ones(2)}, self.path("rank0/one.safetensors"))
        torch.save({"b": torch.zeros(3)}, self.path("rank0/two.pt"))
        from plumb_cli import show

        shown = show(self.path("rank0"))
        self.assertEqual(len(shown["tensors"]), 2)
