"""The always-on level for torch: loss, learning rate, norms, loss scale, phases, memory.

Hooks: torch.autograd.backward (the loss is what backward starts from), the optimizers' global step hooks,
GradScaler, and the data loader's iterator. What costs is done in C for all tensors at once.
"""
import os
import threading
import weakref

import torch
import torch.nn.modules.module as module_module
import torch.optim.optimizer as optimizer_module

from . import _plumb, torch_setup
from .capture import guarded
from .stepping import Stepping
from .torch_collectives import Collectives
from .torch_device import FORCED, DeviceNumbers
from .torch_scale import Scales
from .torch_tracing import is_out_of_reach, is_traced
from .torch_updates import Updates
from .torch_wrappers import whole

now = _plumb.now
PAGE = os.sysconf("SC_PAGE_SIZE")


class Watch:
    def __init__(self, session, names):
        self.session = session
        self.names = names
        self.optimizers = weakref.WeakSet()
        self.stepping = Stepping(session, self.optimizers, has_gradients)
        self.loss = None  # sum of what backward started from since the last optimizer step
        self.backwards = 0
        self.samples = 0
        self.skipped = False
        self.depth = threading.local()
        self.optimizer_began = 0  # when the update that is going on began, else 0
        self.step_began = now()
        self.scales = Scales(self)
        self.device = DeviceNumbers(session)
        self.updates = Updates(session, names, self.device)
        self.loaders = torch_setup.DataLoaders(self)
        self.collectives = Collectives(self)
        self.memory = None
        self.forward_began = 0  # when the first module since the last pass backward was called, else 0
        self.waiting = None  # the hook that waits for it
        self.described = False

    # -- hooks ----------------------------------------------------------------------------------------

    def install(self):
        session = self.session
        session.on_next(optimizer_module.register_optimizer_step_pre_hook(self.before_update).remove)
        session.on_next(optimizer_module.register_optimizer_step_post_hook(self.after_update).remove)
        session.replace(optimizer_module.Optimizer, "__init__", self._init)
        session.replace(torch.autograd, "backward", self._backward)
        self.scales.install()
        self.loaders.install()
        self.collectives.install()
        session.listen(self)

    def _init(self, original):
        def init(optimizer, *arguments, **keywords):
            original(optimizer, *arguments, **keywords)
            self.optimizers.add(optimizer)

        return init

    def _backward(self, original):
        def backward(tensors, *arguments, **keywords):
            if self.is_in_backward() or self.session.over:
                return original(tensors, *arguments, **keywords)  # a checkpoint's own, inside of one
            self.depth.inside = True
            began = self.before_backward(tensors)
            try:
                return original(tensors, *arguments, **keywords)
            finally:
                self.depth.inside = False
                self.after_backward(began)

        return backward

    # -- the session's events -------------------------------------------------------------------------

    def opened(self, session):
        for key, value in torch_setup.switches():
            session.config(key, value)
        self.loaders.opened()

    def describe(self):
        """At the first update: now it is known which model is trained."""
        self.described = True
        parameters = {id(p) for o in self.optimizers for group in o.param_groups for p in group["params"]}
        self.names.find_roots(parameters)
        for key, value in torch_setup.describe(self.names, self.optimizers):
            self.session.config(key, value)
        if self.session.options.level == "watch":
            self.record_weights(parameters)

    def record_weights(self, trained):
        """What the training starts from; finer levels record it themselves."""
        recorder = self.session.recorder
        for _, root in self.names.roots:
            if not any(id(p) in trained for p in root.parameters()):
                continue  # a model that is there and not trained
            for module in root.modules():
                own = [(name, p) for name, p in module.named_parameters(recurse=False) if not self.device.is_far(p)]
                if own:
                    recorder.enter(_plumb.FORWARD, self.names.modules.get(id(module), ""), "parameters", 0)
                    for name, parameter in own:
                        recorder.fingerprint(f"param:{name}", parameter)
                    recorder.leave()

    def step_begins(self, session):
        self.step_began = now()
        self.forward_began = 0
        if self.described:  # not yet in the first step: what runs before it is hard to tell from it
            self._wait_for_forward()
        self.collectives.step_begins()

    def step_ends(self, session):
        recorder, step = session.recorder, session.step
        if self.collectives.pending:
            self.collectives.settle()
        self.device.send()
        time = now()
        seconds = (time - self.step_began) / 1e9
        if self.samples and seconds > 0:
            recorder.series("throughput", step, self.samples / seconds)
        recorder.series("skipped", step, float(self.skipped))
        if session.timed:
            self._count_memory(time)
        self.samples = 0
        self.skipped = False

    def closing(self, session):
        self._no_longer_wait()
        self.collectives.settle(at_last=True)
        self.device.receive(wait=True)

    def _count_memory(self, time):
        recorder = self.session.recorder
        recorder.counter("memory.resident", time, self._resident())
        if torch.cuda.is_initialized():
            recorder.counter("memory.device", time, float(torch.cuda.memory_allocated()))

    def _resident(self):
        if self.memory is None:
            self.memory = os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)
        return float(os.pread(self.memory, 128, 0).split()[1]) * PAGE

    # -- forward --------------------------------------------------------------------------------------

    def _wait_for_forward(self):
        """For all modules, until the first is called: a hook of the model's own would be copied and saved with it, and one that
        stays would cost each module more than it tells."""
        if self.waiting is None:
            self.waiting = module_module.register_module_forward_pre_hook(self._forward_begins)

    def _no_longer_wait(self):
        waiting, self.waiting = self.waiting, None
        if waiting is not None:
            waiting.remove()

    def _forward_begins(self, module, inputs):
        if is_out_of_reach() or not torch.is_grad_enabled():
            return
        self._no_longer_wait()
        self._time_forward(inputs)

    @guarded
    def _time_forward(self, inputs):
        self.forward_began = now()
        if not self.samples and inputs and isinstance(inputs[0], torch.Tensor) and inputs[0].ndim:
            self.samples = inputs[0].size(0)  # sequences of different lengths have no shape

    # -- backward -------------------------------------------------------------------------------------

    @guarded
    def before_backward(self, tensors):
        if not self.session.open():
            return None
        root = tensors if isinstance(tensors, torch.Tensor) else tensors[0] if len(tensors) == 1 else None
        # Of what a closure computes inside of an update, the first counts.
        if root is not None and (self.loss is None or not self.optimizer_began):
            value = self._loss_of(self.scales.unscaled(root))
            if value is not None:
                self.loss = value if self.loss is None else self.loss + value
        self.backwards += 1
        began = now()
        if self.forward_began:
            self.session.phase("forward", self.forward_began, began)
            self.forward_began = 0
        return began

    def _loss_of(self, root):
        """None if it is not one number. It stays a tensor if it is on a device: reading it would wait for the device."""
        root = whole(root)
        value = _plumb.number(root) if root is not None and not FORCED else None
        if value is not None or root is None or root.numel() != 1:
            return value
        return root.detach() if self.device.is_far(root) else root.item()

    @guarded
    def after_backward(self, began):
        if began is not None and self.session.recorder:
            self.session.phase("backward", began, now())
            if self.described:
                self._wait_for_forward()
            if self.collectives.pending:
                self.collectives.settle()

    def is_in_backward(self):
        return getattr(self.depth, "inside", False)

    # -- the optimizer ----------------------------------------------------------------------------------

    @guarded
    def before_update(self, optimizer, arguments, keywords):
        session = self.session
        if is_traced() or not session.open():
            return
        self.optimizers.add(optimizer)
        if not self.described:
            self.describe()
        self.stepping.begins(optimizer)
        self.optimizer_began = now()
        plan = self.updates.plan(optimizer)
        suffix = plan.suffix
        self._record_loss(suffix)
        for number, group in enumerate(optimizer.param_groups):
            rate = group.get("lr")
            if isinstance(rate, (int, float)):
                session.series(f"lr{suffix}" if number == 0 else f"lr{suffix}.group{number}", float(rate))
        self.updates.before(plan, self.scales.scale_inside(optimizer))

    @guarded
    def after_update(self, optimizer, arguments, keywords):
        if is_traced() or not self.session.recorder:
            return
        end = now()
        self.session.phase("optimizer", self.optimizer_began, end)
        self.optimizer_began = 0
        plan = self.updates.plan(optimizer)
        self._record_loss(plan.suffix)
        if self.scales.was_skipped_inside(optimizer):
            self.skipped = True
        self.updates.after(plan)
        self.stepping.ends(optimizer)

    @guarded
    def skipped_update(self, optimizer):
        """A scaler found infinities and did not call the optimizer."""
        if not self.session.open():
            return
        self.optimizers.add(optimizer)
        if not self.described:
            self.describe()
        self.stepping.begins(optimizer)
        self.skipped = True
        self._record_loss(self.updates.plan(optimizer).suffix)
        self.stepping.ends(optimizer)

    def _record_loss(self, suffix):
        if isinstance(self.loss, torch.Tensor):
            self.device.add(f"loss{suffix}", self.loss)
        elif self.loss is not None:
            self.session.series(f"loss{suffix}", float(self.loss))
        if self.backwards > 1:
            self.session.series(f"backward_passes{suffix}", float(self.backwards))
        self.loss = None
        self.backwards = 0


def has_gradients(optimizer):
    return any(p.requires_grad for group in optimizer.param_groups for p in group["params"])
