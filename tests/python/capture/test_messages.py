"""Messages between two ranks over gloo: what was sent is what is recorded on both sides, and nothing changes."""
import json
import os
import subprocess
import sys
import unittest

from capture_case import PLUMB, TORCHRUN, CaptureTest, plumb

PROGRAM = """
import json, os, sys
import torch, torch.distributed as dist
sys.path.insert(0, os.environ["PLUMB_PACKAGE"])
from plumb import _plumb
dist.init_process_group("gloo")
rank, other = dist.get_rank(), 1 - dist.get_rank()
seen = []
def saw(tensor):
    seen.append(f"{_plumb.fingerprint(tensor):016x}")

torch.manual_seed(1)
model = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
torch.manual_seed(rank)
for step in range(2):
    output = model(torch.randn(3, 4))
    here, there = output.detach().clone(), torch.full((3, 4), float("nan"))
    if rank == 0:
        dist.send(here, 1)
        dist.recv(there)  # from anybody
    else:
        dist.recv(there, 0)
        dist.send(here, 0)
    saw(there)
    dist.all_reduce(there)
    works = [dist.isend(here * 2, other, tag=3), dist.irecv(there, other, tag=3)]
    for work in works:
        work.wait()
    saw(there)
    operations = [dist.P2POp(dist.isend, here * 3, other), dist.P2POp(dist.irecv, there, other)]
    for work in dist.batch_isend_irecv(operations):
        work.wait()
    saw(there)
    (output * there).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    saw(model.weight)
with open(sys.argv[1] + str(rank), "w") as file:
    json.dump(seen, file)
dist.destroy_process_group()
"""
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "PLUMB_PACKAGE": os.path.dirname(os.path.dirname(plumb.__file__))}


class Messages(CaptureTest):
    def setUp(self):
        super().setUp()
        with open(self.path("program.py"), "w", encoding="utf-8") as file:
            file.write(PROGRAM)

    def seen(self, name):
        found = []
        for rank in range(2):
            with open(self.path(f"{name}{rank}"), encoding="utf-8") as file:
                found.append(json.load(file))
        return found

    def test_messages(self):
        self.torchrun(2, self.path("program.py"), self.path("with"), options=["--level", "op"], env=ENVIRONMENT)
        launcher = os.path.join(os.path.dirname(sys.executable), "torchrun")
        subprocess.run([launcher, *TORCHRUN, "2", self.path("program.py"), self.path("without")], check=True,
                       capture_output=True, env=ENVIRONMENT)
        seen = self.seen("with")
        self.assertEqual(seen, self.seen("without"))
        self.check_records(plumb.load(self.path("run")), seen)
        self.check_sequences()

    def check_records(self, run, seen):
        """seen: of each step the message, that with a tag, that of the batch, the weights."""
        for step in range(2):
            for rank in range(2):
                came = self.messages(run, step, rank, f"{1 - rank}>{rank}")
                given = self.messages(run, step, 1 - rank, f"{1 - rank}>{rank}")
                self.assertEqual(list(came.values()), seen[rank][4 * step:4 * step + 3])
                self.assertEqual(list(given.values()), list(came.values()))
                ops = [f"{1 - rank}>{rank}{rest}" for rest in (".message", " tag 3.message", ".message#1")]
                self.assertEqual(list(came), [(op, "output0") for op in ops])
                self.assertEqual(list(given), [(op, "input0") for op in ops])

    def messages(self, run, step, rank, way):
        found = {}
        for record in run.records(f"{way}*.message", step, rank):
            self.assertEqual(record["phase"], "collective")
            self.assertIn("program.py:", record["called_at"])
            found[record["op"], record["slot"]] = record["fingerprint"]
        return found

    def check_sequences(self):
        """The n-th on a way is the n-th on both ranks; what all do together counts for itself."""
        subprocess.run([PLUMB, "export", self.path("run"), "--json", self.path("all.json")], check=True, capture_output=True)
        with open(self.path("all.json"), encoding="utf-8") as file:
            rows = json.load(file)["collectives"]
        for way, count in (("0>1", 4), ("1>0", 4), ("0>1 tag 3", 2), ("1>0 tag 3", 2)):
            for rank in range(2):
                name = "send" if way.startswith(str(rank)) else "recv"
                self.assertEqual([(row["sequence"], row["name"], row["bytes"]) for row in rows
                                  if row["group"] == way and row["rank"] == rank], [(i, name, 48) for i in range(count)])
        for rank in range(2):
            self.assertEqual([row["sequence"] for row in rows if row["group"] == "world" and row["rank"] == rank], [0, 1])


if __name__ == "__main__":
    unittest.main()
