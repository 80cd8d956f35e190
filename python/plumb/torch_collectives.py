"""Collective operations of torch.distributed, those of DistributedDataParallel's reducer included.

Every collective passes torch's dispatcher as an operator of the namespace c10d. A kernel of ours stands before
the real one, takes the time, counts the operation within its group, and hands on. Operations are
counted from the start of the process, so that the n-th of a group is the same on every rank.

A result is there when somebody has waited for it: `Work.wait` is where it is recorded, whether the program calls that or a
function of torch.distributed does. The reducer of DistributedDataParallel waits in C++; its results are there when
the backward pass is over.
"""
import sys
import threading

import torch

from . import _plumb, torch_messages
from .capture import guarded

now = _plumb.now
NAMES = {
    "allreduce_": "all_reduce", "allreduce_coalesced_": "all_reduce", "broadcast_": "broadcast",
    "allgather_": "all_gather", "_allgather_base_": "all_gather", "allgather_coalesced_": "all_gather",
    "allgather_into_tensor_coalesced_": "all_gather", "reduce_scatter_": "reduce_scatter",
    "_reduce_scatter_base_": "reduce_scatter", "reduce_scatter_tensor_coalesced_": "reduce_scatter",
    "reduce_": "reduce", "gather_": "gather", "scatter_": "scatter", "alltoall_": "all_to_all",
    "alltoall_base_": "all_to_all", "barrier": "barrier",
}
KEYS = ("AutogradCPU", "AutogradCUDA", "AutogradPrivateUse1")
# What waits for the result unless asked not to.
FUNCTIONS = ("all_reduce", "broadcast", "all_gather", "all_gather_into_tensor", "reduce_scatter", "reduce_scatter_tensor",
             "reduce", "gather", "scatter", "all_to_all", "all_to_all_single", "barrier", "all_gather_object",
             "broadcast_object_list", "gather_object", "_broadcast_coalesced", "send", "recv")
MOST_PENDING = 1024


class Pending:
    """A collective whose result nobody has waited for yet."""

    def __init__(self, name, tensors, message=None):
        self.name, self.began = name, now()
        self.message = message
        self.op = torch_messages.OP if message else name  # what its tensors are recorded as
        self.group, self.sequence = None, 0  # where a message comes from may be known late
        self.bytes = bytes_of(tensors)
        self.results = () if message and message.sends else tensors
        self.call = None  # its number in the step, if its tensors are recorded
        self.called = 0
        self.work = None


