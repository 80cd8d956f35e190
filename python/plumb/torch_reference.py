"""reference="cpu64": each operator's results, computed a second time in float64 on the CPU.

Before an operator runs its arguments are copied, floating-point numbers to float64, and the operator is called with the
copies; afterwards the differences (output - reference) are recorded under the same operator, slot `error:output0`. An
operator thus gets the inputs that the training gave it: the differences are its own, not those of the operators before.

Left out and counted: operators that draw random numbers, collectives, those that give no floating-point
numbers, tensors without values of their own (sparse, fake, complex), and what torch cannot compute in float64.
"""
import collections
import contextlib

import torch
from torch.utils import _python_dispatch

PLAIN = (torch.Tensor, torch.nn.Parameter)
COLLECTIVES = ("c10d::", "_c10d_functional::", "_c10d_functional_autograd::")
MOST_FAILURES = 50


class Foreign(Exception):
    """A tensor that cannot be copied to float64."""


class Reference:
    def __init__(self):
        self.compared = 0
        self.skipped = collections.Counter()
        self.failures = {}  # operator -> what torch said first

    def counts(self):
        return {"compared": self.compared, **{f"skipped.{why}": count for why, count in sorted(self.skipped.items())},
                **({"failures": self.failures} if self.failures else {})}

    def expect(self, function, arguments, keywords):
        """(results in float64, the arguments that the operator writes to), or None."""
        why = reason_to_skip(function)
        if why:
            self.skipped[why] += 1
            return None
        try:
            with undisturbed():
                copies = Copies()
                ours = copies.of(arguments)
                named = {key: copies.of(value) for key, value in (keywords or {}).items()}
                if not copies.floating and not makes_floating(keywords):
                    self.skipped["integer"] += 1
                    return None
                result = function(*ours, **named)
        except Foreign:
            self.skipped["foreign"] += 1
            return None
        except Exception as error:
            self.fails(function, error)
            return None
        written = written_arguments(function, arguments)
        expected = tensors_of(written_arguments(function, ours) if result is None else result)
        return function, expected, written

    def compare(self, expectation, result):
        """[(slot, difference)]"""
        function, expected, written = expectation
        found = tensors_of(written if result is None else result)
        try:
            with undisturbed():
                if len(found) != len(expected):
                    raise ValueError(f"{len(found)} results, {len(expected)} in float64")
                differences = [(f"error:output{number}", difference(ours, theirs))
                               for number, (ours, theirs) in enumerate(zip(found, expected))
                               if ours.is_floating_point() and ours.numel()]
        except Exception as error:
            self.fails(function, error)
            return []
        if differences:
            self.compared += 1
        else:
            self.skipped["integer"] += 1
        return differences

    def fails(self, function, error):
        self.skipped["failed"] += 1
        if len(self.failures) < MOST_FAILURES:
            self.failures.setdefault(str(function), f"{type(error).__name__}: {error}".split("\n")[0][:200])


@contextlib.contextmanager
def undisturbed():
    """What runs inside is seen by no mode of the program, makes no graph and leaves the random numbers as they were."""
    with torch._C.DisableTorchFunction(), _python_dispatch._disable_current_modes(), torch.no_grad():
        state = torch.default_generator.get_state()
        try:
            yield
        finally:
            if not torch.equal(state, torch.default_generator.get_state()):
                torch.default_generator.set_state(state)


def reason_to_skip(function):
    if not isinstance(function, torch._ops.OpOverload):
        return "foreign"
    if function._schema.name.startswith(COLLECTIVES):
        return "collective"
    if torch.Tag.nondeterministic_seeded in function.tags:
        return "random"
    if any(argument.name == "generator" for argument in function._schema.arguments):
        return "random"
    return None


class Copies:
    """Of arguments: a tensor that is given twice is copied once, since the operator may write to it."""

    def __init__(self):
        self.made = {}
        self.floating = False

    def of(self, value):
        if isinstance(value, torch.Tensor):
            return self.of_tensor(value)
        if isinstance(value, (list, tuple)):
            return type(value)(self.of(item) for item in value)
        if isinstance(value, torch.dtype):
            return torch.float64 if value.is_floating_point else value
        if isinstance(value, torch.device):
            return torch.device("cpu")
        return value

    def of_tensor(self, tensor):
        if type(tensor) not in PLAIN or tensor.layout != torch.strided or tensor.is_meta or tensor.is_quantized \
                or tensor.is_complex():
            raise Foreign
        if id(tensor) not in self.made:
            dtype = torch.float64 if tensor.is_floating_point() else tensor.dtype
            self.floating |= tensor.is_floating_point()
            self.made[id(tensor)] = tensor.detach().to("cpu", dtype, copy=True)
        return self.made[id(tensor)]


def makes_floating(keywords):
    wanted = (keywords or {}).get("dtype")
    return isinstance(wanted, torch.dtype) and wanted.is_floating_point


def written_arguments(function, arguments):
    return [value for value, argument in zip(arguments, function._schema.arguments)
            if argument.alias_info is not None and argument.alias_info.is_write]


def tensors_of(value):
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [tensor for item in value for tensor in tensors_of(item)]
    return []


def difference(ours, theirs):
    """0 where both are the same infinity or both are no numbers."""
    ours = ours.detach().to("cpu", torch.float64)
    if ours.shape != theirs.shape:
        raise ValueError(f"shape {list(ours.shape)}, in float64 {list(theirs.shape)}")
    theirs = theirs.to(torch.float64)
    same = (ours == theirs) | (ours.isnan() & theirs.isnan())
    return torch.where(same, 0.0, ours - theirs).contiguous()
