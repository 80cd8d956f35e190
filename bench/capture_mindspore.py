"""What `plumb run --level module` costs a MindSpore training, beside numpy's statistics taken in the same place.

    build/venv/bin/python bench/capture_mindspore.py

Three processes train the same small transformer and take turns: plain, under Plumb, and with Plumb's hooks but
max, min, mean and norm by numpy. PyNative runs on threads that spin, so a step varies by itself: ratios are
medians with quartiles over MINDSPORE_ROUNDS (20) turns. The losses are compared to the last bit.
"""
import itertools
import os
import statistics
import sys
import tempfile

import turns

ROUNDS = int(os.environ.get("MINDSPORE_ROUNDS", "20"))
STEPS = 1  # of a turn
MOST = 1.2
ENVIRONMENT = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "GLOG_v": "3"}


# -- the child ------------------------------------------------------------------------------------------


def transformer():
    """Gives a function that trains one step of two blocks of width 128 and returns the loss."""
    import mindspore
    import numpy as np
    from mindspore import Tensor, nn, ops

    class Block(nn.Cell):
        def __init__(self, width=128, heads=4):
            super().__init__()
            self.heads = heads
            self.norm1, self.norm2 = nn.LayerNorm((width,)), nn.LayerNorm((width,))
            self.qkv, self.out = nn.Dense(width, 3 * width), nn.Dense(width, width)
            self.up, self.act, self.down = nn.Dense(width, 4 * width), nn.GELU(), nn.Dense(4 * width, width)

        def construct(self, x):
            batch, length, width = x.shape
            parts = self.qkv(self.norm1(x)).reshape((batch, length, 3, self.heads, -1)).transpose((2, 0, 3, 1, 4))
            scores = ops.softmax(ops.matmul(parts[0], parts[1].swapaxes(-2, -1)) * (width / self.heads) ** -0.5, -1)
            x = x + self.out(ops.matmul(scores, parts[2]).swapaxes(1, 2).reshape((batch, length, width)))
            return x + self.down(self.act(self.up(self.norm2(x))))

    mindspore.set_seed(1)
    net = nn.SequentialCell(nn.Embedding(256, 128), *(Block() for _ in range(2)), nn.Dense(128, 256))
    net.set_train()
    loss_of, optimizer = nn.CrossEntropyLoss(), nn.Adam(net.trainable_params(), 1e-3)
    gradients_of = mindspore.value_and_grad(lambda x, y: loss_of(net(x).reshape((-1, 256)), y), None, optimizer.parameters)
    chance = np.random.default_rng(2)
    tokens = [Tensor(chance.integers(0, 256, (8, 32)).astype(np.int32)) for _ in range(4)]
    labels = [Tensor(chance.integers(0, 256, 8 * 32).astype(np.int32)) for _ in range(4)]

    def step(number):
        loss, gradients = gradients_of(tokens[number % 4], labels[number % 4])
        optimizer(gradients)
        return loss.asnumpy()

    return step


class NumpyRecorder:
    """A recorder whose statistics come from numpy; all else is the real one's."""

    def __init__(self, real):
        import numpy
        self.real, self.numpy, self.rows = real, numpy, []

    def __getattr__(self, name):
        return getattr(self.real, name)

    def tensor(self, slot, tensor):
        array = tensor.asnumpy()
        if array.size:
            self.rows.append((slot, array.max(), array.min(), array.mean(), self.numpy.linalg.norm(array)))


def child(statistics_by):
    step = transformer()
    if statistics_by == "numpy":
        sys.path.insert(0, os.path.join(turns.ROOT, "python"))
        import plumb
        session = plumb.attach(level="module", out=sys.argv[2])
        session.options.launched = True
        session.open()
        session.recorder = NumpyRecorder(session.recorder)
    numbers = itertools.count()
    turns.answer_turns(lambda: step(next(numbers)), warm_up=4)


# -- the race -------------------------------------------------------------------------------------------


def training(*words, run=None):
    return turns.Child([os.path.abspath(__file__), *words], run=run, environment=ENVIRONMENT)


def quartiles(values):
    low, middle, high = statistics.quantiles(values, n=4)
    return f"{middle:>7.3f} ({low:.3f} - {high:.3f})"


def main():
    with tempfile.TemporaryDirectory() as folder:
        children = {"plain": training("plain"),
                    "plumb": training("plain", run=turns.Run(os.path.join(folder, "run"), ["--level", "module"])),
                    "numpy": training("numpy", os.path.join(folder, "numpy"))}
        times = {name: [] for name in children}
        with turns.started(children):
            for _ in range(ROUNDS):
                turn = turns.race(children, STEPS)
                turns.same_losses(turn, "mindspore")
                for name in turn:
                    times[name].append(turn[name])
    wall = {name: [row[1] / plain[1] for row, plain in zip(rows, times["plain"])] for name, rows in times.items()}
    cpu = {name: [row[0] / plain[0] for row, plain in zip(rows, times["plain"])] for name, rows in times.items()}
    step = statistics.median(row[1] for row in times["plain"]) / STEPS
    print(f"mindspore, a transformer of {1e3 * step:.0f} ms a step, level module, {ROUNDS} turns: ratios with quartiles")
    for name in ("plumb", "numpy"):
        print(f"  {name}  wall {quartiles(wall[name])}  cpu {quartiles(cpu[name])}")
    ours, theirs = (statistics.median(wall[name]) for name in ("plumb", "numpy"))
    good = [(ours <= MOST, f"plumb: wall at most {MOST} times plain: {ours:.3f}"),
            (ours < theirs, f"plumb: less than numpy in the same place: {ours:.3f} against {theirs:.3f}")]
    for reached, text in good:
        print(f"  {'pass' if reached else 'FAIL'}  {text}")
    return 0 if all(reached for reached, _ in good) else 1


if __name__ == "__main__":
    sys.exit(child(sys.argv[1]) if len(sys.argv) > 1 else main())
