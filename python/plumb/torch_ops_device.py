"""Level `op` where the tensors are on a device: a handful of tensor operations an output, one transfer a step.

Nothing waits for the device while the step runs. The numbers of a tensor are one row of float64 there (the
fingerprint as its bits); when the step ends all rows are sent to the host together and recorded in the order
of execution. Outputs are recorded, not inputs: those are outputs of others. PLUMB_FORCE_DEVICE=1 takes this way on the host.
"""
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from . import _plumb
from .torch_wrappers import shows_inside

DTYPES = {torch.float64: "f64", torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16", torch.int8: "i8",
          torch.int16: "i16", torch.int32: "i32", torch.int64: "i64", torch.uint8: "u8", torch.bool: "bool"}
MASK = 2**64 - 1
POWER, COUNT_FACTOR, LAST_FACTOR = 0xD1342543DE82EF95, 0x9E3779B97F4A7C15, 0xFF51AFD7ED558CCD
MOST_ROWS = 1 << 16  # of a step


def signed(number):
    number &= MASK
    return number - 2**64 if number >> 63 else number


def fingerprint_keys():
    state, found = 0x706C756D62, []
    for _ in range(1024):
        state = (state + COUNT_FACTOR) & MASK
        z = state
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & MASK
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB & MASK
        found.append((z ^ (z >> 31)) >> 32)
    return found


def fingerprint(tensor, keys):
    """docs/fingerprint.md; int64 wraps around, which is what is wanted."""
    pad = torch.nn.functional.pad
    data = tensor.contiguous().reshape(-1).view(torch.uint8)
    size = data.numel()
    words = pad(data, (0, -size % 8)).view(torch.int32).to(torch.int64)
    words = (words + keys.repeat(-(-words.numel() // 1024))[:words.numel()]) & 0xFFFFFFFF
    pairs = words[0::2] * words[1::2]
    blocks = pad(pairs, (0, -pairs.numel() % 512)).reshape(-1, 512).sum(1)
    powers = torch.full_like(blocks, signed(POWER))
    powers[:1] = 1
    h = (blocks * powers.cumprod(0)).sum() ^ signed(size * COUNT_FACTOR)
    h = (h ^ (h >> 32) & 0xFFFFFFFF) * signed(LAST_FACTOR)
    return h ^ (h >> 29) & (2**35 - 1)


def statistics(tensor):
    """nan, +inf, -inf, zero, subnormal, at_max, min, max, mean, std, l2, abs_mean: float64, on its device."""
    values = tensor.reshape(-1).to(torch.float64)
    finite = values.isfinite()
    count = finite.sum()
    kept = torch.where(finite, values, 0.0)
    size = kept.abs()
    tiny, top = limits(tensor.dtype)
    mean = kept.sum() / count
    spread = torch.where(finite, values - mean, 0.0)
    return [values.isnan().sum(), (values == float("inf")).sum(), (values == float("-inf")).sum(),
            (values == 0).sum(), ((size > 0) & (size < tiny)).sum(), (finite & (size >= top)).sum(),
            torch.where(finite, values, float("inf")).min(), torch.where(finite, values, float("-inf")).max(),
            mean, ((spread * spread).sum() / count).sqrt(), (kept * kept).sum().sqrt(), size.sum() / count]


def limits(dtype):
    """The smallest normal number and the largest."""
    if dtype == torch.bool:
        return 0.0, float("inf")
    if dtype.is_floating_point:
        return torch.finfo(dtype).tiny, torch.finfo(dtype).max
    return 0.0, float(torch.iinfo(dtype).max)


class Aside:
    """Lets torch.compile do its work: else it runs everything uncompiled while a mode is on."""
    supports_higher_order_operators = True

    @classmethod
    def ignore_compile_internals(cls):
        return True

    @classmethod
    def is_infra_mode(cls):
        """How a torch before 2.9 is told the same."""
        return not hasattr(TorchDispatchMode, "ignore_compile_internals")


class DeviceMode(Aside, TorchDispatchMode):
    def __init__(self, session, describe):
        super().__init__()
        self.session = session
        self.describe = describe  # flags of an operator
        self.places = []  # (phase, module, op, call, slot, dtype, shape)
        self.rows = []
        self.calls = {}
        self.keys = {}  # by device
        self.flags = {}

    def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
        if any(shows_inside(kind) for kind in types):
            return NotImplemented  # its own rules come first; what they do with the tensors inside is seen here
        result = function(*arguments, **(keywords or {}))
        if not self.session.over:
            try:
                self.take(function, result)
            except Exception as error:  # never into the training
                self.session.fail(error)
        return result

    def take(self, function, result):
        flags = self.flags.get(function)
        if flags is None:
            schema = function._schema
            flags = self.flags[function] = self.describe(schema.name, schema)
        if flags or len(self.rows) >= MOST_ROWS:
            return  # views, new memory, collectives whose results are not there yet
        space, _, op = function._schema.name.partition("::")
        phase, module = _plumb.dispatch_context()
        place = (phase, module, op if space == "aten" else f"{space}.{op}")
        call = self.calls[place] = self.calls.get(place, -1) + 1
        for number, tensor in enumerate(result if isinstance(result, (tuple, list)) else (result,)):
            if readable(tensor):
                self.places.append((*place, call, f"output{number}", DTYPES[tensor.dtype], tuple(tensor.shape)))
                self.rows.append(self.row(tensor.detach()))

    def row(self, tensor):
        keys = self.keys.get(tensor.device)
        if keys is None:
            keys = self.keys[tensor.device] = torch.tensor(fingerprint_keys(), device=tensor.device)
        with torch.no_grad():
            numbers = [number.to(torch.float64) for number in statistics(tensor)]
            return torch.stack([*numbers, fingerprint(tensor, keys).view(torch.float64)])

    def send(self):
        """When a step ends: one transfer, then records."""
        places, rows = self.places, self.rows
        self.places, self.rows, self.calls = [], [], {}
        by_device = {}
        for place, row in zip(places, rows):
            by_device.setdefault(row.device, []).append((place, row))
        for pairs in by_device.values():
            with torch.no_grad(), torch._C._DisableTorchDispatch():  # not the program's own operators
                host = torch.stack([row for _, row in pairs]).to("cpu")
            prints = host[:, 12].contiguous().view(torch.int64).tolist()
            for (place, _), numbers, print_ in zip(pairs, host.tolist(), prints):
                _plumb.ops_known(*place, print_ & MASK, tuple(numbers[:12]))


def readable(tensor):
    return (type(tensor) in (torch.Tensor, torch.nn.Parameter) and tensor.layout == torch.strided
            and tensor.device.type != "meta" and tensor.numel() > 0 and tensor.dtype in DTYPES
            and not tensor.is_quantized)
