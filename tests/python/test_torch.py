"""Files that torch writes."""
import argparse
import json
import os
from collections import OrderedDict

import torch
import torch.distributed.checkpoint as dcp

from plumb_cli import InteropTest, TORCH_DTYPES, of_torch, show


def flatten(value, prefix=""):
    """Tensors of nested dictionaries and lists by dotted name."""
    if isinstance(value, torch.Tensor):
        return {prefix: value}
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, (list, tuple)) else ()
    found = {}
    for key, item in items:
        found.update(flatten(item, f"{prefix}.{key}" if prefix else str(key)))
    return found


def random_tensor(dtype, *shape):
    if dtype == torch.bool:
        return torch.randint(0, 2, shape).bool()
    if dtype.is_complex:
        return torch.randn(shape, dtype=dtype)
    if dtype.is_floating_point:
        return torch.randn(shape).to(dtype)
    return torch.randint(0, 100, shape).to(dtype)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 8, 3)
        self.bn = torch.nn.BatchNorm2d(8)
        self.embed = torch.nn.Embedding(20, 6)
        self.head = torch.nn.Linear(6, 20, bias=False)
        self.head.weight = self.embed.weight
        self.lstm = torch.nn.LSTM(6, 4)


class TorchTest(InteropTest):
    def setUp(self):
        super().setUp()
        torch.manual_seed(3)

    def assert_torch(self, value, allow_more=False, name="x.pt", **options):
        path = self.path(name)
        torch.save(value, path, **options)
        return self.assert_reads(path, {k: of_torch(v) for k, v in flatten(value).items()}, allow_more)

    def test_every_dtype(self):
        state = {name: random_tensor(dtype, 4, 5) for dtype, name in TORCH_DTYPES.items()}
        self.assert_torch(state)
        old = {k: v for k, v in state.items() if k not in ("f8e4m3", "f8e5m2", "u16", "u32", "u64")}
        self.assert_torch(old, _use_new_zipfile_serialization=False)

    def views(self):
        base = torch.randn(6, 8)
        return OrderedDict(
            base=base, transposed=base.t(), rows=base[2:5], columns=base[:, 1:7:3], diagonal=base.diagonal(),
            expanded=torch.randn(4, 1).expand(4, 5), scalar=torch.tensor(3.5), empty=torch.zeros(3, 0),
            permuted=torch.randn(2, 3, 4).permute(2, 0, 1), element=base[3, 4],
            channels_last=torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last),
            complex=torch.randn(3, dtype=torch.complex64).conj().resolve_conj(), parameter=torch.nn.Parameter(torch.randn(3)),
        )

    def test_views(self):
        self.assert_torch(self.views())
        self.assert_torch(self.views(), _use_new_zipfile_serialization=False)

    def test_protocols(self):
        for protocol in 2, 3, 4, 5:
            self.assert_torch({"a": self.views(), "n": 3, "s": "text"}, pickle_protocol=protocol)
            self.assert_torch({"a": self.views(), "n": 3, "s": "text"}, pickle_protocol=protocol,
                              _use_new_zipfile_serialization=False)

    def test_state_dict_with_tied_weights(self):
        shown = self.assert_torch(Net().state_dict(), name="net.pth")
        self.assertIn(sorted(["embed.weight", "head.weight"]), [sorted(t) for t in shown["tied"]])

    def test_training_checkpoint(self):
        net = Net()
        for make in (lambda p: torch.optim.Adam(p, amsgrad=True), lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9)):
            optimizer = make(net.parameters())
            net.head(net.embed(torch.tensor([1, 2]))).sum().backward()
            optimizer.step()
            checkpoint = {"model": net.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 7,
                          "best": 0.25, "history": [1, 2.5, None, True, "x"], "rng": torch.get_rng_state()}
            shown = self.assert_torch(checkpoint, name="c.pth.tar")
            text = json.dumps(shown["other"])
            self.assertIn("7", text)
            self.assertEqual(shown["parameters"], sum(p.numel() for p in net.parameters()))

    def test_nested_containers(self):
        self.assert_torch({"a": [torch.ones(2), {"b": (torch.zeros(3), torch.ones(1))}], "c": {1: torch.ones(4)},
                           "with space": {"x/y": torch.ones(2), "ünï": torch.ones(1)}})

    def test_bare_tensor_and_list(self):
        for value in (torch.randn(3, 4), [torch.ones(2), torch.zeros(3)]):
            path = self.path("bare.pt")
            torch.save(value, path)
            shown = show(path)
            tensors = list(flatten(value).values())
            self.assertEqual(len(shown["tensors"]), len(tensors))
            self.assert_reads(path, {t["name"]: of_torch(v) for t, v in zip(shown["tensors"], tensors)})

    def test_megatron_arguments_are_shown(self):
        args = argparse.Namespace(num_layers=24, lr=1.5e-4, bf16=True, data_path=["a", "b"], rope=None)
        value = {"args": args, "iteration": 5000, "checkpoint_version": 3.0,
                 "model": {"language_model": {"encoder": {"layers.0.weight": torch.randn(3)}}}}
        shown = self.assert_torch(value)
        text = json.dumps(shown["other"])
        for expected in ("num_layers", "24", "0.00015", "5000"):
            self.assertIn(expected, text)

    def test_what_is_not_plain_is_opaque(self):
        value = {
            "plain": torch.ones(2),
            "sparse": torch.eye(3).to_sparse(),
            "csr": torch.eye(3).to_sparse_csr(),
            "quantized": torch.quantize_per_tensor(torch.randn(3), 0.1, 0, torch.qint8),
            "module": torch.nn.Linear(2, 2),
            "meta": torch.empty(3, device="meta"),
            "conj": torch.randn(3, dtype=torch.complex64).conj(),
        }
        path = self.path("o.pt")
        torch.save(value, path)
        shown = show(path)
        names = [t["name"] for t in shown["tensors"]]
        self.assertIn("plain", names)
        self.assertNotIn("conj", names)
        named = json.dumps(shown["other"]) + json.dumps(shown["warnings"]) + json.dumps(shown["tensors"])
        for name in value:
            self.assertIn(name, named)

    def test_script_module_and_plain_zip(self):
        path = self.path("script.pt")
        torch.jit.script(torch.nn.Linear(2, 3)).save(path)
        shown = show(path)
        self.assertIn("warnings", shown)

    def test_many_tensors(self):
        self.assert_torch({f"layer.{i}.weight": torch.randn(3) for i in range(3000)})


