"""MindSpore programs as people write them, run plain and recorded in one process; prints what came of it as JSON.

    mindspore_programs.py FOLDER

A process of its own, because MindSpore takes seconds to start and must not meet the sessions of torch's tests.
Each program trains and gives (losses as it would print them, its networks).
"""
import json
import os
import sys
import traceback

import mindspore
import numpy as np
from mindspore import Tensor, amp, nn, ops
from mindspore.experimental import optim

LEVELS = [dict(level="watch"), dict(level="module"), dict(level="module", save="fingerprint"),
          dict(level="module", save="tensors", steps="1-2"), dict(level="op"), dict(level="op", save="tensors", steps="1-2")]


class Net(nn.Cell):
    """Convolution, a transposed view, an embedding's worth of weights, dropout."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3, has_bias=True)
        self.norm = nn.BatchNorm2d(4)
        self.act = nn.ReLU()
        self.drop = nn.Dropout(p=0.2)
        self.head = nn.SequentialCell(nn.Dense(4 * 36, 12), nn.Tanh(), nn.Dense(12, 3))

    def construct(self, x):
        x = self.drop(self.act(self.norm(self.conv(x))))
        return self.head(x.swapaxes(1, 2).reshape((x.shape[0], -1)))


class Round(nn.Cell):
    def construct(self, x):
        return x.astype(mindspore.bfloat16)


class Words(nn.Cell):
    """With bf16 in the middle: the CPU has no more than a conversion for it."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(20, 8)
        self.round = Round()
        self.head = nn.Dense(8, 20)

    def construct(self, tokens):
        return self.head(self.round(self.table(tokens)).astype(mindspore.float32))


def images(count=4, size=8):
    chance = np.random.default_rng(7)
    for _ in range(count):
        x = chance.standard_normal((size, 1, 6, 6), dtype=np.float32)
        yield Tensor(x), Tensor((x.sum((1, 2, 3)) > 0).astype(np.int32))


def sentences(count=4):
    chance = np.random.default_rng(8)
    for _ in range(count):
        yield Tensor(chance.integers(0, 20, (3, 5)).astype(np.int32)), Tensor(chance.integers(0, 20, 15).astype(np.int32))


def value(loss):
    return float(loss.asnumpy())


def functional(make=lambda net: nn.Adam(net.trainable_params(), nn.cosine_decay_lr(0.0, 0.01, 4, 1, 4))):
    net, loss_of = Net(), nn.CrossEntropyLoss()
    net.set_train()
    optimizer = make(net)

    def forward(x, y):
        logits = net(x)
        return loss_of(logits, y), logits

    gradients_of = mindspore.value_and_grad(forward, None, optimizer.parameters, has_aux=True)
    losses = []
    for x, y in images():
        (loss, _), gradients = gradients_of(x, y)
        optimizer(ops.clip_by_global_norm(gradients, 1.0))
        losses.append(value(loss))
    return losses, [net]


def scheduled():
    return functional(lambda net: nn.SGD(net.trainable_params(), nn.ExponentialDecayLR(0.1, 0.5, 2), momentum=0.9))


def experimental():
    return functional(lambda net: optim.AdamW(net.trainable_params(), lr=0.01))


def one_step_cell():
    net = Net()
    optimizer = nn.Momentum(net.trainable_params(), 0.05, 0.9)
    train = nn.TrainOneStepCell(nn.WithLossCell(net, nn.CrossEntropyLoss()), optimizer)
    train.set_train()
    return [value(train(x, y)) for x, y in images()], [net]


def bfloat16():
    net, loss_of = Words(), nn.CrossEntropyLoss()
    optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
    gradients_of = mindspore.value_and_grad(lambda x, y: loss_of(net(x).reshape((-1, 20)), y), None, optimizer.parameters)
    losses = []
    for x, y in sentences():
        loss, gradients = gradients_of(x, y)
        optimizer(gradients)
        losses.append(value(loss))
    return losses, [net]


