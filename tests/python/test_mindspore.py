"""Files that mindspore writes."""
import json
import os

import ml_dtypes
import numpy as np
import mindspore as ms
from mindspore import nn
from mindspore.train import serialization

from plumb_cli import BITS, InteropTest, NUMPY_DTYPES, Expected, of_numpy, random_array, run, show

DTYPES = ["float64", "float32", "float16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
          "bool", "complex64"]


def of_tensor(tensor):
    if tensor.dtype == ms.bfloat16:
        array = tensor.astype(ms.float32).asnumpy().astype(ml_dtypes.bfloat16)
        return Expected(list(array.shape), "bf16", array.tobytes())
    return of_numpy(tensor.asnumpy())


class MindSporeTest(InteropTest):
    def setUp(self):
        super().setUp()
        self.rng = np.random.default_rng(5)

    def save(self, values, name="x.ckpt", **options):
        path = self.path(name)
        if os.path.exists(path):
            os.remove(path)
        ms.save_checkpoint([{"name": k, "data": ms.Tensor(v)} for k, v in values.items()], path, **options)
        return path

    def values(self):
        # Random bits of a float16 may be a NaN whose payload numpy's own casts do not keep; these stay as they are.
        values = {name: random_array(self.rng, name, (3, 5)) for name in DTYPES}
        values["scalar"] = np.float32(2.5).reshape(())
        values["one"] = np.ones(1, np.float32)
        return values

    def test_every_dtype_with_and_without_crc(self):
        values = self.values()
        for crc in False, True:
            path = self.save(values, crc_check=crc)
            self.assert_reads(path, {k: of_numpy(v) for k, v in values.items()})

    def test_bfloat16(self):
        values = {"w": ms.Tensor(self.rng.standard_normal((4, 6)).astype(np.float32), ms.bfloat16)}
        self.assert_reads(self.save(values), {"w": of_tensor(values["w"])})

    def test_network_and_optimizer(self):
        net = nn.SequentialCell(nn.Conv2d(3, 4, 3, has_bias=True), nn.BatchNorm2d(4), nn.LayerNorm((4,)),
                                nn.Embedding(10, 6), nn.Dense(6, 2))
        optimizer = nn.Adam(net.trainable_params())
        for model in net, optimizer:
            path = self.path("net.ckpt")
            ms.save_checkpoint(model, path)
            want = {name: of_tensor(p) for name, p in ms.load_checkpoint(path).items()}
            self.assertGreater(len(want), 4)
            self.assert_reads(path, want)
            os.remove(path)

    def test_appended_values(self):
        path = self.save({"w": np.ones((2, 2), np.float32)},
                         append_dict={"epoch": 3, "loss": 0.5, "done": True, "note": "hello"})
        shown = show(path)
        self.assertIn("w", [t["name"] for t in shown["tensors"]])
        text = json.dumps(shown)
        for name in ("epoch", "loss", "done", "note", "hello"):
            self.assertIn(name, text)

    def test_chunks(self):
        """Tensors above SLICE_SIZE are written in pieces; a small limit makes small pieces."""
        before = serialization.SLICE_SIZE
        serialization.SLICE_SIZE = 4  # KiB
        try:
            values = {"before": random_array(self.rng, "f4", (10,)), "big": random_array(self.rng, "f4", (100, 70)),
                      "after": random_array(self.rng, "i4", (3, 3))}
            for crc in False, True:
                path = self.save(values, crc_check=crc)
                with open(path, "rb") as f:
                    self.assertGreater(f.read().count(b"\x0a\x03big"), 1, "the tensor was not split")
                self.assert_reads(path, {k: of_numpy(v) for k, v in values.items()})
        finally:
            serialization.SLICE_SIZE = before

    def test_empty_file(self):
        """mindspore drops a tensor without elements and leaves a file of no bytes."""
        path = self.save({"w": np.zeros((0, 3), np.float32)})
        self.assertEqual(os.path.getsize(path), 0)
        done = run("show", path, status=None)
        self.assertIn(done.returncode, (0, 2))

    def test_damaged_crc_is_named(self):
        path = self.save({"w": np.ones((8, 8), np.float32)}, crc_check=True)
        os.chmod(path, 0o600)
        with open(path, "r+b") as f:
            f.seek(100)
            byte = f.read(1)
            f.seek(100)
            f.write(bytes([byte[0] ^ 1]))
        done = run("show", "--stats", path, status=None)
        self.assertIn("crc", (done.stdout + done.stderr).decode().lower())

    def test_safetensors_format(self):
        values = {k: v for k, v in self.values().items() if k not in ("complex64",)}
        for crc in False, True:
            path = self.path("x.safetensors")
            ms.save_checkpoint([{"name": k, "data": ms.Tensor(v)} for k, v in values.items()], path,
                               format="safetensors", crc_check=crc)
            self.assert_reads(path, {k: of_numpy(v) for k, v in values.items()})
            os.remove(path)


assert set(BITS) <= set(NUMPY_DTYPES.values())
