"""The same networks in MindSpore, well and with one thing wrong; one process records all that is asked for.

    mindspore_side.py FOLDER LEVEL NETWORK[:FAULT]...
"""
import gc
import os
import sys

import mindspore
import numpy as np
from mindspore import Parameter, Tensor, nn, ops
from mindspore.experimental import optim

import cases


class Mlp(nn.Cell):
    def __init__(self, fault):
        super().__init__()
        self.first = nn.Dense(16, 32, has_bias=fault != "bias")
        self.second = nn.Dense(32, 32)
        self.head = nn.Dense(32, 5)
        self.drop = nn.Dropout(p=0.1) if fault == "dropout" else None

    def construct(self, x):
        x = ops.relu(self.first(x))
        if self.drop is not None:
            x = self.drop(x)
        return self.head(ops.tanh(self.second(x)))


class RenamedMlp(nn.Cell):
    """The same with names of its own, and a cell more around one of them."""

    NAMES = {"first": "entry", "second": "middle.dense", "head": "leave"}

    def __init__(self):
        super().__init__()
        self.entry = nn.Dense(16, 32)
        self.middle = Inner()
        self.leave = nn.Dense(32, 5)

    def construct(self, x):
        return self.leave(ops.tanh(self.middle(ops.relu(self.entry(x)))))


class Inner(nn.Cell):
    def __init__(self):
        super().__init__()
        self.dense = nn.Dense(32, 32)

    def construct(self, x):
        return self.dense(x)


class Cnn(nn.Cell):
    def __init__(self, fault):
        super().__init__()
        self.one = nn.Conv2d(1, 8, 3, pad_mode="pad", padding=1, has_bias=True)
        self.norm_one = nn.BatchNorm2d(8, momentum=0.1 if fault == "momentum" else 0.9)
        self.act = nn.ReLU()
        self.pool = nn.MaxPool2d(2, 2)
        self.two = nn.Conv2d(8, 12, 3, pad_mode="pad", padding=1, has_bias=fault != "bias")
        self.norm_two = nn.BatchNorm2d(12, eps=1e-3 if fault == "eps" else 1e-5)
        self.head = nn.Dense(192, 5)

    def construct(self, x):
        x = self.pool(self.act(self.norm_one(self.one(x))))
        x = self.act(self.norm_two(self.two(x)))
        return self.head(x.reshape((x.shape[0], -1)))


class Attention(nn.Cell):
    def __init__(self, fault):
        super().__init__()
        self.query, self.key, self.value, self.out = (nn.Dense(16, 16) for _ in range(4))
        self.copies = fault != "contiguous"

    def construct(self, x):
        batch, length, width = x.shape
        query, key, value = (part(x).reshape((batch, length, 2, 8)).transpose((0, 2, 1, 3))
                             for part in (self.query, self.key, self.value))
        scores = ops.matmul(query, key.swapaxes(-1, -2)) / np.float32(8 ** 0.5)
        mixed = ops.matmul(ops.softmax(scores, -1), value)
        if self.copies:
            mixed = mixed.transpose((0, 2, 1, 3))
        return self.out(mixed.reshape((batch, length, width)))  # without the copy: in the order of the memory


class Block(nn.Cell):
    def __init__(self, fault):
        super().__init__()
        self.words = nn.Embedding(20, 16)
        self.places = nn.Embedding(6, 16)
        self.before = nn.LayerNorm((16,), epsilon=1e-5)
        self.attention = Attention(fault)
        self.between = nn.LayerNorm((16,), epsilon=1e-2 if fault == "eps" else 1e-5)
        self.widen = nn.Dense(16, 32)
        self.act = nn.GELU(approximate=fault == "gelu")
        self.narrow = nn.Dense(32, 16)
        self.drop = nn.Dropout(p=0.1 if fault == "dropout" else 0.0)
        self.head = nn.Dense(16, 20)

    def construct(self, tokens):
        x = self.words(tokens) + self.places(ops.arange(tokens.shape[1]))
        x = x + self.attention(self.before(x))
        x = x + self.drop(self.narrow(self.act(self.widen(self.between(x)))))
        return self.head(x).reshape((-1, 20))


def own_name(fault, name):
    """What MindSpore calls the parameter that torch calls `name`."""
    module, leaf = name.rsplit(".", 1)
    if fault == "renamed":
        module = RenamedMlp.NAMES[module]
    part = module.rsplit(".", 1)[-1]
    if part.startswith("norm") or part in ("before", "between"):
        leaf = {"weight": "gamma", "bias": "beta"}[leaf]
    elif part in ("words", "places"):
        leaf = "embedding_table"
    return f"{module}.{leaf}"


def load(network, fault, net):
    parameters = {parameter.name: parameter for parameter in net.get_parameters()}
    for name, values in cases.weights(network).items():
        if fault == "transposed" and name == {"mlp": "second.weight", "block": "attention.key.weight"}[network]:
            values = np.ascontiguousarray(values.T)
        own = own_name(fault, name)
        if own in parameters:
            parameters[own].set_data(Tensor(values))


def optimizer_of(network, net):
    if network == "block":
        return optim.AdamW(net.trainable_params(), lr=1e-3, weight_decay=0.01)
    return nn.Momentum(net.trainable_params(), 0.05, 0.9)


def train(network, fault):
    mindspore.set_seed(0)
    net = RenamedMlp() if fault == "renamed" else {"mlp": Mlp, "cnn": Cnn, "block": Block}[network](fault)
    net.set_train()
    load(network, fault, net)
    optimizer = optimizer_of(network, net)

    def forward(x, y):
        loss = ops.cross_entropy(net(x), y)
        return loss * 2 if fault == "scaled" else loss

    gradients_of = mindspore.value_and_grad(forward, None, optimizer.parameters)
    for x, y in cases.batches(network):
        x, y = Tensor(x), Tensor(y)
        if fault in ("accumulate", "average"):
            parts = [gradients_of(x[at:at + 4], y[at:at + 4])[1] for at in (0, 4)]
            gradients = tuple(a + b for a, b in zip(*parts))
            if fault == "accumulate":
                gradients = tuple(gradient / 2 for gradient in gradients)
        else:
            gradients = gradients_of(x, y)[1]
        optimizer(gradients)


def main():
    import plumb
    folder, level, *wanted = sys.argv[1:]
    for name in wanted:
        network, _, fault = name.partition(":")
        session = plumb.attach(out=os.path.join(folder, f"mindspore-{level}-{name.replace(':', '-')}"), level=level)
        session.options.launched = True
        gc.collect()  # or the network before would be found as well
        train(network, fault)
        session.close()


if __name__ == "__main__":
    main()
