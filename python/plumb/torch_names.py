"""Names of modules and parameters, as the user's program would write them.

A model is a tree; its root has no name. Wrappers (DistributedDataParallel, torch.compile) are looked
through, so that the same model has the same names with and without them.
"""
import gc
import weakref

import torch
from torch.nn.parameter import is_lazy  # a parameter of a LazyLinear before it has seen its first input

from .identities import Identities

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


def class_name(module):
    """That of the program's own class: fully_shard() gives a module one that is made of it and of its own."""
    kind = type(module)
    if kind.__bases__[0].__name__ == "FSDPModule" and len(kind.__bases__) == 2:
        kind = kind.__bases__[1]
    return kind.__name__


def clean(name):
    """A dotted name without the wrappers' part of it."""
    return ".".join(part for part in name.split(".") if part not in WRAPPED)


class Names:
    def __init__(self):
        self._trees = []  # (prefix, references to a root and the modules that have their names from it)
        self._taken = set()  # prefixes of all roots that there were
        self.modules = Identities()  # id -> name
        self.parameters = Identities()  # id -> name
        self.owners = Identities()  # id of a parameter -> (name of its module, class, its own name)
        self._wrappers = Identities()

    @property
    def roots(self):
        """(prefix, module) of the models that the program still has. Parts may outlive the whole they were found in."""
        found = []
        self._trees = [tree for tree in self._trees if any(reference() is not None for reference in tree[1])]
        for prefix, references in self._trees:
            if references[0]() is not None:
                found.append((prefix, references[0]()))
                continue
            left = [module for module in (reference() for reference in references) if module is not None]
            inside = {id(part) for module in left for part in module.modules() if part is not module}
            found.extend((prefix, module) for module in left if id(module) not in inside)
        return found

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
            size = sum(p.numel() for p in module.parameters() if not is_lazy(p))
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
        prefix = "" if not self._taken else class_name(root)
        number = 2
        while prefix in self._taken:
            prefix = f"{class_name(root)}{number}"
            number += 1
        self._taken.add(prefix)
        self._trees.append((prefix, [weakref.ref(part) for part in root.modules() if id(part) not in self.modules]))
        self._remember_wrappers(module, root)
        for name, child in root.named_modules(remove_duplicate=True):
            full = join(prefix, clean(name))
            self.modules.know_once(child, full)
            for own, parameter in child.named_parameters(recurse=False):
                self.parameters.know_once(parameter, join(full, own))
                self.owners.know_once(parameter, (full, class_name(child), own))

    def _remember_wrappers(self, module, root):
        while module is not root:
            self._wrappers.know(module, True)
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
            self.parameters.know(parameter, name)
            self.owners.know(parameter, ("", "parameters", name))
        return name


def join(prefix, name):
    return f"{prefix}.{name}" if prefix and name else prefix or name
