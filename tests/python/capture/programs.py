"""Training programs as people write them, small enough to run in a second each.

Each is a function that trains and gives (losses as printed, final weights by name, how many steps that were).
They know nothing of Plumb.
"""
import contextlib
import warnings

import torch
import torch.nn.functional as F
from torch import nn


def classifier(seed=1):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(12, 24), nn.Tanh(), nn.Dropout(0.1), nn.Linear(24, 24), nn.ReLU(inplace=True),
                         nn.Linear(24, 4))


def batches(count, size=8):
    chance = torch.Generator().manual_seed(7)
    for _ in range(count):
        x = torch.randn(size, 12, generator=chance)
        yield x, (x.sum(1) > 0).long() + 2 * (x[:, 0] > 0).long()


def weights(*models):
    return {f"{i}.{name}": value.detach().clone()
            for i, model in enumerate(models) for name, value in model.state_dict().items()}


def plain():
    model, losses = classifier(), []
    optimizer = torch.optim.AdamW(model.parameters(), 1e-2)
    for x, y in batches(6):
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    return losses, weights(model), 6


def convolutions():
    torch.manual_seed(2)
    net = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(inplace=True),
                        nn.Conv2d(4, 4, 3, stride=2, bias=False), nn.Flatten(), nn.Linear(36, 3))
    optimizer = torch.optim.SGD(net.parameters(), 0.05, momentum=0.9)
    data = torch.utils.data.TensorDataset(torch.randn(24, 1, 8, 8), torch.randint(0, 3, (24,)))
    losses = []
    for x, y in torch.utils.data.DataLoader(data, 8, shuffle=True):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, weights(net), 3


def workers():
    """Batches from processes of their own."""
    model, losses = classifier(), []
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    data = torch.utils.data.TensorDataset(*(torch.cat(part) for part in zip(*batches(4))))
    for x, y in torch.utils.data.DataLoader(data, 8, num_workers=2):
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, weights(model), 4


def accumulation():
    model, losses = classifier(), []
    optimizer = torch.optim.AdamW(model.parameters(), 1e-2)
    parts = list(batches(8))
    for step in range(4):
        total = 0.0
        for x, y in parts[2 * step:2 * step + 2]:
            loss = F.cross_entropy(model(x), y) / 2
            loss.backward()
            total += loss.item()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(total)
    return losses, weights(model), 4


def checkpointing(reentrant=False):
    from torch.utils.checkpoint import checkpoint
    torch.manual_seed(3)
    first, second = nn.Sequential(nn.Linear(12, 16), nn.Tanh(), nn.Dropout(0.2)), nn.Linear(16, 4)
    model = nn.ModuleList([first, second])
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    losses = []
    for x, y in batches(4):
        hidden = checkpoint(first, x.requires_grad_(), use_reentrant=reentrant)
        loss = F.cross_entropy(second(hidden), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, weights(model), 4


def reentrant_checkpointing():
    return checkpointing(reentrant=True)


def mixed_precision(fused=False, first_scale=1024.0, factor=1):
    """The first updates are skipped if the scale is too large for the loss."""
    model, losses = classifier(), []
    optimizer = torch.optim.Adam(model.parameters(), 1e-2, fused=fused or None)
    scaler = torch.amp.GradScaler("cpu", init_scale=first_scale)
    for x, y in batches(5):
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16):
            loss = F.cross_entropy(model(x), y) * factor
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    return losses, weights(model), 5


def overflowing_scale():
    return mixed_precision(first_scale=2.0**127, factor=4)


def overflowing_scale_fused():
    return mixed_precision(fused=True, first_scale=2.0**127, factor=4)


