"""What is said once a run about a torch program: model, optimizers, seeds, switches, data loaders."""
import sys

import torch

from . import _plumb, module_settings
from .capture import guarded
from .torch_names import class_name, is_lazy

now = _plumb.now
LARGEST_BATCH = 8 << 20  # bytes of which a fingerprint is taken at every step


def describe(names, optimizers):
    yield from models(names)
    for number, optimizer in enumerate(sorted(optimizers, key=lambda o: type(o).__name__)):
        yield from of_optimizer(optimizer, f"optimizer{number}" if number else "optimizer", names)


def switches():
    yield "seed", torch.initial_seed()
    yield "determinism.algorithms", torch.are_deterministic_algorithms_enabled()
    yield "determinism.cudnn", torch.backends.cudnn.deterministic
    yield "determinism.cudnn_benchmark", torch.backends.cudnn.benchmark
    yield "threads", torch.get_num_threads()
    yield "precision.default", str(torch.get_default_dtype()).removeprefix("torch.")
    yield "precision.matmul", torch.get_float32_matmul_precision()
    yield "device.cuda", torch.cuda.device_count() if torch.cuda.is_available() else 0
    distributed = sys.modules.get("torch.distributed")
    if distributed and distributed.is_available() and distributed.is_initialized():
        yield "parallel.world", distributed.get_world_size()
        yield "parallel.backend", distributed.get_backend()


def models(names):
    counts = {"all": 0, "trainable": 0}
    tree, shapes = [], {}
    seen = set()
    for prefix, root in names.roots:
        for module in root.modules():
            own = [(name, p) for name, p in module.named_parameters(recurse=False) if not is_lazy(p)]
            tree.append([names.modules.get(id(module), ""), class_name(module), sum(p.numel() for _, p in own)])
            for name, parameter in own:
                if id(parameter) in seen:
                    continue
                seen.add(id(parameter))
                counts["all"] += parameter.numel()
                counts["trainable"] += parameter.numel() if parameter.requires_grad else 0
                shapes[names.parameters[id(parameter)]] = {
                    "shape": list(parameter.shape), "dtype": str(parameter.dtype).removeprefix("torch."),
                    "trainable": parameter.requires_grad}
    if names.roots:
        yield "model.name", class_name(names.roots[0][1])
    yield "model.parameters", counts["all"]
    yield "model.trainable", counts["trainable"]
    yield "model.tree", tree
    yield "model.shapes", shapes
    for _, root in names.roots:
        for module in root.modules():
            yield from module_settings.describe("torch", names.modules.get(id(module), ""), class_name(module), module,
                                                module.extra_repr)


def of_optimizer(optimizer, key, names):
    yield f"{key}.name", type(optimizer).__name__
    groups = []
    for number, group in enumerate(optimizer.param_groups):
        settings = {name: value for name, value in group.items() if name != "params" and is_plain(value)}
        settings["parameters"] = [names.of_parameter(p, number, i) for i, p in enumerate(group["params"])]
        groups.append(settings)
    yield f"{key}.groups", groups
    for name, value in groups[0].items() if groups else ():
        if name == "betas":
            yield f"{key}.beta1", value[0]
            yield f"{key}.beta2", value[1]
        elif name != "parameters":
            yield f"{key}.{name}", value


def is_plain(value):
    return value is None or isinstance(value, (bool, int, float, str)) or (
        isinstance(value, (tuple, list)) and all(isinstance(item, (int, float)) for item in value))


class DataLoaders:
    """How long the training waits for each batch, what the loader was told, and which batch it was."""

    def __init__(self, watch):
        self.watch = watch
        self.session = watch.session
        self.described = 0
        self.first = []  # the batch that came before there was a recorder

    def install(self):
        loader = torch.utils.data.dataloader
        self.session.replace(loader.DataLoader, "__iter__", self._iter)
        self.session.replace(loader._BaseDataLoaderIter, "__next__", self._next)

    def _iter(self, original):
        def __iter__(loader):
            self.describe(loader)
            return original(loader)

        return __iter__

    def _next(self, original):
        def __next__(iterator):
            if self.session.over or torch.utils.data.get_worker_info() is not None:
                return original(iterator)
            began = now()
            batch = original(iterator)
            self.took(batch, began, now())
            return batch

        return __next__

    @guarded
    def describe(self, loader):
        if self.described >= 4:  # the loaders of evaluations come again and again
            return
        key = f"data{self.described}" if self.described else "data"
        self.described += 1
        for name, value in (("workers", loader.num_workers), ("batch", loader.batch_size), ("drop_last", loader.drop_last),
                            ("pin_memory", loader.pin_memory), ("prefetch", loader.prefetch_factor),
                            ("persistent_workers", loader.persistent_workers), ("timeout", loader.timeout),
                            ("sampler", type(loader.sampler).__name__), ("dataset", type(loader.dataset).__name__),
                            ("samples", len(loader.dataset) if hasattr(loader.dataset, "__len__") else None)):
            self.session.config(f"{key}.{name}", value)

    @guarded
    def took(self, batch, began, ended):
        session = self.session
        session.phase("data wait", began, ended)
        tensors = list(leaves(batch, 8))
        if tensors and tensors[0].ndim:
            self.watch.samples += tensors[0].shape[0]
        if session.recorder:
            self.record(tensors)
        else:
            self.first = tensors

    def opened(self):
        tensors, self.first = self.first, []
        if tensors:
            self.record(tensors)

    def record(self, tensors):
        recorder = self.session.recorder
        if not recorder.wants_spans():
            return
        record = recorder.tensor if recorder.wants_tensors() else recorder.fingerprint
        recorder.enter(_plumb.FORWARD, "data", "batch")
        for number, tensor in enumerate(tensors):
            if tensor.numel() * tensor.element_size() <= LARGEST_BATCH:
                record(f"output{number}", tensor)
        recorder.leave()


def leaves(batch, most):
    """The tensors in a batch, at most so many."""
    waiting = [batch]
    while waiting and most:
        thing = waiting.pop(0)
        if isinstance(thing, torch.Tensor):
            most -= 1
            yield thing
        elif isinstance(thing, dict) or hasattr(thing, "values") and callable(thing.values):
            waiting.extend(thing.values())
        elif isinstance(thing, (list, tuple)):
            waiting.extend(thing)
