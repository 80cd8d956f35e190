"""Writes the small files under tests/interop/<format>/ with the real libraries.

They are committed, so that the damage tests and the fuzzer's corpus need no framework. Run
again only to add a kind:  build/venv/bin/python tests/interop/make_samples.py [FORMAT...]
Every file stays below 8 KB.
"""
import argparse
import json
import os
import shutil
import sys
from collections import OrderedDict

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
rng = np.random.default_rng(7)


def place(kind, name):
    folder = os.path.join(HERE, kind)
    os.makedirs(folder, exist_ok=True)
    return os.path.join(folder, name)


def f32(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def npy():
    def save(name, array, version):
        with open(place("npy", name), "wb") as out:
            np.lib.format.write_array(out, array, version=version)

    save("v1_f32.npy", f32(3, 4), (1, 0))
    save("v2_i64.npy", np.arange(6, dtype=np.int64).reshape(2, 3), (2, 0))
    save("v3_f64.npy", rng.standard_normal(5), (3, 0))
    save("fortran_f32.npy", np.asfortranarray(f32(3, 4)), (1, 0))
    save("big_endian_f64.npy", rng.standard_normal((2, 3)).astype(">f8"), (1, 0))
    save("scalar_f16.npy", np.float16(1.5).reshape(()), (1, 0))
    save("empty_u8.npy", np.zeros((0, 4), np.uint8), (1, 0))
    save("bool.npy", np.array([True, False, True]), (1, 0))
    save("c64.npy", (f32(4) + 1j * f32(4)).astype(np.complex64), (1, 0))


def npz():
    arrays = dict(weight=f32(4, 4), bias=f32(4), step=np.int64(3), empty=np.zeros((0, 2), np.float32))
    np.savez(place("npz", "stored.npz"), **arrays)
    np.savez_compressed(place("npz", "deflated.npz"), **arrays, zeros=np.zeros(500, np.float32))


def torch_samples():
    import torch

    torch.manual_seed(7)
    net = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.BatchNorm2d(2), torch.nn.Linear(3, 2))
    torch.save(net.state_dict(), place("torch", "state_dict.pth"))
    base = torch.randn(4, 6)
    views = OrderedDict(
        plain=base, transposed=base.t(), slice=base[1:3, ::2], expanded=torch.randn(3, 1).expand(3, 2),
        scalar=torch.tensor(2.5), empty=torch.zeros(0, 3), tied=base,
    )
    torch.save(views, place("torch", "views.pt"))
    kinds = dict(
        bf16=torch.randn(3).bfloat16(), f16=torch.randn(3).half(), f64=torch.randn(3).double(),
        f8e4m3=torch.randn(4).to(torch.float8_e4m3fn), f8e5m2=torch.randn(4).to(torch.float8_e5m2),
        i8=torch.arange(3, dtype=torch.int8), i64=torch.arange(3), u16=torch.arange(3).to(torch.uint16),
        bool=torch.tensor([True, False]), c64=torch.randn(2, dtype=torch.complex64),
    )
    torch.save(kinds, place("torch", "dtypes.pt"))
    small = torch.nn.Linear(2, 2)
    adam = torch.optim.Adam(small.parameters())
    small(torch.ones(1, 2)).sum().backward()
    adam.step()
    checkpoint = dict(
        model=small.state_dict(), optimizer=adam.state_dict(), epoch=3, best=0.75, name="demo",
        args=argparse.Namespace(lr=1e-3, layers=[1, 2], flag=True),
    )
    torch.save(checkpoint, place("torch", "training.pt"))
    torch.save(checkpoint, place("torch", "protocol4.pt"), pickle_protocol=4)
    torch.save(views, place("torch", "legacy.pt"), _use_new_zipfile_serialization=False)
    torch.save(kinds | {"f8e4m3": 0, "f8e5m2": 0, "u16": 0}, place("torch", "legacy_dtypes.pt"),
               _use_new_zipfile_serialization=False)
    odd = dict(
        sparse=torch.eye(3).to_sparse(), tensor=torch.ones(2),
        quantized=torch.quantize_per_tensor(torch.randn(3), 0.1, 0, torch.qint8),
    )
    torch.save(odd, place("torch", "opaque.pt"))
    # The smallest kind, for cutting at every byte.
    torch.save({"w": torch.ones(2)}, place("torch", "tiny.pt"))
    import torch.distributed.checkpoint as dcp

    folder = place("dcp", "single")
    shutil.rmtree(folder, ignore_errors=True)
    dcp.save({"w": torch.randn(2, 3), "step": 5}, checkpoint_id=folder, no_dist=True)


