"""Tensors that wrap others, as a DTensor does: they have no memory of their own.

To compute with one past its own rules is to read at address 0, and to ask it for its value may be a collective, which
waits for ranks that do not ask.
"""
import torch

PLAIN = torch._C._disabled_torch_dispatch_impl


def wraps(kind):
    """Do tensors of this type have rules of their own?"""
    return kind.__torch_dispatch__ is not PLAIN


def shows_inside(kind):
    """Do they hand on to the tensors inside? Those that torch traces with, which are not the training, do not."""
    return hasattr(kind, "__tensor_flatten__")


def local_part(tensor):
    """What this process has of it; None: nothing that can be read."""
    local = getattr(tensor, "_local_tensor", None) if wraps(type(tensor)) else tensor
    return None if local is None or wraps(type(local)) else local


def whole(tensor):
    """The same if that is all of it, else None."""
    if wraps(type(tensor)) and not all(placement.is_replicate() for placement in getattr(tensor, "placements", ())):
        return None
    return local_part(tensor)
