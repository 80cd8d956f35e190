"""A small GPT that learns to continue sums: 12+34=46. Makes its own data, runs on the CPU in seconds.

    plumb run -- python examples/torch/gpt.py
"""
import argparse

import torch
import torch.nn.functional as F
from torch import nn

ALPHABET = "0123456789+= "
CONTEXT = 16


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.projection = nn.Linear(width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (part.view(batch, length, self.heads, -1).transpose(1, 2) for part in self.qkv(x).chunk(3, -1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.projection(y.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.feed = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width), nn.Dropout(0.1))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.feed(self.norm2(x))


class GPT(nn.Module):
    def __init__(self, width=64, layers=2, heads=4):
        super().__init__()
        self.tokens = nn.Embedding(len(ALPHABET), width)
        self.positions = nn.Embedding(CONTEXT, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, len(ALPHABET))

    def forward(self, tokens):
        x = self.tokens(tokens) + self.positions(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


class Sums(torch.utils.data.Dataset):
    """Text of CONTEXT + 1 characters; input and target are one character apart."""

    def __init__(self, count, seed):
        chance = torch.Generator().manual_seed(seed)
        pairs = torch.randint(0, 1000, (count, 2), generator=chance).tolist()
        self.texts = [f"{a}+{b}={a + b}".ljust(CONTEXT + 1) for a, b in pairs]

    def __len__(self):
        return len(self.texts)

    def __getitem__(self, index):
        codes = torch.tensor([ALPHABET.index(letter) for letter in self.texts[index]])
        return codes[:-1], codes[1:]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--weights", help="save the final weights here")
    arguments = parser.parse_args()

    torch.manual_seed(arguments.seed)
    model = GPT()
    optimizer = torch.optim.AdamW(model.parameters(), lr=arguments.lr)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, arguments.steps)
    loader = torch.utils.data.DataLoader(Sums(arguments.steps * arguments.batch, arguments.seed), arguments.batch)

    for step, (tokens, targets) in enumerate(loader):
        loss = F.cross_entropy(model(tokens).flatten(0, 1), targets.flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        print(f"step {step} loss {loss.item()!r}")
    if arguments.weights:
        torch.save(model.state_dict(), arguments.weights)


if __name__ == "__main__":
    main()
