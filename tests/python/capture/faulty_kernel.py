"""A small network whose gelu or softmax has a faulty float32 kernel, if the command line says so.

The kernels are right in float64, as those of the CPU are where a device's are not.
"""
import sys

import torch
from torch import nn

torch.manual_seed(1)
torch.set_num_threads(1)
library = torch.library.Library("aten", "IMPL")


def gelu(x, *, approximate="none"):
    y = x * 0.5 * (1 + torch.erf(x * 0.5 ** 0.5))
    return y * 1.002 if x.dtype == torch.float32 else y


def softmax(x, dim, half_to_float):
    wide = x if x.dtype == torch.float64 else x.to(torch.bfloat16)
    e = torch.exp(wide - wide.amax(dim, keepdim=True))
    return (e / e.sum(dim, keepdim=True)).to(x.dtype)


if "gelu" in sys.argv:
    library.impl("gelu", gelu, "CPU")
if "softmax" in sys.argv:
    library.impl("_softmax", softmax, "CPU")


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inside, self.outside = nn.Linear(16, 32), nn.Linear(32, 4)

    def forward(self, x):
        x = torch.tanh(self.inside(x)) * torch.softmax(x.repeat(1, 2), -1) * 20
        return self.outside(nn.functional.gelu(x))


net = Net()
optimizer = torch.optim.SGD(net.parameters(), 0.5)
for step in range(3):
    x, t = torch.randn(16, 16), torch.randint(0, 4, (16,))
    loss = nn.functional.cross_entropy(net(x), t)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item().hex())