def model_train():
    net, losses = Net(), []
    data = mindspore.dataset.GeneratorDataset(
        lambda: ((x.asnumpy()[0], y.asnumpy()[0]) for x, y in images(16)), ["x", "y"], shuffle=False).batch(4)
    model = mindspore.Model(net, nn.CrossEntropyLoss(), nn.Momentum(net.trainable_params(), 0.05, 0.9))

    class Keep(mindspore.Callback):
        def on_train_step_end(self, run_context):
            losses.append(value(run_context.original_args().net_outputs))

    model.train(1, data, callbacks=[Keep()], dataset_sink_mode=False)
    return losses, [net]


def loss_scale():
    """A scale that is too large for the first steps."""
    net, loss_of = Words(), nn.CrossEntropyLoss()
    optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
    scaler = amp.DynamicLossScaler(2.0**127, 2, 50)

    def forward(x, y):
        loss = loss_of(net(x).reshape((-1, 20)), y) * 3
        return scaler.scale(loss), loss

    gradients_of = mindspore.value_and_grad(forward, None, optimizer.parameters, has_aux=True)
    losses = []
    for x, y in sentences(6):
        (_, (loss,)), gradients = unpack(gradients_of(x, y))
        finite = amp.all_finite(gradients)
        if finite:
            optimizer(scaler.unscale(gradients))
        scaler.adjust(finite)
        losses.append(value(loss))
    return losses, [net]


def unpack(result):
    (scaled, *others), gradients = result
    return (scaled, others), gradients


def accumulation():
    net, loss_of = Words(), nn.CrossEntropyLoss()
    optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
    gradients_of = mindspore.value_and_grad(lambda x, y: loss_of(net(x).reshape((-1, 20)), y) / 2, None, optimizer.parameters)
    losses, parts = [], list(sentences(8))
    for step in range(4):
        (first, a), (second, b) = (gradients_of(*part) for part in parts[2 * step:2 * step + 2])
        optimizer(tuple(x + y for x, y in zip(a, b)))
        losses.append(value(first) + value(second))
    return losses, [net]


def adversaries():
    """Two networks and two optimizers in a step."""
    maker, judge = nn.Dense(4, 6), nn.Dense(6, 1)
    of_maker, of_judge = (nn.Adam(n.trainable_params(), 1e-2) for n in (maker, judge))
    judged = mindspore.value_and_grad(lambda x: ops.softplus(judge(x)).mean(), None, of_judge.parameters)
    made = mindspore.value_and_grad(lambda z: ops.softplus(-judge(maker(z))).mean(), None, of_maker.parameters)
    losses, chance = [], np.random.default_rng(9)
    for _ in range(4):
        loss, gradients = judged(Tensor(chance.standard_normal((8, 6), dtype=np.float32)))
        of_judge(gradients)
        losses.append(value(loss))
        of_maker(made(Tensor(chance.standard_normal((8, 4), dtype=np.float32)))[1])
    return losses, [maker, judge]


def compiled_loss():
    """A compiled function gets tensors that are being watched."""
    net = Words()
    optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)

    @mindspore.jit
    def loss_of(logits, y):
        return ops.cross_entropy(logits, y)

    gradients_of = mindspore.value_and_grad(lambda x, y: loss_of(net(x).reshape((-1, 20)), y), None, optimizer.parameters)
    losses = []
    for x, y in sentences():
        loss, gradients = gradients_of(x, y)
        optimizer(gradients)
        losses.append(value(loss))
    return losses, [net]


def compiled_step():
    net, loss_of = Words(), nn.CrossEntropyLoss()
    optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
    gradients_of = mindspore.value_and_grad(lambda_free(net, loss_of), None, optimizer.parameters)

    @mindspore.jit
    def train(x, y):
        loss, gradients = gradients_of(x, y)
        optimizer(gradients)
        return loss

    return [value(train(x, y)) for x, y in sentences()], [net]


