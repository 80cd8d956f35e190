"""A training step of a small GPT under msprobe, dumped by msprobe itself. A child of dumps.py.

  msprobe_training.py OUT tensor|statistics|md5 healthy|sick

Sick: the third GELU is 0.2 % too large in the first token, underneath the API as with a bad kernel. The big
net gives 2.1 GiB in 773 files as tensors.
"""
import json
import os
import sys

import torch
import torch.nn as nn
import torch.nn.functional as F

OUT, TASK, HEALTH = sys.argv[1:4]
VOCABULARY, WIDTH, HEADS, BLOCKS, TOKENS, BATCH = 4096, 512, 8, 4, 256, 4
FAULTY_CALL, FACTOR = 2, 1.002

if HEALTH == "sick":
    real, calls = F.gelu, [0]

    def gelu(x, *args, **more):
        y = real(x, *args, **more)
        calls[0] += 1
        if calls[0] != FAULTY_CALL + 1:
            return y
        factors = torch.ones(1, y.shape[1], 1)
        factors[:, 0] = FACTOR
        return y * factors

    F.gelu = gelu

from msprobe.pytorch import PrecisionDebugger, seed_all  # noqa: E402  after the plant


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln1, self.qkv, self.proj = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.ln2, self.fc1, self.fc2 = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
        self.act = nn.GELU()

    def attend(self, x):
        b, t, d = x.shape
        q, k, v = (u.view(b, t, HEADS, d // HEADS).transpose(1, 2) for u in self.qkv(x).split(d, 2))
        scores = torch.matmul(q, k.transpose(-2, -1)) * (d // HEADS) ** -0.5
        scores = scores.masked_fill(torch.triu(torch.ones(t, t, dtype=torch.bool), 1), -1e9)
        return self.proj(torch.matmul(F.softmax(scores, -1), v).transpose(1, 2).reshape(b, t, d))

    def forward(self, x):
        x = x + self.attend(self.ln1(x))
        return x + self.fc2(self.act(self.fc1(self.ln2(x))))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(TOKENS, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(BLOCKS))
        self.ln_f, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, x):
        h = self.wte(x) + self.wpe(torch.arange(x.shape[1]))
        for block in self.blocks:
            h = block(h)
        return self.head(self.ln_f(h))


def main():
    os.makedirs(OUT)
    task = "tensor" if TASK == "tensor" else "statistics"
    settings = {"scope": [], "list": [], "data_mode": ["all"]}
    if task == "statistics":
        settings["summary_mode"] = TASK
    config = os.path.join(OUT, "config.json")
    with open(config, "w") as file:
        json.dump({"task": task, "dump_path": OUT, "rank": [], "step": [0], "level": "mix", task: settings}, file)
    seed_all(1234, True)
    debugger = PrecisionDebugger(config_path=config)
    net = Net()
    tokens = torch.randint(0, VOCABULARY, (BATCH, TOKENS + 1))
    debugger.start(model=net)
    loss = F.cross_entropy(net(tokens[:, :-1]).reshape(-1, VOCABULARY), tokens[:, 1:].reshape(-1))
    loss.backward()
    debugger.stop()
    debugger.step()


main()
