"""Attaches a session to torch: which parts, by level."""
import sys
import warnings

import torch

from . import stacks, torch_modules, torch_watch
from .torch_names import Names


class TorchAdapter:
    def __init__(self, session):
        self.session = session
        self.names = Names()
        session.framework = f"torch {torch.__version__}"
        session.rank_from_framework = rank
        level = session.options.level
        if level != "watch":
            # The hooks are ours, and are made for being called once more.
            warnings.filterwarnings("ignore", message=r"Using `torch\.compile\(module\)` when there are global hooks")
            stacks.follow(session, torch.nn.Module._call_impl.__code__)
        if level == "op" and not self._install_ops():
            level = "module"
        if level == "module":
            torch_modules.Modules(session, self.names).install()
        if session.options.compute_in:
            from . import torch_compute
            torch_compute.install(session, self.names)
        # Last, because its hook after the update ends the step.
        self.watch = torch_watch.Watch(session, self.names)
        self.watch.install()

    def _install_ops(self):
        """Every operation, by the fastest way that this torch allows; see torch_ops."""
        try:
            from . import torch_ops
        except ImportError as error:
            self.session.say(f"operations cannot be recorded here ({error}); modules are")
            return False
        return torch_ops.install(self.session, self.names)

    def know(self, model, optimizer):
        """What the user says need not be guessed."""
        models = model if isinstance(model, (list, tuple)) else [model]
        for each in models:
            if each is not None:
                self.names.add_root(each)
        optimizers = optimizer if isinstance(optimizer, (list, tuple)) else [optimizer]
        for each in optimizers:
            if each is not None:
                self.watch.optimizers.add(each)


def rank():
    distributed = sys.modules.get("torch.distributed")
    if distributed and distributed.is_available() and distributed.is_initialized():
        return distributed.get_rank(), distributed.get_world_size()
    return None


def install(session):
    return TorchAdapter(session)