def lambda_free(net, loss_of):
    def forward(x, y):
        return loss_of(net(x).reshape((-1, 20)), y)

    return forward


def graph_mode():
    mindspore.set_context(mode=mindspore.GRAPH_MODE)
    try:
        return one_step_cell()
    finally:
        mindspore.set_context(mode=mindspore.PYNATIVE_MODE)


PROGRAMS = {program: [LEVELS[1]] for program in (scheduled, experimental, model_train, accumulation, adversaries,
                                                 compiled_step, graph_mode)}
PROGRAMS |= {functional: LEVELS, one_step_cell: LEVELS[:2] + LEVELS[4:5], bfloat16: [LEVELS[3]], loss_scale: [LEVELS[0]],
             compiled_loss: [LEVELS[1]]}


def train(program):
    """(losses, weights as bytes by name)"""
    mindspore.set_seed(3)
    np.random.seed(3)
    losses, networks = program()
    return losses, {f"{i}.{p.name}": bits(p) for i, net in enumerate(networks) for p in net.get_parameters()}


def bits(tensor):
    """Of bf16 numpy has no type of its own."""
    array = tensor.asnumpy()
    return (array.view(np.uint16) if tensor.dtype == mindspore.bfloat16 else array).tobytes()


def compare(program, levels, folder):
    import plumb
    losses, weights = train(program)
    result = {"losses": losses, "runs": []}
    for number, options in enumerate(levels):
        path = os.path.join(folder, f"{program.__name__}{number}")
        session = plumb.attach(out=path, **options)
        session.options.launched = True
        said = []
        session.say = said.append
        try:
            again, weights_again = train(program)
        finally:
            session.close()
        result["runs"].append({"path": path, "options": options, "said": said, "losses": again,
                               "weights": weights == weights_again})
    return result


def handed_gradients(folder):
    """What the optimizer was handed, saved by the test itself beside the run."""
    import plumb
    kept = []

    class Momentum(nn.Momentum):
        def construct(self, gradients):
            kept.append([g.asnumpy().copy() for g in gradients])
            return super().construct(gradients)

    names = []

    def make(net):
        optimizer = Momentum(net.trainable_params(), 0.05, 0.9)
        names.extend(p.name for p in optimizer.parameters)
        return optimizer

    path = os.path.join(folder, "handed")
    session = plumb.attach(out=path, level="module", save="tensors")
    session.options.launched = True
    mindspore.set_seed(3)
    functional(make)
    session.close()
    np.savez(os.path.join(folder, "handed.npz"), **{f"{step}.{name}": gradient for step, gradients in enumerate(kept)
                                                    for name, gradient in zip(names, gradients)})
    return {"path": path, "file": os.path.join(folder, "handed.npz"), "names": names}


def callback(folder):
    import plumb
    net = Net()
    data = mindspore.dataset.GeneratorDataset(
        lambda: ((x.asnumpy()[0], y.asnumpy()[0]) for x, y in images(16)), ["x", "y"], shuffle=False).batch(4)
    model = mindspore.Model(net, nn.CrossEntropyLoss(), nn.Momentum(net.trainable_params(), 0.05, 0.9))
    losses = []

    class Keep(mindspore.Callback):
        def on_train_step_end(self, run_context):
            losses.append(value(run_context.original_args().net_outputs))

    path = os.path.join(folder, "callback")
    model.train(2, data, callbacks=[plumb.MindSporeCallback(out=path), Keep()], dataset_sink_mode=False)
    return {"path": path, "losses": losses}


def main():
    folder = sys.argv[1]
    results = {}
    for program, levels in PROGRAMS.items():
        try:
            results[program.__name__] = compare(program, levels, folder)
        except Exception:
            results[program.__name__] = {"error": traceback.format_exc()}
    for extra in (handed_gradients, callback):
        try:
            results[extra.__name__] = extra(folder)
        except Exception:
            results[extra.__name__] = {"error": traceback.format_exc()}
    print("RESULT " + json.dumps(results))


if __name__ == "__main__":
    main()
