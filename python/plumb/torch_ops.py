"""Level `op` for torch: every operator of the selected steps, recorded by the C side.

This file only chooses the route, hands over the table of operators and names modules and parameters.
`record-function` is torch's own record callback, found and tried out when the recorder opens; where that
does not succeed a dispatch mode does the same more slowly. The run's configuration says which it was.
"""
import os

import torch
from torch.nn.modules import module as torch_module
from torch.optim import optimizer as torch_optimizer
from torch.utils import _python_dispatch

from . import _plumb, torch_messages, torch_reference
from .capture import guarded
from .identities import Identities
from .torch_collectives import NAMES
from .torch_device import FORCED
from .torch_modules import STATE_SLOTS, Modules
from .torch_ops_device import Aside, DeviceMode
from .torch_tracing import is_out_of_reach, is_traced
from .torch_wrappers import wraps

module_enter, module_leave = _plumb.module_enter, _plumb.module_leave
COMPOSITE, VIEW, COLLECTIVE, EMPTY, COPY, SILENT, OUT = 1, 2, 4, 8, 16, 32, 64
COLLECTIVES = ("c10d::", "_c10d_functional::", "_c10d_functional_autograd::")
EMPTIES = ("empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "empty_permuted")
VIEWS = ("_unsafe_view", "_reshape_alias", "resize_", "set_")  # which their schemas do not say
COPIES = ("clone", "contiguous", "_to_copy", "copy", "detach_copy", "alias_copy")


def operators():
    """(name, overload, flags, arguments, results, written arguments) of all operators torch knows."""
    table = []
    composite = torch._C._dispatch_has_kernel_for_dispatch_key
    for full in torch._C._dispatch_get_all_op_names():
        name, _, overload = full.partition(".")
        flags = COMPOSITE if composite(full, "CompositeImplicitAutograd") else 0
        try:
            schema = torch._C._get_schema(name, overload)
        except RuntimeError:  # a name without a definition
            continue
        table.append((name, overload, flags | describe(name, schema), *counts(schema)))
    return table


def learn():
    """The operators of libraries that were loaded since."""
    if _plumb.ops_missed():
        _plumb.ops_table(operators())


def describe(name, schema):
    flags = 0
    space, _, base = name.partition("::")
    views = [result.alias_info for result in schema.returns]
    if views and all(alias is not None and not alias.is_write for alias in views) or base in VIEWS:
        flags |= VIEW
    if name.startswith(COLLECTIVES):
        flags |= COLLECTIVE
    if (base in NAMES or base in torch_messages.NAMES) and space == "c10d":
        flags |= SILENT  # recorded when its result is there
    if space == "aten" and base in EMPTIES:
        flags |= EMPTY
    if space == "aten" and base in COPIES:
        flags |= COPY
    if space == "profiler":
        flags |= SILENT
    if any(argument.is_out for argument in schema.arguments):
        flags |= OUT
    return flags


def counts(schema):
    written = 0
    for i, argument in enumerate(schema.arguments):
        if i < 64 and argument.alias_info is not None and argument.alias_info.is_write:
            written |= 1 << i
    return len(schema.arguments), len(schema.returns), written


def find_fast_route():
    """None if torch's record callbacks can be used here, else why not."""
    if os.environ.get("PLUMB_OP_ROUTE") == "dispatch-mode":
        return "PLUMB_OP_ROUTE says so"
    missing = _plumb.ops_load()
    if missing:
        return f"this torch has no {missing}"
    with torch.no_grad():
        one, two = torch.zeros(3), torch.zeros(3)
    one.data_ptr(), two.data_ptr()
    if not _plumb.ops_probe_begin(one, two):
        return "torch took no callback"
    try:
        with torch.no_grad():
            for _ in range(2):
                _plumb.ops_probe_expect(0, 0)
                one.add_(1)
            for _ in range(2):
                _plumb.ops_probe_expect(1, 0)
                torch._foreach_neg([one, two])
        _plumb.ops_probe_expect(-1, 0)
        find_sequence_number()
    finally:
        missing = _plumb.ops_probe_finish()
    return missing and f"could not find {missing}"


def find_sequence_number():
    number = getattr(torch._C._autograd, "_get_sequence_nr", None)
    if number is None:
        return
    keep = torch.autograd.graph.saved_tensors_hooks(lambda tensor: tensor, lambda tensor: tensor)
    with torch.enable_grad(), keep:  # we may be inside of a checkpoint, which counts what is saved
        leaf = torch.zeros(2, requires_grad=True)
        for _ in range(3):
            _plumb.ops_probe_expect(2, number())
            leaf.mul(leaf)
            _plumb.ops_probe_expect(-1, 0)


class Mode(_plumb.DispatchBase, Aside, _python_dispatch.TorchDispatchMode):
    """The slower route; its handler is in C."""


def enters(module, inputs):
    if not is_traced():
        module_enter(module, inputs)


def leaves(module, inputs, output):
    if not is_traced():
        module_leave(module, inputs, output)


def prepare_modes():
    """What the slower routes ask torch."""
    autograd = torch._C._autograd
    _plumb.dispatch_functions(getattr(autograd, "_get_sequence_nr", None),
                              getattr(torch._C, "_current_autograd_node", None),
                              getattr(torch._C, "_current_graph_task_id", None))


class Places:
    """Where the parameters of one optimizer, their gradients and what it keeps of them are shown."""

    def __init__(self, optimizer, names, wants):
        rows = []
        for number, group in enumerate(optimizer.param_groups):
            for index, parameter in enumerate(group["params"]):
                name = names.of_parameter(parameter, number, index)
                rows.append((parameter, *names.owners[id(parameter)], name if wants(f"{name}.update") else None))
        self.count = len(rows)
        self.shown = _plumb.Parameters(rows, torch.Tensor, STATE_SLOTS)

    def are_of(self, optimizer):
        """Groups may be added while training."""
        return sum(len(group["params"]) for group in optimizer.param_groups) == self.count


class Operators:
    """A listener of the session."""

    def __init__(self, session, names):
        self.session = session
        self.names = names
        self.on = False
        self.hooks = []
        self.first = None
        self.mode = None  # of the slower route
        self.model = None  # whose forward pass began the recording
        self.reference = None
        self.modules = Modules(session, names, with_values=False)  # what operators do not show: the first weights
        self.places = Identities()  # id of an optimizer -> Places
        self.shown = False  # the weights that the recording began with

    def install(self):
        # Hooks of optimizers stay: they must not change while torch walks through them.
        self.session.on_next(torch_optimizer.register_optimizer_step_pre_hook(self.before_update).remove)
        self.session.on_next(torch_optimizer.register_optimizer_step_post_hook(self.after_update).remove)
        self.first = torch_module.register_module_forward_pre_hook(self.forward_begins)
        self.session.on_close(self.first.remove)
        self.session.listen(self)

    # -- told by the session ----------------------------------------------------------------------

    @guarded
    def opened(self, session):
        _plumb.ops_table(operators())
        prepare_modes()
        reference = session.options.reference
        with _python_dispatch._disable_current_modes():  # the program's own, which may count what they see
            why = "a reference is computed" if reference else find_fast_route()
        far = self.look_at_parameters()
        if far and not reference:
            self.mode = DeviceMode(session, lambda name, schema: describe(name, schema) & ~OUT)
        elif why:
            self.mode = Mode()
            session.config("capture.route_reason", why)
        session.config("capture.route", {DeviceMode: "device", Mode: "dispatch-mode"}.get(type(self.mode),
                                                                                        "record-function"))
        if reference:
            self.reference = torch_reference.Reference()
            _plumb.dispatch_reference(self.reference.expect, self.reference.compare)
        _plumb.ops_open(session.recorder, session.options.ops, session.options.save)
        _plumb.module_resolver(self.resolve)

    @guarded
    def step_begins(self, session):
        if not session.recorder.wants_tensors():
            self.stop()
        elif self.on:
            learn()
            _plumb.ops_next_step()
        else:
            self.start()

    @guarded
    def step_ends(self, session):
        if self.on and isinstance(self.mode, DeviceMode):
            self.mode.send()

    @guarded
    def closing(self, session):
        self.stop()
        for name, value in _plumb.ops_counts().items():
            session.config(f"capture.ops.{name}", value)
        if self.reference:
            _plumb.dispatch_reference(None, None)
            for name, value in self.reference.counts().items():
                session.config(f"capture.reference.{name}", value)
        self.places.clear()
        _plumb.ops_open(None, None, "stats")

    def look_at_parameters(self):
        """Are there some on a device? And a DTensor is no tensor, but wraps one."""
        models = [self.model] if self.model is not None else [root for _, root in self.names.roots]
        self.model = None
        parameters = [parameter for model in models for parameter in model.parameters()]
        if any(wraps(type(parameter)) for parameter in parameters):
            _plumb.ops_expect_wrappers()
        return FORCED or any(parameter.device.type not in ("cpu", "meta") for parameter in parameters)

    def is_far(self):
        """On a device nothing is read but at the end of a step."""
        return isinstance(self.mode, DeviceMode)

    # -- on and off ---------------------------------------------------------------------------------

    def start(self):
        if self.mode and _python_dispatch._get_current_dispatch_mode() is not None:
            return  # the program would leave ours instead of its own, which it entered before; at the next step perhaps
        learn()
        self.hooks = [
            torch_module.register_module_forward_pre_hook(enters),
            torch_module.register_module_forward_hook(leaves, always_call=True),
        ]
        self.on = True
        if not self.shown and not self.is_far():
            self.shown = True
            self.modules.show_weights()
        if self.mode:
            _plumb.ops_forget()
            self.mode.__enter__()
        else:
            _plumb.ops_start()

    def stop(self):
        if self.on:
            if self.mode and _python_dispatch._get_current_dispatch_mode() is not self.mode:
                return  # another mode lies above, inside of which this one cannot end
            self.on = False
            if self.mode:
                self.mode.__exit__(None, None, None)
            else:
                _plumb.ops_stop()
            _plumb.ops_forget()  # what was seen is not believed when nobody watches who writes
            for hook in self.hooks:
                hook.remove()

    # -- hooks --------------------------------------------------------------------------------------

    @guarded
    def forward_begins(self, module, inputs):
        """The first forward pass of a training: what is recorded begins before backward does."""
        if is_out_of_reach():
            return
        self.model = module
        if torch.is_grad_enabled():
            self.names.of_module(module)  # the model in use is the one without a prefix
        if self.session.recorder or torch.is_grad_enabled() and self.session.open():
            self.first.remove()
        self.model = None

    def resolve(self, module):
        return [(module, self.names.of_module(module) or "")]

    @guarded
    def before_update(self, optimizer, arguments, keywords):
        if not self.on:
            return
        _plumb.ops_optimizer(True)
        places = self.places_of(optimizer)
        places.shown.gradients()
        if not self.is_far():
            places.shown.given(_plumb.stack_now())

    @guarded
    def after_update(self, optimizer, arguments, keywords):
        if not self.on:
            return
        _plumb.ops_optimizer(False)
        if not self.is_far():
            states = optimizer.state if isinstance(optimizer.state, dict) else dict(optimizer.state)
            self.places_of(optimizer).shown.updated(states, _plumb.stack_now())

    def places_of(self, optimizer):
        places = self.places.get(id(optimizer))
        if places is None or not places.are_of(optimizer):
            places = Places(optimizer, self.names, self.session.options.wants)
            self.places.know(optimizer, places)
        return places


def install(session, names):
    Operators(session, names).install()
    return True
