"""Trains small nets under msprobe, each dump in a process of its own, with one bad kernel or none.

  planted_dumps.py OUT SPEC...      SPEC is NAME:NET:PLANT:TASK:LEVEL, for instance a:gpt:gelu:tensor:mix

The plant sits underneath the API, as a bad device kernel would: same arguments, wrong result. msprobe wraps what it
finds when it is imported, so the plants are there before it and are chosen after it. One import serves all dumps:
each is made by a fork.
"""
import json
import os
import sys

import torch
import torch.nn as nn
import torch.nn.functional as F

CHOSEN = {"plant": None}


def plant(name, module, api, call, spoil):
    real, calls = getattr(module, api), [0]

    def wrapped(*args, **more):
        result = real(*args, **more)
        calls[0] += 1
        return spoil(result) if CHOSEN["plant"] == name and calls[0] == call + 1 else result

    setattr(module, api, wrapped)


def first_token(y):
    factors = torch.ones(1, y.shape[1], 1)
    factors[:, 0] = 1.002
    return y * factors


plant("gelu", F, "gelu", 1, first_token)
plant("softmax", F, "softmax", 1, lambda y: y.bfloat16().float())
plant("conv", F, "conv2d", 2, lambda y: torch.cat([y[:, :2], y[:, 1:2], y[:, 3:]], 1))
plant("norm", F, "batch_norm", 1, lambda y: y * 0.97)
plant("nan", F, "layer_norm", 3, lambda y: torch.cat([y[..., :1] * float("nan"), y[..., 1:]], -1))

from msprobe.pytorch import PrecisionDebugger, seed_all  # noqa: E402


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.ln1, self.qkv, self.proj = nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.ln2, self.fc1, self.fc2, self.act = nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.Linear(4 * width, width), nn.GELU()

    def forward(self, x):
        q, k, v = self.qkv(self.ln1(x)).split(x.shape[-1], -1)
        scores = torch.matmul(q, k.transpose(-2, -1)) * x.shape[-1] ** -0.5
        x = x + self.proj(torch.matmul(F.softmax(scores, -1), v))
        return x + self.fc2(self.act(self.fc1(self.ln2(x))))


class Gpt(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte, self.blocks = nn.Embedding(40, 16), nn.ModuleList(Block(16) for _ in range(2))
        self.ln_f, self.head = nn.LayerNorm(16), nn.Linear(16, 40, bias=False)

    def forward(self, x):
        h = self.wte(x)
        for block in self.blocks:
            h = block(h)
        return self.head(self.ln_f(h)).reshape(-1, 40)


class Conv(nn.Module):
    def __init__(self):
        super().__init__()
        self.convs = nn.ModuleList(nn.Conv2d(c, d, 3, padding=1, bias=False) for c, d in ((3, 4), (4, 8), (8, 8)))
        self.norms = nn.ModuleList(nn.BatchNorm2d(d) for d in (4, 8, 8))
        self.act, self.fc = nn.ReLU(), nn.Linear(8, 10)

    def forward(self, x):
        for conv, norm in zip(self.convs, self.norms):
            x = self.act(norm(conv(x)))
        return self.fc(x.mean((2, 3)))


def train(out, net, plant_name, task, level):
    os.makedirs(out)
    summary, task = ("md5", "statistics") if task == "md5" else ("statistics", task)
    settings = {"scope": [], "list": [], "data_mode": ["all"]}
    if task == "statistics":
        settings["summary_mode"] = summary
    config = os.path.join(out, "config.json")
    with open(config, "w") as file:
        json.dump({"task": task, "dump_path": out, "rank": [], "step": [0, 1], "level": level, task: settings}, file)
    seed_all(7, True)
    debugger = PrecisionDebugger(config_path=config)
    torch.manual_seed(7)
    model = Gpt() if net == "gpt" else Conv()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    CHOSEN["plant"] = plant_name
    for _ in range(2):
        x = torch.randint(0, 40, (2, 8)) if net == "gpt" else torch.randn(4, 3, 8, 8)
        y = torch.randint(0, 40, (16,)) if net == "gpt" else torch.randint(0, 10, (4,))
        debugger.start(model=model)
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        debugger.stop()
        debugger.step()
        optimizer.step()


def main():
    torch.set_num_threads(1)
    for spec in sys.argv[2:]:
        name, *how = spec.split(":")
        child = os.fork()
        if child == 0:
            status = 1
            try:
                train(os.path.join(sys.argv[1], name), *how)
                status = 0
            finally:
                os._exit(status)
        if os.waitpid(child, 0)[1]:
            sys.exit(f"{spec}: the dump failed")


main()
