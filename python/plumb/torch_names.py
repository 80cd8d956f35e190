"""Names of modules and parameters, as the user's program would write them.

A model is a tree; its root has no name. Wrappers (DistributedDataParallel, torch.compile) are looked
through, so that the same model has the same names with and without them.
"""
import gc

import torch

WRAPPED = ("module", "_orig_mod", "_fsdp_wrapped_module")


def inner(module):
    """The model inside of wrappers."""
    while True:
        name = type(module).__name__
        if name in ("DistributedDataParallel", "DataParallel", "FullyShardedDataParallel"):
            module = module.module
        elif name == "OptimizedModule":
            module = module._orig_mod
        else:
            return module


def clean(name):
    """A dotted name without the wrappers' part of it."""
    return ".".join(part for part in name.split(".") if part not in WRAPPED)


class Names:
    def __init__(self):
        self.roots = []  # (prefix, module)
        self.modules = {}  # id -> name; roots keep their modules alive
        self.parameters = {}  # id -> name
        self.owners = {}  # id of a parameter -> (name of its module, class, its own name)
        self._wrappers = set()

    def find_roots(self, wanted):
        """Every model there is: modules with parameters that are in no other module. First the one that holds
        what is wanted (ids of modules or parameters), because it is the one in use; then the largest."""
        found, children = {}, set()
        for thing in gc.get_objects():
            if issubclass(type(thing), torch.nn.Module) and "_modules" in thing.__dict__:
                found[id(thing)] = thing
        for module in found.values():
            children.update(id(child) for child in module.__dict__["_modules"].values() if child is not None)
        tops = []
        for key, module in found.items():
            if key in children or key in self.modules:
                continue
            size = sum(p.numel() for p in module.parameters())
            holds = any(id(part) in wanted for part in (*module.modules(), *module.parameters()))
            if size or holds:
                tops.append((not holds, -size, len(tops), module))
        for *_, module in sorted(tops):
            self.add_root(module)

    def add_root(self, module):
        """Gives names to all in the tree. The first root has none itself, later ones that of their class."""
        root = inner(module)
        if id(root) in self.modules:
            self._remember_wrappers(module, root)
            return
        taken = {prefix for prefix, _ in self.roots}
        prefix = "" if not self.roots else type(root).__name__
        number = 2
        while prefix in taken:
            prefix = f"{type(root).__name__}{number}"
            number += 1
        self.roots.append((prefix, root))
        self._remember_wrappers(module, root)
        for name, child in root.named_modules(remove_duplicate=True):
            full = join(prefix, clean(name))
            self.modules.setdefault(id(child), full)
            for own, parameter in child.named_parameters(recurse=False):
                self.parameters.setdefault(id(parameter), join(full, own))
                self.owners.setdefault(id(parameter), (full, type(child).__name__, own))

    def _remember_wrappers(self, module, root):
        while module is not root:
            self._wrappers.add(id(module))
            module = getattr(module, "module", None) or getattr(module, "_orig_mod", None) or root

    def is_wrapper(self, module):
        return id(module) in self._wrappers or inner(module) is not module

    def of_module(self, module):
        """None for a module that is only a wrapper."""
        name = self.modules.get(id(module))
        if name is None:
            if inner(module) is not module:
                return None
            self.find_roots({id(module)})
            if id(module) not in self.modules:
                self.add_root(module)
            name = self.modules[id(module)]
        return name

    def of_parameter(self, parameter, group, index):
        name = self.parameters.get(id(parameter))
        if name is None:
            name = f"group{group}.{index}"
            self.parameters[id(parameter)] = name
            self.owners[id(parameter)] = ("", "parameters", name)
        return name


def join(prefix, name):
    return f"{prefix}.{name}" if prefix and name else prefix or name
