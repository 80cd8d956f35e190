"""Module level for torch: inputs, outputs, parameters, gradients and optimizer state of each module.

Forward: global hooks around every module's call. Backward: hooks on the tensors that go in and come out,
because a module's own backward hooks change the graph. Parameter gradients: when the backward pass
is over, so that they are what param.grad says.
"""
import torch
import torch.optim.optimizer as optimizer_module

from . import _plumb
from .capture import guarded
from .torch_names import class_name, is_lazy
from .torch_tracing import is_out_of_reach

STATE_SLOTS = {"exp_avg": "moment1", "exp_avg_sq": "moment2", "momentum_buffer": "momentum"}


class Modules:
    """with_values False: an op-level capture records what flows; here only parameters' gradients are added."""

    def __init__(self, session, names, with_values=True):
        self.session = session
        self.names = names
        self.with_values = with_values
        self.stack = []  # (module, key, call, where it was called) of the modules that are being run
        self.calls = {}  # label -> calls in this step

    def install(self):
        session, module = self.session, torch.nn.modules.module
        if self.with_values:
            session.on_close(module.register_module_forward_pre_hook(self.enters).remove)
            session.on_close(module.register_module_forward_hook(self.leaves, always_call=True).remove)
            session.on_next(optimizer_module.register_optimizer_step_pre_hook(self.before_update).remove)
            session.on_next(optimizer_module.register_optimizer_step_post_hook(self.after_update).remove)
        session.replace(torch.autograd, "backward", self._backward)
        session.listen(self)

    def _backward(self, original):
        def backward(*arguments, **keywords):
            result = original(*arguments, **keywords)
            self.after_backward()
            return result

        return backward

    def step_begins(self, session):
        self.calls.clear()

    def wants(self, label):
        return self.session.options.wants(label)

    # -- forward --------------------------------------------------------------------------------------

    def enters(self, module, inputs):
        if is_out_of_reach() or self.session.over:
            return
        self._enters(module, inputs)

    @guarded
    def _enters(self, module, inputs):
        if not self.session.recorder and not (torch.is_grad_enabled() and self.session.open()):
            return
        if not self.session.recorder.wants_tensors() or in_backward():
            return
        name = self.names.of_module(module)
        kind = class_name(module)
        called = _plumb.stack_now(self.stack[-1][3] if self.stack else 0, True)
        if name is None or not self.wants(f"{name}.{kind}" if name else kind):
            self.stack.append((module, None, None, called))
            return
        key = (name, kind)
        call = self.calls.get(key, 0)
        self.calls[key] = call + 1
        self.stack.append((module, key, call, called))
        recorder = self.session.recorder
        recorder.enter(_plumb.FORWARD, name, kind, call)
        recorder.called_at(called)
        for number, tensor in enumerate(tensors_in(inputs)):
            recorder.tensor(f"input{number}", tensor)
            if tensor.requires_grad:
                self.hook_gradient(tensor, key, call, called, f"output{number}")
        self._record_weights(recorder, module)

    @staticmethod
    def _record_weights(recorder, module):
        """Running statistics are no parameters, but are learned as well."""
        for own, parameter in module.named_parameters(recurse=False):
            if not is_lazy(parameter):
                recorder.tensor(f"param:{own}", parameter)
        for own, buffer in module.named_buffers(recurse=False):
            if buffer.is_floating_point() and own not in module._non_persistent_buffers_set:
                recorder.tensor(f"param:{own}", buffer)

    @guarded
    def show_weights(self):
        """All that there are, before anything is computed with them."""
        recorder = self.session.recorder
        if not self.names.roots:
            self.names.find_roots(set())
        for _, root in self.names.roots:
            for module in root.modules():
                name, kind = self.names.modules.get(id(module), ""), class_name(module)
                has_any = next(module.parameters(recurse=False), None) is not None
                if has_any and self.wants(f"{name}.{kind}" if name else kind):
                    recorder.enter(_plumb.FORWARD, name, "parameters", 0)
                    self._record_weights(recorder, module)
                    recorder.leave()

    def leaves(self, module, inputs, output):
        if is_out_of_reach() or self.session.over or not self.stack:
            return
        self._leaves(module, output)

    @guarded
    def _leaves(self, module, output):
        if self.stack[-1][0] is not module:
            return
        _, key, call, called = self.stack.pop()
        recorder = self.session.recorder
        if key is None or recorder is None:
            return
        for number, tensor in enumerate(tensors_in(output)):
            recorder.tensor(f"output{number}", tensor)
            if tensor.requires_grad:
                self.hook_gradient(tensor, key, call, called, f"input{number}")
        recorder.leave()

    # -- backward -------------------------------------------------------------------------------------

    def hook_gradient(self, tensor, key, call, called, slot):
        """In the backward pass a module's input is the gradient of its output, and the other way round."""

        def record(gradient):
            recorder = self.session.recorder
            if recorder is not None and gradient is not None:
                recorder.enter(_plumb.BACKWARD, *key, call)
                recorder.called_at(called)
                recorder.tensor(slot, gradient)
                recorder.leave()

        try:
            tensor.register_hook(record)
        except RuntimeError:
            pass  # a tensor without a history of its own

    @guarded
    def after_backward(self):
        recorder = self.session.recorder
        if recorder is None or not recorder.wants_tensors() or in_backward():
            return
        for _, root in self.names.roots:
            for module in root.modules():
                self._record_gradients(recorder, module)

    def _record_gradients(self, recorder, module):
        grads = [(own, p.grad) for own, p in module.named_parameters(recurse=False) if p.grad is not None]
        name, kind = self.names.modules.get(id(module), ""), class_name(module)
        if not grads or not self.wants(f"{name}.{kind}" if name else kind):
            return
        recorder.enter(_plumb.BACKWARD, name, kind, 0)
        for own, gradient in grads:
            recorder.tensor(f"grad:{own}", gradient)
        recorder.leave()

    # -- the optimizer ----------------------------------------------------------------------------------

    @guarded
    def before_update(self, optimizer, arguments, keywords):
        self._each(optimizer, self._before)

    @guarded
    def after_update(self, optimizer, arguments, keywords):
        self._each(optimizer, self._after)

    def _each(self, optimizer, record):
        recorder = self.session.recorder
        if recorder is None or not recorder.wants_tensors():
            return
        called = _plumb.stack_now()
        for number, group in enumerate(optimizer.param_groups):
            for index, parameter in enumerate(group["params"]):
                if parameter.grad is None:
                    continue
                name = self.names.of_parameter(parameter, number, index)
                if self.wants(f"{name}.update"):
                    recorder.enter(_plumb.OPTIMIZER, name, "update", 0)
                    recorder.called_at(called)
                    record(recorder, optimizer, parameter)
                    recorder.leave()

    @staticmethod
    def _before(recorder, optimizer, parameter):
        recorder.tensor("grad", parameter.grad)

    @staticmethod
    def _after(recorder, optimizer, parameter):
        recorder.tensor("param", parameter)
        for key, value in optimizer.state.get(parameter, {}).items():
            if isinstance(value, torch.Tensor) and value.ndim:
                recorder.tensor(STATE_SLOTS.get(key, f"state:{key}"), value)


def in_backward():
    """Is this the recomputation of a checkpoint, inside of the backward pass?"""
    return torch._C._current_graph_task_id() != -1


def tensors_in(value, most=16):
    found = []
    waiting = [value]
    while waiting and len(found) < most:
        thing = waiting.pop(0)
        if isinstance(thing, torch.Tensor):
            found.append(thing)
        elif isinstance(thing, (list, tuple)):
            waiting[:0] = thing
        elif isinstance(thing, dict):
            waiting[:0] = thing.values()
    return found