class Collectives:
    def __init__(self, watch):
        self.watch = watch
        self.session = watch.session
        self.counts = {}  # group -> operations so far
        self.calls = {}  # (group, name) -> operations in this step
        self.pending = {}  # id of a Work -> Pending, in the order they were issued
        self.local = threading.local()  # .issued: collectives of the function that is being waited for
        self.lock = threading.Lock()

    def install(self):
        distributed = sys.modules.get("torch.distributed")
        if distributed is None or not distributed.is_available():
            return
        library = torch.library.Library("c10d", "IMPL")
        self.session.on_close(library._destroy)
        for operator in (*NAMES, *torch_messages.NAMES):
            packet = getattr(torch.ops.c10d, operator, None)
            if packet is not None:
                for key in KEYS:
                    library.impl(operator, self._kernel(packet.default, operator), key, with_keyset=True)
        self.session.replace(torch._C._distributed_c10d.Work, "wait", self._wait)
        for module in (distributed, sys.modules["torch.distributed.distributed_c10d"]):
            for function in FUNCTIONS:
                if hasattr(module, function):
                    self.session.replace(module, function, self._waiting)

    # -- issued ---------------------------------------------------------------------------------------

    def _kernel(self, overload, operator):
        kinds = [str(argument.type) for argument in overload._schema.arguments]
        group_at = next(i for i, kind in enumerate(kinds) if "ProcessGroup" in kind)

        def kernel(keys, *arguments, **keywords):
            pending = self.begins(operator, arguments, group_at)
            result = overload.redispatch(keys & torch._C._after_autograd_keyset, *arguments, **keywords)
            if pending is not None:
                self.issued(pending, result)
            return result

        return kernel

    @guarded
    def begins(self, operator, arguments, group_at):
        if operator in torch_messages.NAMES:
            message = torch_messages.Message(operator, arguments)
            pending = Pending(torch_messages.NAMES[operator], arguments[0], message)
            group, given = message.way(), arguments[0] if message.sends else ()
        else:
            pending = Pending(NAMES[operator], arguments[0])
            group, given = group_name(arguments[group_at]), arguments[1] if group_at > 1 else arguments[0]
        recorder = self.session.recorder
        if recorder is not None and recorder.wants_tensors():
            pending.called = _plumb.stack_now()
        if group is not None:
            self.count(pending, group)
            self.record(pending, "input", given)
        return pending

    def count(self, pending, group):
        """Among those of its group: in the process, and in the step if its tensors are recorded."""
        pending.group = group
        with self.lock:
            pending.sequence = self.counts.get(group, 0)
            self.counts[group] = pending.sequence + 1
        recorder = self.session.recorder
        if recorder is not None and recorder.wants_tensors() and pending.name != "barrier":
            key = (group, pending.op)
            pending.call = self.calls[key] = self.calls.get(key, -1) + 1

    @guarded
    def issued(self, pending, result):
        boxed = result[-1] if isinstance(result, (tuple, list)) else result
        pending.work = torch._C._distributed_c10d.Work.unbox(boxed)
        with self.lock:
            self.pending[id(pending.work)] = pending
        issued = getattr(self.local, "issued", None)
        if issued is not None:
            issued.append(pending)
        if len(self.pending) > MOST_PENDING:
            self.settle(at_last=True)

    # -- waited for -----------------------------------------------------------------------------------

    def _wait(self, original):
        def wait(work, *arguments, **keywords):
            pending = self.pending.get(id(work))
            if pending is None or self.session.over:
                return original(work, *arguments, **keywords)
            began = now()
            result = original(work, *arguments, **keywords)
            self.waited(pending, began)
            return result

        return wait

    @guarded
    def waited(self, pending, began):
        self.finished(pending)
        if getattr(self.local, "issued", None) is None and not self.watch.is_in_backward():
            self.session.phase("communication", began, now())

    def finished(self, pending, has_result=True):
        with self.lock:
            if self.pending.pop(id(pending.work), None) is None:
                return  # waited for in two threads
        if pending.group is None:
            self.count(pending, pending.message.way_it_came(pending.work if has_result else None))
        self.session.later("collective", pending.group, pending.name, pending.sequence, pending.bytes, pending.began,
                           now())
        if has_result:
            self.record(pending, "output", pending.results)

    @guarded
    def settle(self, at_last=False):
        """What C++ waited for, or nobody: recorded if it has come to its end. At last also the rest, without a result."""
        for pending in list(self.pending.values()):
            done = is_done(pending)
            if done or at_last:
                self.finished(pending, done)

    def record(self, pending, slot, tensors):
        recorder, tensors = self.session.recorder, list(flat(tensors))
        if recorder is None or pending.call is None or not tensors:
            return
        recorder.enter(_plumb.COLLECTIVE, pending.group, pending.op, pending.call)
        recorder.called_at(pending.called)
        for number, tensor in enumerate(tensors):
            recorder.tensor(f"{slot}{number}", tensor)
        recorder.leave()

    # -- functions that wait ----------------------------------------------------------------------------

    def _waiting(self, original):
        def function(*arguments, **keywords):
            if self.session.over or getattr(self.local, "issued", None) is not None:
                return original(*arguments, **keywords)
            self.local.issued = []
            began = now()
            try:
                return original(*arguments, **keywords)
            finally:
                self.returned(began)

        return function

    @guarded
    def returned(self, began):
        issued, self.local.issued = self.local.issued, None
        if issued and not self.watch.is_in_backward():
            self.session.phase("communication", began, now())

    def step_begins(self):
        self.calls.clear()


def is_done(pending):
    """Has somebody waited for the result? The reducer waits for the Future, which is there a moment before the Work says so."""
    if pending.work.is_completed():
        return True
    if any(tensor.device.type != "cpu" for tensor in flat(pending.results)):
        return False  # of a device, its Future is there when the work was handed over
    try:
        return pending.work.get_future().done()
    except RuntimeError:  # this backend has none
        return False


def group_name(boxed):
    try:
        group = torch.distributed.ProcessGroup.unbox(boxed)
        ranks = torch.distributed.get_process_group_ranks(group)
        return "world" if len(ranks) == torch.distributed.get_world_size() else ",".join(map(str, ranks))
    except (AttributeError, RuntimeError, TypeError, ValueError, KeyError):
        return "world"


def bytes_of(value):
    return sum(tensor.numel() * tensor.element_size() for tensor in flat(value))


def flat(value):
    """The tensors of an argument, which may be a list of lists."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from flat(item)
