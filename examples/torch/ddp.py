"""Data-parallel training over several processes of one machine, on the CPU.

    plumb run -- torchrun --nproc_per_node 2 examples/torch/ddp.py
"""
import argparse
import sys

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument("--spoil", type=int, default=-1, help="at this step the last rank's weights go astray")
    parser.add_argument("--weights", help="rank 0 saves the final weights here")
    arguments = parser.parse_args()

    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(4)
    net = nn.Sequential(nn.Linear(32, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 8))
    model = DistributedDataParallel(net)
    optimizer = torch.optim.SGD(model.parameters(), lr=arguments.lr, momentum=0.9)

    chance = torch.Generator().manual_seed(100 + rank)  # every rank has data of its own
    teacher = torch.randn(32, 8, generator=torch.Generator().manual_seed(5))
    for step in range(arguments.steps):
        x = torch.randn(16, 32, generator=chance)
        y = (x @ teacher).argmax(1)
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step == arguments.spoil and rank == dist.get_world_size() - 1:
            with torch.no_grad():
                net[2].weight[0, 0] += 1e-3
        # One write a line: print() makes two where output is not buffered, and the ranks share it.
        sys.stdout.write(f"rank {rank} step {step} loss {loss.item()!r}\n")
        sys.stdout.flush()
    if arguments.weights and rank == 0:
        torch.save(net.state_dict(), arguments.weights)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
