"""A small residual network that tells apart four kinds of patterns. Makes its own images, runs on the CPU.

    plumb run --level module --steps 0-3 -- python examples/torch/resnet_like.py
"""
import argparse

import torch
import torch.nn.functional as F
from torch import nn


class Residual(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(outputs)
        self.relu = nn.ReLU(inplace=True)
        self.shortcut = nn.Identity()
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = self.relu(self.norm1(self.conv1(x)))
        return self.relu(self.norm2(self.conv2(y)) + self.shortcut(x))


class ResNet(nn.Module):
    def __init__(self, width=12, classes=4):
        super().__init__()
        self.stem = nn.Conv2d(1, width, 3, 1, 1, bias=False)
        self.stages = nn.Sequential(Residual(width, width, 1), Residual(width, 2 * width, 2), Residual(2 * width, 4 * width, 2))
        self.classify = nn.Linear(4 * width, classes)

    def forward(self, x):
        return self.classify(self.stages(self.stem(x)).mean((2, 3)))


class Patterns(torch.utils.data.Dataset):
    """Stripes across, stripes down, a checker board, a ring; with noise."""

    def __init__(self, count, seed, size=16):
        self.chance = torch.Generator().manual_seed(seed)
        self.labels = torch.randint(0, 4, (count,), generator=self.chance)
        row, column = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
        ring = ((row - size // 2) ** 2 + (column - size // 2) ** 2).sqrt() // 2 % 2
        self.shapes = torch.stack([row // 2 % 2, column // 2 % 2, (row // 2 + column // 2) % 2, ring]).float()
        self.noise = torch.randn(count, size, size, generator=self.chance)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return (self.shapes[self.labels[index]] + self.noise[index])[None], self.labels[index]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--weights", help="save the final weights here")
    arguments = parser.parse_args()

    torch.manual_seed(2)
    model = ResNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=arguments.lr, momentum=0.9, weight_decay=1e-4)
    data = Patterns(arguments.steps * arguments.batch, seed=3)
    loader = torch.utils.data.DataLoader(data, arguments.batch, shuffle=True, num_workers=arguments.workers)

    for step, (images, labels) in enumerate(loader):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        print(f"step {step} loss {loss.item()!r}")
    if arguments.weights:
        torch.save(model.state_dict(), arguments.weights)


if __name__ == "__main__":
    main()