def mindspore_samples():
    import mindspore as ms

    def save(values, name, **options):
        path = place("ckpt", name)
        if os.path.exists(path):
            os.remove(path)
        ms.save_checkpoint([{"name": k, "data": ms.Tensor(v)} for k, v in values.items()], path, **options)
        os.chmod(path, 0o644)

    net = {"conv.weight": f32(2, 1, 3, 3), "bn.gamma": f32(2), "bn.moving_mean": f32(2)}
    save(net, "plain.ckpt")
    save(net, "crc.ckpt", crc_check=True)
    save({"w": f32(2, 2)}, "appended.ckpt", append_dict={"epoch": 3, "loss": 0.5, "done": True})
    values = {
        "f64": np.arange(3, dtype=np.float64), "f16": np.arange(3, dtype=np.float16),
        "i8": np.arange(3, dtype=np.int8), "i32": np.arange(3, dtype=np.int32), "i64": np.arange(3),
        "u8": np.arange(3, dtype=np.uint8), "bool": np.array([True, False]), "scalar": np.float32(2),
    }
    save(values, "dtypes.ckpt")
    save({"bf16": ms.Tensor(f32(4), ms.bfloat16)}, "bf16.ckpt")
    from mindspore.train import serialization

    serialization.SLICE_SIZE = 1  # KiB; 512 MiB as shipped
    save({"first": f32(2), "split": f32(30, 20), "last": f32(3)}, "chunks.ckpt", crc_check=True)


def safetensors_samples():
    import torch
    from safetensors.torch import save_file

    kinds = dict(
        f32=torch.randn(2, 3), bf16=torch.randn(3).bfloat16(), f16=torch.randn(3).half(),
        f8=torch.randn(4).to(torch.float8_e4m3fn), i64=torch.arange(3), bool=torch.tensor([True]),
        scalar=torch.tensor(1.5), empty=torch.zeros(0, 2),
    )
    save_file(kinds, place("safetensors", "dtypes.safetensors"), metadata={"format": "pt"})
    save_file({"a": torch.ones(2)}, place("safetensors", "tiny.safetensors"))
    shards = [{"layer.0.weight": torch.randn(2, 2)}, {"layer.1.weight": torch.randn(2, 2)}]
    names = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"]
    for shard, name in zip(shards, names):
        save_file(shard, place("sharded", name))
    index = {"metadata": {"total_size": 32},
             "weight_map": {key: name for shard, name in zip(shards, names) for key in shard}}
    with open(place("sharded", "model.safetensors.index.json"), "w") as out:
        json.dump(index, out, indent=2)


def onnx_samples():
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    def model(initializers):
        out = helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])
        node = helper.make_node("Identity", [initializers[0].name], ["y"])
        graph = helper.make_graph([node], "g", [], [out], initializer=initializers)
        return helper.make_model(graph, producer_name="plumb")

    raw = [numpy_helper.from_array(f32(2), "raw"), numpy_helper.from_array(np.arange(3), "i64")]
    onnx.save(model(raw), place("onnx", "raw.onnx"))
    typed = [helper.make_tensor("f", TensorProto.FLOAT, [2], [1.5, -2.5]),
             helper.make_tensor("i", TensorProto.INT32, [3], [1, -2, 3]),
             helper.make_tensor("l", TensorProto.INT64, [2], [1 << 40, -1]),
             helper.make_tensor("h", TensorProto.FLOAT16, [2], [0.5, 1.0]),
             helper.make_tensor("d", TensorProto.DOUBLE, [1], [3.25])]
    onnx.save(model(typed), place("onnx", "typed.onnx"))
    onnx.save_model(model([numpy_helper.from_array(f32(2, 4), "w")]), place("onnx", "external.onnx"),
                    save_as_external_data=True, location="external.data", size_threshold=0)


MAKERS = dict(npy=npy, npz=npz, torch=torch_samples, ckpt=mindspore_samples,
              safetensors=safetensors_samples, onnx=onnx_samples)

if __name__ == "__main__":
    for kind in sys.argv[1:] or MAKERS:
        MAKERS[kind]()
    for folder, _, files in os.walk(HERE):
        for name in files:
            path = os.path.join(folder, name)
            if os.path.getsize(path) > 8192 and not name.endswith(".py"):
                sys.exit(f"{path}: {os.path.getsize(path)} bytes, at most 8192")
