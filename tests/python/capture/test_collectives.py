"""Collectives of torch.distributed over gloo: what was reduced is what is recorded, whoever waited for it."""
import json
import os
import unittest

from capture_case import CaptureTest, plumb

PROGRAM = """
import json, os, sys
import torch, torch.distributed as dist
from torch import nn
sys.path.insert(0, os.environ["PLUMB_PACKAGE"])
from plumb import _plumb
dist.init_process_group("gloo")
rank = dist.get_rank()
seen = {}
def saw(name, *tensors):
    seen[name] = [f"{_plumb.fingerprint(tensor):016x}" for tensor in tensors]

torch.manual_seed(1)
model = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(6, 4), nn.BatchNorm1d(4), nn.Linear(4, 2)))
optimizer = torch.optim.SGD(model.parameters(), 0.1)
torch.manual_seed(rank)
for step in range(2):
    loss = model(torch.randn(8, 6)).square().mean()
    given = torch.arange(5.0) + rank
    saw("given", given)
    work = dist.all_reduce(given, async_op=True)
    other = torch.ones(1000)
    work.wait()
    saw("async", given)
    dist.all_reduce(other)
    saw("plain", other)
    three, four = torch.full((3,), 1.0 + rank), torch.full((4,), 2.0 * rank)
    with dist._coalescing_manager(async_ops=True) as manager:
        dist.all_reduce(three)
        dist.all_reduce(four)
    manager.wait()
    saw("coalesced", three, four)
    parts = [torch.empty(2), torch.empty(2)]
    dist.all_gather(parts, torch.full((2,), float(rank)))
    saw("gathered", *parts)
    loss.backward()
    seen["gradients"] = torch.cat([p.grad.reshape(-1) for p in model.parameters()]).double().norm().item()
    optimizer.step()
    optimizer.zero_grad()
dist.barrier()
with open(sys.argv[1] + str(rank), "w") as file:
    json.dump(seen, file)
dist.destroy_process_group()
"""
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "PLUMB_PACKAGE": os.path.dirname(os.path.dirname(plumb.__file__))}


class Collectives(CaptureTest):
    def check(self, level):
        with open(self.path("program.py"), "w", encoding="utf-8") as file:
            file.write(PROGRAM)
        self.torchrun(2, self.path("program.py"), self.path("seen"), out=level, options=["--level", level], env=ENVIRONMENT)
        run = plumb.load(self.path(level))
        for rank in range(2):
            with open(self.path(f"seen{rank}"), encoding="utf-8") as file:
                self.check_rank(run, rank, json.load(file))

    def check_rank(self, run, rank, seen):
        records = {(r["op"], r["slot"]): r for r in run.records("world.*", 1, rank)}
        prints = {key: record["fingerprint"] for key, record in records.items()}
        self.assertEqual({record["phase"] for record in records.values()}, {"collective"})
        self.assertEqual(prints["world.all_reduce", "input0"], seen["given"][0])
        self.assertEqual(prints["world.all_reduce", "output0"], seen["async"][0])
        self.assertEqual(prints["world.all_reduce#1", "output0"], seen["plain"][0])
        self.assertEqual([prints["world.all_reduce#2", f"output{i}"] for i in range(2)], seen["coalesced"])
        self.assertEqual([prints["world.all_gather", f"output{i}"] for i in range(2)], seen["gathered"])
        # The bucket of the reducer: the gradients of all parameters, averaged.
        self.assertAlmostEqual(records["world.all_reduce#3", "output0"]["stats"]["l2"], seen["gradients"], places=6)
        self.assertIn("program.py:", records["world.all_reduce", "output0"]["called_at"])

    def test_modules(self):
        self.check("module")

    def test_operations(self):
        self.check("op")


if __name__ == "__main__":
    unittest.main()
