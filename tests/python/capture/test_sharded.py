"""Parameters that are spread over ranks: FSDP2 and tensor parallel models, whose tensors wrap the part that a rank has."""
import json
import os
import subprocess
import sys
import unittest

from capture_case import TORCHRUN, CaptureTest, plumb

PROGRAM = """
import json, os, sys
import torch, torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
sys.path.insert(0, os.environ["PLUMB_PACKAGE"])
from plumb import _plumb
dist.init_process_group("gloo")
rank = dist.get_rank()
mesh = init_device_mesh("cpu", (dist.get_world_size(),))

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.act, self.down = nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 16)
    def forward(self, x):
        return x + self.down(self.act(self.up(x)))

torch.manual_seed(1)
model = nn.Sequential(Block(), Block(), nn.Linear(16, 4))
if sys.argv[1] == "fsdp":
    for block in model:
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)
else:
    for block in model[:2]:
        parallelize_module(block, mesh, {"up": ColwiseParallel(), "down": RowwiseParallel()})
optimizer = torch.optim.AdamW(model.parameters(), 1e-2)
chance = torch.Generator().manual_seed(5 + rank * (sys.argv[1] == "fsdp"))
seen = {"losses": []}
local = lambda tensor: getattr(tensor, "_local_tensor", tensor)
for step in range(3):
    loss = model(torch.randn(8, 16, generator=chance)).square().mean()
    loss.backward()
    seen["gradients"] = {name: f"{_plumb.fingerprint(local(p.grad)):016x}" for name, p in model.named_parameters()}
    optimizer.step()
    optimizer.zero_grad()
    seen["losses"].append(loss.item())
seen["sharded"] = [name for name, p in model.named_parameters()
                   if not all(placement.is_replicate() for placement in getattr(p, "placements", ()))]
seen["weights"] = {name: f"{_plumb.fingerprint(local(p)):016x}" for name, p in model.named_parameters()}
with open(f"{sys.argv[2]}{rank}", "w") as file:
    json.dump(seen, file)
dist.destroy_process_group()
"""
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "PLUMB_PACKAGE": os.path.dirname(os.path.dirname(plumb.__file__))}
ROUTES = {"": {}, "dispatch": {"PLUMB_OP_ROUTE": "dispatch-mode"}, "device": {"PLUMB_FORCE_DEVICE": "1"}}


class Sharded(CaptureTest):
    def train(self, kind, name, options=None, route=""):
        """What each rank saw of itself; recorded if there are options."""
        program, environment = self.path("program.py"), {**ENVIRONMENT, **ROUTES[route]}
        with open(program, "w", encoding="utf-8") as file:
            file.write(PROGRAM)
        if options is None:
            launcher = os.path.join(os.path.dirname(sys.executable), "torchrun")
            subprocess.run([launcher, *TORCHRUN, "2", program, kind, self.path(name)], env=environment, check=True, capture_output=True)
        else:
            self.torchrun(2, program, kind, self.path(name), out=f"run.{name}", options=options, env=environment)
        seen = []
        for rank in range(2):
            with open(self.path(f"{name}{rank}"), encoding="utf-8") as file:
                seen.append(json.load(file))
        return seen

    def check(self, kind, levels):
        plain = self.train(kind, "plain")
        for level, route, ranks in levels:
            with self.subTest(level=level, route=route, ranks=ranks):
                name = f"{level}{route}{ranks}"
                seen = self.train(kind, name, ["--level", level, *(("--ranks", ranks) if ranks else ())], route)
                self.assertEqual(seen, plain)
                self.assert_recorded(plumb.load(self.path(f"run.{name}")), seen, level, route, ranks)

    def assert_recorded(self, run, seen, level, route, ranks):
        for rank in [int(ranks)] if ranks else (0, 1):
            self.assertEqual(list(run.series("loss", rank).values()), seen[rank]["losses"])
            self.assertEqual(len(run.series("grad_norm", rank)), 3)
            if level == "watch":
                slots = {r["op"].removesuffix(".update"): r["slot"] for r in run.records("*.update", None, rank)}
                self.assertEqual({name for name, slot in slots.items() if slot == "shard"}, set(seen[rank]["sharded"]))
                continue
            last = run.records("*", 2, rank)
            gradients = {r["op"].removesuffix(".Linear") + r["slot"].replace("grad:", "."): r["fingerprint"]
                         for r in last if r["slot"].startswith("grad:")}
            if not route:
                self.assertEqual(gradients, seen[rank]["gradients"])
            if level == "op":
                products = {r["op"] for r in last if r["slot"] == "output0" and r["phase"] == "forward"}
                self.assertLessEqual({"0.up.addmm", "0.act.gelu", "1.up.addmm", "1.act.gelu", "2.addmm"}, products)

    def test_fully_sharded(self):
        self.check("fsdp", [("watch", "", ""), ("module", "", ""), ("op", "", ""), ("op", "", "1"), ("op", "dispatch", ""),
                            ("op", "device", "")])

    def test_tensor_parallel(self):
        self.check("tensor", [("watch", "", "0"), ("op", "", ""), ("op", "device", "0")])


if __name__ == "__main__":
    unittest.main()
