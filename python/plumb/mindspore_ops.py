"""Op level for MindSpore: every operation that PyNative dispatches, by a dispatch mode of ours.

The mode is pushed when the recorder opens and popped before the interpreter ends: MindSpore aborts otherwise. The
place of an operation is the cell that is being run; in the backward pass it is the cell of the operation whose backward
this is: MindSpore calls a hook of a tensor right before the backward of what made the tensor. Operations inside of compiled functions
are not seen, and some of the backward pass are not either; parameter gradients are recorded apart.
"""
import threading

import mindspore

from . import _plumb
from .capture import guarded
from .mindspore_tensors import tensors_in

IN_PLACE = ("Inplace", "Assign", "Scatter", "Copy", "BatchNorm")  # how operations that change an input are called
COLLECTIVES = ("AllReduce", "AllGather", "ReduceScatter", "Broadcast", "AllToAll", "Reduce", "Gather", "Send", "Receive")
WORLD = ("hccl_world_group", "nccl_world_group", "mccl_world_group")


class Dispatch(mindspore.MsDispatchMode):
    def __init__(self, ops):
        self.ops = ops

    def __ms_dispatch__(self, func, args, kwargs=None):
        ops = self.ops
        if not ops.is_wanted():
            return func(*args)
        return ops.run(func, args)


class Ops:
    def __init__(self, session, calls, cells):
        self.session = session
        self.calls = calls
        self.cells = cells
        self.mode = None
        self.thread = None
        self.here = None  # (module, stack) of the operation of the forward pass that was entered last
        self.busy = 0
        self.silent = set()  # names of what gives no tensor
        self.known = set()  # names of what does
        self.sequences = {}  # group -> collectives so far
        self.makers = {}  # address of values -> (module, stack) of the operation that wrote them last

    # -- the mode -------------------------------------------------------------------------------------

    def opened(self, session):
        self.mode = Dispatch(self)
        self.thread = threading.get_ident()
        self.mode.__enter__()
        session.on_close(self.pop)

    def pop(self):
        """The stack of modes is the thread's own; inside of an operation it is not ours to change."""
        if self.mode is not None and not self.busy and threading.get_ident() == self.thread:
            mode, self.mode = self.mode, None
            mode.__exit__(None, None, None)

    def is_wanted(self):
        session = self.session
        if session.over:
            if not self.busy:
                self.pop()
            return False
        recorder = session.recorder
        return recorder is not None and not self.calls.ours and recorder.wants_tensors()

    # -- an operation -----------------------------------------------------------------------------------

    def run(self, func, args):
        name = func.name
        values = args[2] if len(args) == 3 and args[1] == name else args
        unwanted = name in self.silent or not self.fits(name)
        if unwanted:
            return func(*args)
        inputs = tensors_in(values)
        early = name in self.known or name.startswith(IN_PLACE)
        if early:
            self.enter(name, inputs)
        began = _plumb.now()
        self.busy += 1
        try:
            result = func(*args)
        except BaseException:  # the user's; whoever catches it goes on
            if early:
                self.abandon()
            raise
        finally:
            self.busy -= 1
        outputs = tensors_in(result)
        if not early:
            (self.known if outputs else self.silent).add(name)
            if not outputs:
                return result
            self.enter(name, inputs)
        self.leave(name, args, outputs, began)
        return result

    def fits(self, name):
        if not self.session.options.ops:
            return True
        module, _ = self.place()
        return self.session.options.wants(f"{module}.{name}" if module else name)

    def phase(self, name):
        if collective(name):
            return _plumb.COLLECTIVE
        if self.calls.in_update:
            return _plumb.OPTIMIZER
        return _plumb.BACKWARD if self.calls.in_backward else _plumb.FORWARD

    def step_begins(self, session):
        self.makers.clear()

    def place(self):
        """(module, stack) of the operation that runs now."""
        return self.cells.backward_of if self.calls.in_backward else (self.cells.module(), _plumb.stack_now())

    @guarded
    def enter(self, name, inputs):
        recorder, (module, called) = self.session.recorder, self.place()
        recorder.enter(self.phase(name), module, name)
        recorder.called_at(called)
        if not self.calls.in_backward:
            self.here = self.cells.backward_of = module, called  # the last one is where a backward pass begins
            for tensor in inputs:
                maker = self.makers.get(tensor.data_ptr())
                if maker is not None:
                    self.cells.follow(tensor, maker)
        for place, tensor in enumerate(inputs):
            recorder.tensor(f"input{place}", tensor)

    @guarded
    def abandon(self):
        if self.session.recorder is not None:
            self.session.recorder.leave()

    @guarded
    def leave(self, name, args, outputs, began):
        recorder = self.session.recorder
        if recorder is None:
            return
        for place, tensor in enumerate(outputs):
            recorder.tensor(f"output{place}", tensor)
            if not self.calls.in_backward:
                self.makers[tensor.data_ptr()] = self.here
        recorder.leave()
        if collective(name):
            group = group_of(args)
            number = self.sequences.get(group, 0)
            self.sequences[group] = number + 1
            size = sum(tensor.nbytes for tensor in outputs)
            recorder.collective(group, collective(name), number, size, began, _plumb.now())


def collective(name):
    """"AllReduce" of "AllReduce", "InnerCommAllReduce" and "DistCommAllReduce"; None for what is none."""
    short = name.removeprefix("InnerComm").removeprefix("DistComm")
    return short if short in COLLECTIVES and (short != name or short not in ("Reduce", "Gather")) else None


def group_of(args):
    words = [getattr(args[0], "group", None)] + [word for word in args if isinstance(word, str)]
    group = next((word for word in words if isinstance(word, str) and word.endswith("group")), "world")
    return "world" if group in WORLD else group


def install(session, calls, cells):
    session.listen(Ops(session, calls, cells))
