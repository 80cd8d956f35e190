"""`plumb run --compute-in float64 --ops LIST`: chosen operators of torch give what they would in float64.

The one deliberate exception from "watching changes nothing": the operator runs as ever, so that shapes, strides and what it
writes to are its own, and its results are then overwritten by those of float64 on the CPU, rounded to their type.
`plumb bisect` finds with it which operators turn a bad run into a good one.
"""
import torch
from torch.nn.modules import module as torch_module
from torch.utils import _python_dispatch

from . import _plumb, torch_ops, torch_reference
from .capture import guarded
from .torch_tracing import is_out_of_reach


class ComputeMode(_python_dispatch.TorchDispatchMode):
    supports_higher_order_operators = True

    def __init__(self, compute):
        super().__init__()
        self.compute = compute

    @classmethod
    def ignore_compile_internals(cls):
        return True

    def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
        keywords = keywords or {}
        expected = self.compute.expect(function, arguments, keywords)
        result = function(*arguments, **keywords)
        if expected is not None:
            self.compute.overwrite(expected, result)
        return result


class Compute:
    """A listener of the session."""

    def __init__(self, session, names):
        self.session = session
        self.names = names
        self.reference = torch_reference.Reference()
        self.labels = {}  # operator -> its name in labels, or None: never
        self.changed = {}  # label -> how often
        self.mode = None
        self.first = None

    def install(self):
        self.first = torch_module.register_module_forward_pre_hook(self.begin)
        self.session.on_close(self.first.remove)
        if self.session.options.level != "op":  # else torch_ops follows the modules
            keep = self.session.on_close
            keep(torch_module.register_module_forward_pre_hook(torch_ops.enters).remove)
            keep(torch_module.register_module_forward_hook(torch_ops.leaves, always_call=True).remove)
        self.session.listen(self)

    @guarded
    def begin(self, module, inputs):
        """The first forward pass of a training."""
        if is_out_of_reach() or not torch.is_grad_enabled() or not self.session.open():
            return
        self.first.remove()
        torch_ops.prepare_modes()
        _plumb.module_resolver(lambda part: [(part, self.names.of_module(part) or "")])
        self.names.of_module(module)
        self.mode = ComputeMode(self)
        self.mode.__enter__()

    @guarded
    def closing(self, session):
        if self.mode is not None and _python_dispatch._get_current_dispatch_mode() is self.mode:
            self.mode.__exit__(None, None, None)
        session.config("capture.compute.changed", self.changed)
        for name, value in self.reference.counts().items():
            if name.startswith(("skipped", "failures")):
                session.config(f"capture.compute.{name}", value)
        if not self.changed:
            session.say("no operator fits --ops: nothing was computed in float64")

    # -- for each operator ----------------------------------------------------------------------------

    def name(self, function):
        if function not in self.labels:
            schema = getattr(function, "_schema", None)
            view = schema is None or torch_ops.describe(schema.name, schema) & torch_ops.VIEW
            self.labels[function] = None if view else schema.name.removeprefix("aten::").replace("::", ".")
        return self.labels[function]

    @guarded
    def expect(self, function, arguments, keywords):
        name = self.name(function)
        if name is None:
            return None
        _, module = _plumb.dispatch_context()
        label = f"{module}.{name}" if module else name
        if not self.session.options.wants(label, name):
            return None
        expected = self.reference.expect(function, arguments, keywords)
        if expected is not None:
            self.changed[label] = self.changed.get(label, 0) + 1
        return expected

    @guarded
    def overwrite(self, expectation, result):
        _, expected, written = expectation
        found = torch_reference.tensors_of(written if result is None else result)
        with torch_reference.undisturbed():
            for ours, theirs in zip(found, expected):
                if ours.is_floating_point() and ours.shape == theirs.shape:
                    ours.data.copy_(theirs)  # .data: autograd counts no change


def install(session, names):
    Compute(session, names).install()
