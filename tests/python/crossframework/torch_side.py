"""The networks in torch, as the reference; one process records all that is asked for.

    torch_side.py FOLDER LEVEL NETWORK[:VARIANT]...
"""
import gc
import os
import sys

import torch
from torch import nn
from torch.nn import functional as F

import cases


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(16, 32)
        self.second = nn.Linear(32, 32)
        self.head = nn.Linear(32, 5)

    def forward(self, x):
        return self.head(torch.tanh(self.second(F.relu(self.first(x)))))


class Cnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.one = nn.Conv2d(1, 8, 3, padding=1)
        self.norm_one = nn.BatchNorm2d(8)
        self.act = nn.ReLU()
        self.pool = nn.MaxPool2d(2)
        self.two = nn.Conv2d(8, 12, 3, padding=1)
        self.norm_two = nn.BatchNorm2d(12)
        self.head = nn.Linear(192, 5)

    def forward(self, x):
        x = self.pool(self.act(self.norm_one(self.one(x))))
        x = self.act(self.norm_two(self.two(x)))
        return self.head(torch.flatten(x, 1))


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.query, self.key, self.value, self.out = (nn.Linear(16, 16) for _ in range(4))

    def forward(self, x):
        batch, length, width = x.shape
        heads = [part(x).view(batch, length, 2, 8).transpose(1, 2) for part in (self.query, self.key, self.value)]
        mixed = F.scaled_dot_product_attention(*heads)
        return self.out(mixed.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(20, 16)
        self.places = nn.Embedding(6, 16)
        self.before = nn.LayerNorm(16)
        self.attention = Attention()
        self.between = nn.LayerNorm(16)
        self.widen = nn.Linear(16, 32)
        self.narrow = nn.Linear(32, 16)
        self.drop = nn.Dropout(0.0)
        self.head = nn.Linear(16, 20)

    def forward(self, tokens):
        x = self.words(tokens) + self.places(torch.arange(tokens.shape[1]))
        x = x + self.attention(self.before(x))
        x = x + self.drop(self.narrow(F.gelu(self.widen(self.between(x)))))
        return self.head(x).reshape(-1, 20)


def optimizer_of(network, model):
    if network == "block":
        return torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01)
    return torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)


def train(network, variant):
    torch.manual_seed(0)
    model = {"mlp": Mlp, "cnn": Cnn, "block": Block}[network]()
    with torch.no_grad():
        for name, values in cases.weights(network).items():
            model.get_parameter(name).copy_(torch.from_numpy(values))
    optimizer = optimizer_of(network, model)
    for x, y in cases.batches(network):
        x, y = torch.from_numpy(x), torch.from_numpy(y).long()
        optimizer.zero_grad()
        if variant == "accumulate":
            for part in range(2):
                F.cross_entropy(model(x[part * 4:part * 4 + 4]), y[part * 4:part * 4 + 4]).backward()
            for parameter in model.parameters():
                parameter.grad.div_(2)
        else:
            F.cross_entropy(model(x), y).backward()
        optimizer.step()


def main():
    import plumb
    folder, level, *wanted = sys.argv[1:]
    for name in wanted:
        network, _, variant = name.partition(":")
        session = plumb.attach(out=os.path.join(folder, f"torch-{level}-{name.replace(':', '-')}"), level=level)
        session.options.launched = True
        gc.collect()  # or the network before would be found as well
        train(network, variant)
        session.close()


if __name__ == "__main__":
    main()
