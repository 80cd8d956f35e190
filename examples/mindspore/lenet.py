"""LeNet that tells apart four kinds of patterns. Makes its own images, runs on the CPU.

    plumb run --level module --steps 0-3 -- python examples/mindspore/lenet.py
"""
import argparse

import mindspore
import numpy as np
from mindspore import nn


class LeNet(nn.Cell):
    def __init__(self, classes=4):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 5, pad_mode="valid", has_bias=True)
        self.conv2 = nn.Conv2d(6, 16, 5, pad_mode="valid", has_bias=True)
        self.pool = nn.MaxPool2d(2, 2)
        self.relu = nn.ReLU()
        self.flatten = nn.Flatten()
        self.classify = nn.SequentialCell(nn.Dense(256, 84), nn.ReLU(), nn.Dense(84, classes))

    def construct(self, x):
        x = self.pool(self.relu(self.conv1(x)))
        x = self.pool(self.relu(self.conv2(x)))
        return self.classify(self.flatten(x))


def patterns(count, size=28, seed=3):
    """Stripes across, stripes down, a checker board, a ring; with noise."""
    chance = np.random.default_rng(seed)
    row, column = np.mgrid[:size, :size]
    ring = np.hypot(row - size / 2, column - size / 2) // 3 % 2
    shapes = np.stack([row // 3 % 2, column // 3 % 2, (row // 3 + column // 3) % 2, ring]).astype(np.float32)
    labels = chance.integers(0, 4, count).astype(np.int32)
    return shapes[labels][:, None] + chance.standard_normal((count, 1, size, size), dtype=np.float32), labels


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--lr", type=float, default=0.02)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--graph", action="store_true", help="compile each training step")
    parser.add_argument("--weights", help="save the final weights here")
    arguments = parser.parse_args()

    mindspore.set_seed(1)
    mindspore.set_context(mode=mindspore.GRAPH_MODE if arguments.graph else mindspore.PYNATIVE_MODE)
    network, loss_of = LeNet(), nn.CrossEntropyLoss()
    optimizer = nn.Momentum(network.trainable_params(), learning_rate=arguments.lr, momentum=0.9)
    train = nn.TrainOneStepCell(nn.WithLossCell(network, loss_of), optimizer)
    train.set_train()
    images, labels = patterns(arguments.steps * arguments.batch)
    data = mindspore.dataset.NumpySlicesDataset({"image": images, "label": labels}, shuffle=True).batch(arguments.batch)

    for step, (image, label) in enumerate(data.create_tuple_iterator(num_epochs=1)):
        loss = train(image, label)
        print(f"step {step} loss {float(loss.asnumpy())!r}")
    if arguments.weights:
        mindspore.save_checkpoint(network, arguments.weights)


if __name__ == "__main__":
    main()
