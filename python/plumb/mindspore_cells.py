"""Module level for MindSpore: inputs, outputs, parameters, gradients and optimizer state of each cell.

Forward: around every cell's call. Backward: hooks on the tensors that flow, in PyNative only, and never while
a compiled function sees the tensor, because it would be compiled with its hooks. All are removed after the backward
pass. Parameter gradients: what the backward pass gave, and what the optimizer was handed.
"""
from mindspore import ParameterTuple
from mindspore.graph.api import _pynative_executor as executor

from . import _plumb
from .capture import guarded
from .mindspore_names import own_parameters
from .mindspore_tensors import tensors_in

STATE_SLOTS = {"moments": "momentum", "moment1": "moment1", "moment2": "moment2", "exp_avg": "moment1",
               "exp_avg_sq": "moment2", "accum": "momentum"}
NOWHERE = ("", 0)


class Entered:
    __slots__ = ("cell", "key", "call", "called")

    def __init__(self, cell, key, call):
        self.cell, self.key, self.call, self.called = cell, key, call, _plumb.stack_now()


class Hooked:
    """A tensor whose gradient is wanted, for one or more places, or tells which operation's backward comes next. It is kept,
    so that its id stays its own."""
    __slots__ = ("tensor", "places", "maker", "handle", "cells")

    def __init__(self, cells, tensor):
        self.cells, self.tensor, self.places, self.maker, self.handle = cells, tensor, [], None, None

    def show(self):
        self.handle = self.tensor.register_hook(self.arrived)

    def hide(self):
        if self.handle is not None:
            self.handle.remove()
            self.handle = None

    def arrived(self, gradient):
        if self.maker is not None:
            self.cells.backward_of = self.maker
        self.cells.record_gradient(self.places, gradient)


