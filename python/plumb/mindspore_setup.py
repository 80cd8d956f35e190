"""What is said once a run about a MindSpore program: network, optimizers, seeds, switches; and learning rates."""
import mindspore
from mindspore import Tensor, context
from mindspore.experimental import optim

from . import module_settings
from .mindspore_names import own_parameters
from .mindspore_tensors import number

CONTEXT = ("device_target", "deterministic", "max_call_depth", "pynative_synchronize")
SETTINGS = ("momentum", "beta1", "beta2", "eps", "weight_decay", "use_nesterov", "nesterov", "dampening", "loss_scale",
            "use_locking", "clip", "decay")


def experimental_optimizer():
    return optim.Optimizer


def rank():
    communication = mindspore.communication
    if communication.GlobalComm.INITED:
        return communication.get_rank(), communication.get_group_size()
    return None


def describe(names, optimizers):
    yield from switches()
    yield from models(names)
    for place, optimizer in enumerate(sorted(optimizers, key=lambda o: type(o).__name__)):
        yield from of_optimizer(optimizer, f"optimizer{place}" if place else "optimizer", names)


def switches():
    yield "seed", mindspore.get_seed()
    yield "seed.data", mindspore.dataset.config.get_seed()
    yield "mode", "graph" if context.get_context("mode") == mindspore.GRAPH_MODE else "pynative"
    for name in CONTEXT:
        try:
            yield f"context.{name}", context.get_context(name)
        except (ValueError, RuntimeError, KeyError):
            pass  # not every version has it
    yield "parallel.mode", context.get_auto_parallel_context("parallel_mode")


def models(names):
    counts = {"all": 0, "trainable": 0}
    tree, shapes = [], {}
    for _, root in names.roots:
        for _, cell in root.cells_and_names():
            own = [parameter for _, parameter in own_parameters(cell)]
            tree.append([names.cells.get(id(cell), ""), type(cell).__name__, sum(p.size for p in own)])
            for parameter in own:
                if parameter.name in shapes:
                    continue
                counts["all"] += parameter.size
                counts["trainable"] += parameter.size if parameter.requires_grad else 0
                shapes[parameter.name] = {"shape": list(parameter.shape), "dtype": str(parameter.dtype).lower(),
                                          "trainable": parameter.requires_grad}
    if names.roots:
        yield "model.name", type(names.roots[0][1]).__name__
        yield "model.training", names.roots[0][1].training
    yield "model.parameters", counts["all"]
    yield "model.trainable", counts["trainable"]
    yield "model.tree", tree
    yield "model.shapes", shapes
    for _, root in names.roots:
        for _, cell in root.cells_and_names():
            yield from module_settings.describe("mindspore", names.cells.get(id(cell), ""), type(cell).__name__, cell,
                                                cell.extend_repr)


def of_optimizer(optimizer, key, names):
    yield f"{key}.name", type(optimizer).__name__
    groups = getattr(optimizer, "param_groups", None)
    if groups:
        parts = [{"parameters": [p.name for p in group["params"]],
                  **{name: plain(value) for name, value in group.items() if name != "params"}} for group in groups]
    else:
        parts = [{"parameters": [p.name for p in optimizer.parameters]}]
    yield f"{key}.groups", parts
    for name in SETTINGS:
        value = plain(getattr(optimizer, name, None))
        if value is not None:
            yield f"{key}.{name}", value
    for name, rate in rates(optimizer, 0, False):
        yield f"{key}.lr{name}", rate


def plain(value):
    """Numbers and words as they are, tensors of one element as a number, the rest not at all."""
    if isinstance(value, Tensor):
        return number(value) if value.size == 1 else None
    if isinstance(value, (list, tuple)):
        parts = [plain(item) for item in value]
        return None if None in parts else parts
    return value if isinstance(value, (bool, int, float, str)) else None


def rates(optimizer, step, may_compute):
    """("" or ".groupN", learning rate of the update numbered `step`); a schedule is a cell that has to be run."""
    groups = getattr(optimizer, "param_groups", None)
    if groups:
        found = [plain(group.get("lr")) for group in groups]
    elif not getattr(optimizer, "dynamic_lr", False):
        found = distinct(optimizer.learning_rate)
    elif isinstance(getattr(optimizer.learning_rate, "learning_rate", None), Tensor):  # one value a step
        values = optimizer.learning_rate.learning_rate.asnumpy().reshape(-1)
        found = [float(values[min(step, len(values) - 1)])]
    else:
        found = distinct(optimizer.get_lr()) if may_compute else []
    for place, rate in enumerate(found):
        if rate is not None:
            yield f".group{place}" if place else "", rate


def distinct(rate):
    """With groups there is one for each parameter."""
    parts = rate if isinstance(rate, (list, tuple)) else [rate]
    return list(dict.fromkeys(plain(part) for part in parts))
