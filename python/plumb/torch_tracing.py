"""Is the program followed instead of run?

torch.compile follows hooks in Python too, and leaves out what stands behind this question. torch.jit.trace writes whatever is asked of
a tensor, a shape or a size, into the program that it makes.
"""
import torch

_compiling, _following, _tracing = torch.compiler.is_compiling, torch.compiler.is_dynamo_compiling, torch._C._get_tracing_state
_transforming = torch._C._functorch.peek_interpreter_stack


def is_traced():
    return _following() or _tracing() is not None or _compiling()


def is_out_of_reach():
    """Also inside of torch.func's grad, vmap and so on, whose tensors are not those that are computed with."""
    return is_traced() or _transforming() is not None