class DistributedCheckpointTest(InteropTest):
    def setUp(self):
        super().setUp()
        torch.manual_seed(4)

    def test_single_process(self):
        net = Net()
        state = {"model": net.state_dict(), "step": 12, "lr": 0.5}
        path = self.path("dcp")
        dcp.save(state, checkpoint_id=path, no_dist=True)
        self.assert_reads(path, {k: of_torch(v) for k, v in flatten(state).items()})

    def test_every_dtype(self):
        state = {name: random_tensor(dtype, 3, 2) for dtype, name in TORCH_DTYPES.items()}
        path = self.path("dcp")
        dcp.save(state, checkpoint_id=path, no_dist=True)
        self.assert_reads(path, {k: of_torch(v) for k, v in state.items()})

    def test_chunks_of_two_ranks(self):
        """Two processes save a sharded tensor: it is put together from its chunks."""
        from torch.multiprocessing import spawn

        path = self.path("dcp")
        spawn(save_rank, args=(path, self.path("rendezvous")), nprocs=2)
        full = torch.arange(60, dtype=torch.float32).reshape(10, 6)
        self.assertGreater(len([f for f in os.listdir(path) if f.endswith(".distcp")]), 1)
        self.assert_reads(path, {"rows": of_torch(full), "columns": of_torch(full), "copy": of_torch(full * 2)})


def save_rank(rank, path, rendezvous):
    import torch.distributed as dist
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor

    dist.init_process_group("gloo", init_method=f"file://{rendezvous}", rank=rank, world_size=2)
    mesh = init_device_mesh("cpu", (2,))
    full = torch.arange(60, dtype=torch.float32).reshape(10, 6)
    state = {"rows": distribute_tensor(full, mesh, [Shard(0)]), "columns": distribute_tensor(full, mesh, [Shard(1)]),
             "copy": distribute_tensor(full * 2, mesh, [Replicate()])}
    dcp.save(state, checkpoint_id=path)
    dist.destroy_process_group()
