"""The always-on level for MindSpore: loss, learning rate, norms, loss scale, phases, memory.

mindspore_calls tells what happens. Results are asynchronous: nothing is read until the optimizer is called, which
needs the gradients anyway.
"""
import os
import weakref

import mindspore
from mindspore import context, nn

from . import _plumb, mindspore_setup
from .capture import guarded
from .mindspore_names import Names, own_parameters
from .mindspore_scale import Scales
from .mindspore_tensors import loss_in, number, tensors_in
from .mindspore_updates import Updates
from .stepping import Stepping

now = _plumb.now
PAGE = os.sysconf("SC_PAGE_SIZE")
COUNTERS = ("global_step", "state_step", "step_t")  # how optimizers call the number of their updates


class Watch:
    def __init__(self, session):
        self.session = session
        self.optimizers = weakref.WeakSet()
        self.names = Names(self.optimizers)
        self.weights_recorded = False
        self.stepping = Stepping(session, self.optimizers)
        self.updates = Updates(session)
        self.scales = Scales()
        self.losses = []  # what backward passes started from since the last update
        self.compiled_loss = None  # what a compiled function gave that may be one
        self.counted = {}  # id of an optimizer -> updates when last looked at
        self.compiled_updates = set()  # ids of optimizers that a graph calls
        self.output = None  # of the last forward pass
        self.samples = 0
        self.skipped = False
        self.began = dict.fromkeys(("step", "forward", "backward", "optimizer"), 0)
        self.memory = None
        self.active = False  # it is MindSpore that trains here, not something else that is imported as well

    def open(self):
        if not self.active:
            self.active = True
            if not self.session.recorder:
                self.session.framework = f"mindspore {mindspore.__version__}"
                self.session.rank_from_framework = mindspore_setup.rank
        return self.session.open()

    def install(self):
        for kind in (nn.Optimizer, mindspore_setup.experimental_optimizer()):
            self.session.replace(kind, "__init__", self._init)
        self.session.listen(self)

    def _init(self, original):
        def __init__(optimizer, *arguments, **keywords):
            original(optimizer, *arguments, **keywords)
            self.optimizers.add(optimizer)

        return __init__

    # -- the session's events -------------------------------------------------------------------------

    @guarded
    def opened(self, session):
        if not self.active:
            return
        self.names.find_roots()
        for key, value in mindspore_setup.describe(self.names, self.optimizers):
            session.config(key, value)

    def step_begins(self, session):
        self.began["step"] = now()
        if self.active and not self.weights_recorded and session.options.level == "watch":
            self.weights_recorded = True
            self.record_weights()

    @guarded
    def record_weights(self):
        """What the training starts from; finer levels record it themselves."""
        recorder = self.session.recorder
        for _, root in self.names.roots:
            for _, cell in root.cells_and_names():
                own = own_parameters(cell)
                if own:
                    recorder.enter(_plumb.FORWARD, self.names.cells.get(id(cell), ""), "parameters", 0)
                    for name, parameter in own:
                        recorder.fingerprint(f"param:{name}", parameter)
                    recorder.leave()

    def step_ends(self, session):
        if not self.active:
            return
        recorder, time = session.recorder, now()
        seconds = (time - self.began["step"]) / 1e9
        if self.samples and seconds > 0:
            session.series("throughput", self.samples / seconds)
        session.series("skipped", float(self.skipped))
        recorder.counter("memory.resident", time, self._resident())
        self.samples = 0
        self.skipped = False

    def closing(self, session):
        self._end_if_skipped()

    def _resident(self):
        if self.memory is None:
            self.memory = os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)
        return float(os.pread(self.memory, 128, 0).split()[1]) * PAGE

    @guarded
    def between_steps(self):
        """A batch is taken: whatever the last one led to has happened."""
        self._end_if_skipped()

    @guarded
    def amp_called(self, function, arguments, output):
        self.scales.saw(function, arguments, output)

    # -- forward and backward -------------------------------------------------------------------------

    @guarded
    def forward_begins(self, inputs):
        self._end_if_skipped()
        self.began["forward"] = now()
        first = tensors_in(inputs, 1)
        if not self.samples and first and first[0].ndim:
            self.samples = first[0].shape[0]

    @guarded
    def forward_ends(self, output):
        self.output = output
        if self.began["forward"]:
            self.session.phase("forward", self.began["forward"], now())
            self.began["forward"] = 0

    @guarded
    def backward_begins(self):
        if not self.open():
            return
        loss, self.output = loss_in(self.output), None
        if loss is not None:
            self.losses.append(self.scales.unscaled(loss))
        self.began["backward"] = now()

    @guarded
    def backward_ends(self):
        if self.session.recorder and self.began["backward"]:
            self.session.phase("backward", self.began["backward"], now())

    # -- the optimizer ----------------------------------------------------------------------------------

    @guarded
    def before_update(self, optimizer, gradients):
        session = self.session
        if not self.open():
            return
        self.optimizers.add(optimizer)
        self.stepping.begins(optimizer)
        suffix = self.updates.plan(optimizer).suffix
        began = now()
        scale = float(getattr(optimizer, "loss_scale", 1.0))
        self.updates.gradients(optimizer, gradients, scale)
        if scale != 1.0:
            session.series("loss_scale", scale)
        session.phase("backward", began, now())  # what was left of it: results come when they are asked for
        self._record_rates(optimizer, suffix, updates_of(optimizer), True)
        self._record_loss(suffix)
        self.updates.before(optimizer)
        self.began["optimizer"] = now()

    @guarded
    def after_update(self, optimizer):
        if not self.session.recorder or not self.began["optimizer"]:
            return
        self.updates.after(optimizer)
        self.session.phase("optimizer", self.began["optimizer"], now())
        self.began["optimizer"] = 0
        self.counted[id(optimizer)] = updates_of(optimizer)
        self.stepping.ends(optimizer)

    def _record_rates(self, optimizer, suffix, step, may_compute):
        may_compute = may_compute and context.get_context("mode") == mindspore.PYNATIVE_MODE
        for name, rate in mindspore_setup.rates(optimizer, max(step, 0), may_compute):
            self.session.series(f"lr{suffix}{name}", rate)

    def _record_loss(self, suffix):
        session = self.session
        if not self.losses and self.compiled_loss is not None:
            self.losses.append(self.compiled_loss)
        if self.losses:
            session.series(f"loss{suffix}", sum(number(loss) for loss in self.losses))
        if len(self.losses) > 1:
            session.series(f"backward_passes{suffix}", float(len(self.losses)))
        if self.scales.used is not None:
            session.series("loss_scale", self.scales.used)
        self.losses.clear()
        self.compiled_loss = self.scales.used = None

    def _end_if_skipped(self):
        """A program that finds infinities in its gradients does not call the optimizer."""
        if self.losses and self.session.recorder and self.scales.was_skipped():
            self.skipped = True
            self._record_loss("")
            self.session.end_step()

    # -- compiled graphs --------------------------------------------------------------------------------

    @guarded
    def before_graph(self):
        for optimizer in self.optimizers:
            self.counted.setdefault(id(optimizer), updates_of(optimizer))
            if id(optimizer) in self.compiled_updates and self.session.recorder:
                self.updates.before(optimizer)
        return now()

    @guarded
    def after_graph(self, output, began):
        """A graph that moved an optimizer's count has trained."""
        changed = []
        for optimizer in self.optimizers:
            count = updates_of(optimizer)
            if count != self.counted.get(id(optimizer)):
                self.counted[id(optimizer)] = count
                changed.append(optimizer)
        loss = loss_in(output)
        if loss is not None:
            self.compiled_loss = loss
        if changed and self.open():
            self.session.phase("compiled", began, now())
            self._graph_updated(changed)

    def _graph_updated(self, changed):
        if not self.compiled_updates:
            text = "gradients, learning rate schedules, modules and operations inside of compiled graphs are not seen"
            self.session.config("capture.unseen", text)
            self.session.say(text)
        for optimizer in changed:
            self.compiled_updates.add(id(optimizer))
            self.stepping.begins(optimizer)
            suffix = self.updates.plan(optimizer).suffix
            self._record_rates(optimizer, suffix, self.counted[id(optimizer)] - 1, False)
            self._record_loss(suffix)
            self.updates.after(optimizer)
            self.stepping.ends(optimizer)


def updates_of(optimizer):
    """How often it has updated; -1 if it does not say."""
    for name in COUNTERS:
        counter = optimizer.__dict__.get("_params", {}).get(name)
        if counter is not None:
            return int(counter.asnumpy().reshape(-1)[0])
    return -1
