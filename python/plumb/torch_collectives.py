"""Collective operations of torch.distributed, those of DistributedDataParallel's reducer included.

Every collective passes torch's dispatcher as an operator of the namespace c10d. A kernel of ours stands before
the real one, takes the time, counts the operation within its group, and hands on. Operations are
counted from the start of the process, so that the n-th of a group is the same on every rank.
"""
import sys
import threading

import torch

from . import _plumb
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
             "broadcast_object_list", "gather_object")


class Collectives:
    def __init__(self, watch):
        self.watch = watch
        self.session = watch.session
        self.counts = {}  # group -> operations so far
        self.local = threading.local()  # .rows: those of the function that is being waited for
        self.lock = threading.Lock()

    def install(self):
        distributed = sys.modules.get("torch.distributed")
        if distributed is None or not distributed.is_available():
            return
        library = torch.library.Library("c10d", "IMPL")
        self.session.on_close(library._destroy)
        for operator, name in NAMES.items():
            packet = getattr(torch.ops.c10d, operator, None)
            if packet is not None:
                for key in KEYS:
                    library.impl(operator, self._kernel(packet.default, name), key, with_keyset=True)
        for module in (distributed, sys.modules["torch.distributed.distributed_c10d"]):
            for function in FUNCTIONS:
                if hasattr(module, function):
                    self.session.replace(module, function, self._waiting)

    def _kernel(self, overload, name):
        kinds = [str(argument.type) for argument in overload._schema.arguments]
        group_at = next(i for i, kind in enumerate(kinds) if "ProcessGroup" in kind)

        def kernel(keys, *arguments, **keywords):
            began = now()
            result = overload.redispatch(keys & torch._C._after_autograd_keyset, *arguments, **keywords)
            self.happened(name, arguments, group_at, began)
            return result

        return kernel

    @guarded
    def happened(self, name, arguments, group_at, began):
        group = group_name(arguments[group_at])
        with self.lock:
            sequence = self.counts.get(group, 0)
            self.counts[group] = sequence + 1
        row = (group, name, sequence, bytes_of(arguments[0]), began)
        rows = getattr(self.local, "rows", None)
        if rows is not None:
            rows.append(row)
        else:
            self.session.later("collective", *row, now())

    def _waiting(self, original):
        def function(*arguments, **keywords):
            if self.session.over or getattr(self.local, "rows", None) is not None:
                return original(*arguments, **keywords)
            self.local.rows = []
            began = now()
            try:
                return original(*arguments, **keywords)
            finally:
                self.waited(began)

        return function

    @guarded
    def waited(self, began):
        rows, self.local.rows = self.local.rows, None
        end = now()
        for row in rows:
            self.session.later("collective", *row, end)
        if rows and not self.watch.is_in_backward():
            self.session.phase("communication", began, end)


def group_name(boxed):
    try:
        group = torch.distributed.ProcessGroup.unbox(boxed)
        ranks = torch.distributed.get_process_group_ranks(group)
        return "world" if len(ranks) == torch.distributed.get_world_size() else ",".join(map(str, ranks))
    except (AttributeError, RuntimeError, TypeError, ValueError, KeyError):
        return "world"


def bytes_of(value):
    if isinstance(value, torch.Tensor):
        return value.numel() * value.element_size()
    if isinstance(value, (list, tuple)):
        return sum(map(bytes_of, value))
    return 0
