"""Three networks whose training step is measured: fixed seeds, fixed data, AdamW, gradient clipping."""
import torch
import torch.nn.functional as F
from torch import nn


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.projection = nn.Linear(width, width)
        self.drop = nn.Dropout(0.1)

    def forward(self, x, mask):
        batch, length, width = x.shape
        q, k, v = (part.view(batch, length, self.heads, width // self.heads).transpose(1, 2)
                   for part in self.qkv(x).chunk(3, -1))
        scores = (q @ k.transpose(-2, -1)) * (width // self.heads) ** -0.5
        scores = self.drop(torch.softmax(scores.masked_fill(mask, float("-inf")), -1))
        return self.projection((scores @ v).transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.drop = nn.Dropout(0.1)

    def forward(self, x, mask):
        x = x + self.attention(self.norm1(x), mask)
        return x + self.drop(self.down(F.gelu(self.up(self.norm2(x)))))


class GPT(nn.Module):
    def __init__(self, width, layers, heads, vocabulary, context):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocabulary, width), nn.Embedding(context, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary)
        self.register_buffer("mask", torch.triu(torch.ones(context, context, dtype=torch.bool), 1))

    def forward(self, tokens, targets):
        x = self.tokens(tokens) + self.positions(torch.arange(tokens.shape[1]))
        for block in self.blocks:
            x = block(x, self.mask)
        return F.cross_entropy(self.head(self.norm(x)).flatten(0, 1), targets.flatten())


class Residual(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1, self.norm1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs)
        self.conv2, self.norm2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False), nn.BatchNorm2d(outputs)
        self.relu = nn.ReLU(inplace=True)
        self.shortcut = nn.Identity()
        if inputs != outputs or stride != 1:
            self.shortcut = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = self.norm2(self.conv2(self.relu(self.norm1(self.conv1(x)))))
        return self.relu(y + self.shortcut(x))


class ResNet(nn.Module):
    def __init__(self, width=24, depth=2, classes=10):
        super().__init__()
        layers = [nn.Conv2d(3, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True)]
        inputs = width
        for stage in range(3):
            for number in range(depth):
                layers.append(Residual(inputs, width << stage, 2 if stage and not number else 1))
                inputs = width << stage
        self.body, self.classify = nn.Sequential(*layers), nn.Linear(inputs, classes)

    def forward(self, x, y):
        return F.cross_entropy(self.classify(self.body(x).mean((2, 3))), y)


NAMES = ("tiny-gpt", "gpt", "resnet")


def build(name):
    """(model, step): step() trains once and gives the loss."""
    torch.manual_seed(1)
    chance = torch.Generator().manual_seed(2)
    if name == "resnet":
        model = ResNet()
        data = [(torch.randn(32, 3, 32, 32, generator=chance), torch.randint(10, (32,), generator=chance))
                for _ in range(4)]
    else:
        width, heads, vocabulary, batch = (128, 4, 512, 4) if name == "tiny-gpt" else (384, 6, 2048, 8)
        model = GPT(width, 4, heads, vocabulary, 128)
        data = [tuple(torch.randint(vocabulary, (batch, 128), generator=chance) for _ in range(2)) for _ in range(4)]
    optimizer = torch.optim.AdamW(model.parameters(), 3e-4)
    number = 0

    def step():
        nonlocal number
        x, y = data[number % 4]
        number += 1
        optimizer.zero_grad(set_to_none=True)
        loss = model(x, y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss

    return model, step