class Cells:
    """with_values False: an op-level capture records what flows; here the names and the gradients are added."""

    def __init__(self, watch, with_values=True):
        self.watch = watch
        self.session = session = watch.session
        self.names = watch.names
        self.with_values = with_values
        self.stack = []  # Entered
        self.calls = {}  # (name, class) -> calls in this step
        self.hooked = {}  # id of a tensor -> Hooked
        self.backward_of = NOWHERE  # level op: (module, stack) of the operation whose backward runs
        self.shown = with_values  # the weights that the recording began with; of modules they are always
        session.listen(self)

    def step_begins(self, session):
        self.calls.clear()
        self.drop_hooks()
        if not self.shown and session.recorder.wants_tensors():
            self.shown = True
            self.show_weights()

    @guarded
    def show_weights(self):
        """All that there are, before anything is computed with them."""
        recorder = self.session.recorder
        for _, root in self.names.roots:
            for _, cell in root.cells_and_names():
                own, name, kind = own_parameters(cell), self.names.cells.get(id(cell), ""), type(cell).__name__
                if own and self.wants(name, kind):
                    recorder.enter(_plumb.FORWARD, name, "parameters", 0)
                    for slot, parameter in own:
                        recorder.tensor(f"param:{slot}", parameter)
                    recorder.leave()

    def wants(self, name, kind):
        return self.session.options.wants(f"{name}.{kind}" if name else kind)

    # -- forward --------------------------------------------------------------------------------------

    @guarded
    def enters(self, cell, arguments):
        """Something true if the cell is to be left again."""
        recorder = self.session.recorder
        if recorder is None and executor.requires_grad() and self.watch.open():
            recorder = self.session.recorder
        if recorder is None or not recorder.wants_tensors():
            return None
        name, kind = self.names.of_cell(cell), type(cell).__name__
        if name is None:
            return None
        key = (name, kind)
        call = self.calls.get(key, 0)
        self.calls[key] = call + 1
        entered = Entered(cell, key, call)
        self.stack.append(entered)
        if self.with_values and self.wants(name, kind):
            recorder.enter(_plumb.FORWARD, name, kind, call)
            recorder.called_at(entered.called)
            self._record("input", arguments, "output", entered)
            for own, parameter in own_parameters(cell):
                recorder.tensor(f"param:{own}", parameter)
        return entered

    @guarded
    def leaves(self, entered, result):
        while self.stack and self.stack.pop() is not entered:
            pass
        if self.with_values and self.wants(*entered.key) and self.session.recorder:
            self._record("output", result, "input", entered)
            self.session.recorder.leave()

    def _record(self, slot, values, slot_of_gradient, entered):
        recorder, differentiated = self.session.recorder, executor.requires_grad()
        for place, tensor in enumerate(tensors_in(values)):
            recorder.tensor(f"{slot}{place}", tensor)
            if differentiated and has_history(tensor):
                self._hook(tensor).places.append((entered, f"{slot_of_gradient}{place}"))

    def module(self):
        """The name of the cell that is being run, for operations."""
        return self.stack[-1].key[0] if self.stack else ""

    # -- backward -------------------------------------------------------------------------------------

    def _hook(self, tensor):
        hooked = self.hooked.get(id(tensor))
        if hooked is None:
            hooked = self.hooked[id(tensor)] = Hooked(self, tensor)
            hooked.show()
        return hooked

    @guarded
    def record_gradient(self, places, gradient):
        recorder = self.session.recorder
        if recorder is None or gradient is None:
            return
        for entered, slot in places:
            recorder.enter(_plumb.BACKWARD, *entered.key, entered.call)
            recorder.called_at(entered.called)
            recorder.tensor(slot, gradient)
            recorder.leave()

    def follow(self, tensor, maker):
        """An operation made this tensor at (module, stack): what is computed after its gradient has come belongs there."""
        if has_history(tensor):
            hooked = self._hook(tensor)
            if hooked.maker is None:
                hooked.maker = maker

    @guarded
    def hide_hooks(self, arguments):
        """Before a compiled function gets these: it would be compiled with the hooks. At level op tensors have other
        objects outside of the dispatch, so that all are hidden."""
        found = list(self.hooked.values()) if not self.with_values else [
            self.hooked[id(t)] for t in tensors_in(arguments, 64) if id(t) in self.hooked]
        for hooked in found:
            hooked.hide()
        return found

    @guarded
    def show_hooks(self, hidden):
        for hooked in hidden:
            hooked.show()

    @guarded
    def drop_hooks(self):
        for hooked in self.hooked.values():
            hooked.hide()
        self.hooked.clear()
        self.backward_of = NOWHERE

    @guarded
    def after_backward(self, weights, result):
        recorder = self.session.recorder
        if recorder is None or weights is None or not recorder.wants_tensors():
            return
        weights = list(weights) if isinstance(weights, (list, tuple)) else [weights]
        for parameter, gradient in zip(weights, weight_gradients(result, len(weights))):
            name, kind, own = self.names.owners.get(id(parameter), ("", "parameters", parameter.name))
            if self.wants(name, kind):
                recorder.enter(_plumb.BACKWARD, name, kind, 0)
                recorder.tensor(f"grad:{own}", gradient)
                recorder.leave()

    # -- the optimizer ----------------------------------------------------------------------------------

    @guarded
    def before_update(self, optimizer, gradients):
        for parameter, gradient in zip(optimizer.parameters, gradients):
            self._record_update(parameter, [("grad", gradient)])

    @guarded
    def after_update(self, optimizer):
        parameters = optimizer.parameters
        states = [(STATE_SLOTS.get(name, f"state:{name}"), value) for name, value in vars(optimizer).items()
                  if isinstance(value, ParameterTuple) and len(value) == len(parameters) and value[0] is not parameters[0]]
        for index, parameter in enumerate(parameters):
            self._record_update(parameter, [("param", parameter)] + [(slot, value[index]) for slot, value in states])

    def _record_update(self, parameter, tensors):
        recorder = self.session.recorder
        if recorder is None or not recorder.wants_tensors() or not self.wants(parameter.name, "update"):
            return
        recorder.enter(_plumb.OPTIMIZER, parameter.name, "update", 0)
        recorder.called_at(_plumb.stack_now())
        for slot, tensor in tensors:
            recorder.tensor(slot, tensor)
        recorder.leave()


def has_history(tensor):
    """Did a differentiable operation make it?"""
    return getattr(tensor, "_requires_grad", False) and not getattr(tensor, "_is_leaf", False)


def weight_gradients(result, count):
    """Of what a backward pass gave, the part for the weights: it may give gradients of inputs as well."""
    if isinstance(result, (list, tuple)):
        if len(result) == 2 and isinstance(result[1], (list, tuple)) and len(result[1]) == count:
            return result[1]
        return result if len(result) == count else ()
    return [result] if count == 1 else ()
