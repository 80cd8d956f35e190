"""Looking into MindSpore's values: which tensors are in there, and which of them could be a loss."""
import mindspore
from mindspore import Tensor

FLOATS = (mindspore.float32, mindspore.float16, mindspore.bfloat16, mindspore.float64)


def tensors_in(value, most=16):
    found, waiting = [], [value]
    while waiting and len(found) < most:
        thing = waiting.pop(0)
        if isinstance(thing, Tensor):
            found.append(thing)
        elif isinstance(thing, (list, tuple)):
            waiting[:0] = thing
        elif isinstance(thing, dict):
            waiting[:0] = thing.values()
    return found


def loss_in(value):
    """The first tensor of a result, if it is a single floating point number."""
    while isinstance(value, (list, tuple)) and value:
        value = value[0]
    if isinstance(value, Tensor) and value.size == 1 and value.dtype in FLOATS:
        return value
    return None


def number(tensor):
    """Waits until the value is there."""
    return float(tensor.asnumpy().reshape(())) if tensor.dtype != mindspore.bfloat16 else float(tensor.item())