def adversaries():
    """A GAN: two networks, two optimizers, one step."""
    torch.manual_seed(5)
    maker = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 6))
    judge = nn.Sequential(nn.Linear(6, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
    of_maker = torch.optim.Adam(maker.parameters(), 1e-3)
    of_judge = torch.optim.Adam(judge.parameters(), 1e-3)
    losses = []
    for _ in range(4):
        real, noise = torch.randn(8, 6), torch.randn(8, 4)
        of_judge.zero_grad()
        loss = F.softplus(-judge(real)).mean() + F.softplus(judge(maker(noise).detach())).mean()
        loss.backward()
        of_judge.step()
        losses.append(loss.item())
        of_maker.zero_grad()
        F.softplus(-judge(maker(noise))).mean().backward()
        of_maker.step()
    return losses, weights(maker, judge), 4


def closures():
    model, losses = classifier(), []
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=3)
    model.eval()
    for x, y in batches(2, 32):
        def closure():
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            return loss
        losses.append(optimizer.step(closure).item())
    return losses, weights(model), 2


def fit(model, steps=4, forward=None):
    losses = []
    optimizer = torch.optim.SGD(model.parameters(), 0.05)
    for x, y in batches(steps):
        loss = F.cross_entropy((forward or model)(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, weights(model), steps


def lazy():
    """Layers that learn the width of their input from the first batch."""
    torch.manual_seed(10)
    model = nn.Sequential(nn.LazyLinear(16), nn.ReLU(), nn.LazyLinear(4))
    model(next(batches(1))[0])
    return fit(model)


@contextlib.contextmanager
def old_ways():
    """torch.jit warns that it is deprecated."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@old_ways()
def scripted():
    model = classifier()
    torch.jit.trace(model.eval(), next(batches(1))[0])
    return fit(torch.jit.script(model.train()))


@old_ways()
def traced_meanwhile():
    """A model is exported now and then."""
    model, exports = classifier().eval(), []

    def forward(x):
        exports.append(torch.jit.trace(model, x).code)
        return model(x)

    losses, final, steps = fit(model, 4, forward)
    assert len(set(exports)) == 1 and "size" not in exports[0]  # nothing but the layers is in it
    return losses, final, steps


def functional():
    """Gradients of each sample on its own, and through an update."""
    model, norms = classifier().eval(), []

    def loss_of(parameters, x, y):
        return F.cross_entropy(torch.func.functional_call(model, parameters, (x,)), y)

    def forward(x):
        parameters = dict(model.named_parameters())
        y = torch.zeros(len(x), dtype=torch.long)
        fixed = {name: p.detach() for name, p in parameters.items()}
        each = torch.func.vmap(torch.func.grad(lambda p, a, b: loss_of(p, a[None], b[None])), (None, 0, 0))(fixed, x, y)
        norms.append(sum(g.square().sum() for g in each.values()).item())
        steps = torch.autograd.grad(loss_of(parameters, x, y), list(parameters.values()), create_graph=True)
        moved = {name: p - 0.1 * step for (name, p), step in zip(parameters.items(), steps)}
        return torch.func.functional_call(model, moved, (x,))

    losses, final, steps = fit(model, 4, forward)
    return losses, {**final, "norms": torch.tensor(norms, dtype=torch.float64)}, steps


def ragged():
    """Batches of sequences of different lengths, both ways that torch has."""
    torch.manual_seed(11)
    model = nn.Linear(12, 4)

    def forward(x):
        parts = [x[:3], x[3:]]
        padded = torch.nested.to_padded_tensor(model(torch.nested.nested_tensor(parts)), 0.0)
        jagged = model(torch.nested.nested_tensor(parts, layout=torch.jagged)).values()
        return jagged + torch.cat([padded[0, :3], padded[1]])

    return fit(model, 4, forward)


def wide(prepare=lambda model: model):
    """Tensors so large that torch splits the work on them among its threads."""
    torch.manual_seed(9)
    model, losses = nn.Sequential(nn.Linear(12, 512), nn.GELU(), nn.LayerNorm(512), nn.Dropout(0.1), nn.Linear(512, 4)), []
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    trained = prepare(model)
    for x, y in batches(4, 256):
        loss = F.cross_entropy(trained(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, weights(model), 4


def wide_compiled():
    torch.compiler.reset()  # else it gives up after eight models
    return wide(torch.compile)


def data_parallel():
    """DistributedDataParallel in a group of one: its hooks and its reducer are at work."""
    import tempfile
    with tempfile.TemporaryDirectory() as folder:
        torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/store", rank=0, world_size=1)
        try:
            return wide(nn.parallel.DistributedDataParallel)
        finally:
            torch.distributed.destroy_process_group()


def compiled():
    torch.compiler.reset()
    model, losses = classifier(), []
    fast = torch.compile(model)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for x, y in batches(4):
        loss = F.cross_entropy(fast(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, weights(model), 4


def trainer():
    """HuggingFace's Trainer with a model that is made from a configuration."""
    import tempfile
    import transformers
    transformers.logging.set_verbosity_error()
    torch.manual_seed(6)
    model = transformers.GPT2LMHeadModel(transformers.GPT2Config(
        vocab_size=32, n_positions=16, n_embd=16, n_layer=1, n_head=2, bos_token_id=0, eos_token_id=0))
    chance = torch.Generator().manual_seed(8)
    data = []
    for _ in range(16):
        tokens = torch.randint(0, 32, (12,), generator=chance)
        data.append({"input_ids": tokens, "labels": tokens.clone()})
    losses = []

    class Keep(transformers.TrainerCallback):
        def on_log(self, arguments, state, control, logs=None, **more):
            if logs and "loss" in logs:
                losses.append(logs["loss"])

    with tempfile.TemporaryDirectory() as folder:
        settings = transformers.TrainingArguments(
            folder, per_device_train_batch_size=4, max_steps=4, logging_steps=1, report_to=[], use_cpu=True,
            save_strategy="no", disable_tqdm=True, gradient_accumulation_steps=2)
        runner = transformers.Trainer(model, settings, train_dataset=data, callbacks=[Keep()])
        runner.remove_callback(transformers.PrinterCallback)
        runner.train()
    return losses, weights(model), 4


ALL = (plain, convolutions, workers, accumulation, checkpointing, reentrant_checkpointing, mixed_precision,
       overflowing_scale, overflowing_scale_fused, adversaries, closures, lazy, scripted, traced_meanwhile,
       functional, ragged)
SLOW = (compiled, trainer)
THREADED = (wide, convolutions, data_parallel, wide_compiled)
