"""Names of cells and parameters in MindSpore, as the user's program would write them.

A network is a tree of cells; its root has no name. What mindspore.nn wraps around it for training is looked
through, so that the same network has the same names in every kind of loop. Parameters have names already.
"""
import gc

from mindspore import nn
from mindspore.experimental import optim

OPTIMIZERS = (nn.Optimizer, optim.Optimizer)
WRAPPED = ("_backbone", "backbone", "network", "_network")


def is_wrapper(cell):
    """TrainOneStepCell, WithLossCell and their like: no part of the network."""
    return type(cell).__module__.startswith(("mindspore.nn.wrap.", "mindspore.train."))


def inner(cell):
    """The network inside of wrappers."""
    while is_wrapper(cell):
        children = cell.__dict__.get("_cells", {})
        found = next((children[name] for name in WRAPPED if isinstance(children.get(name), nn.Cell)), None)
        if found is None:
            break
        cell = found
    return cell


class Names:
    def __init__(self, optimizers):
        self.optimizers = optimizers  # all that are known
        self.roots = []  # (prefix, cell)
        self.cells = {}  # id -> name; roots keep their cells alive
        self.owners = {}  # id of a parameter -> (name of its cell, class, its own name)
        self.fittings = set()  # ids of cells that belong to wrappers

    def find_roots(self):
        """Every network that is trained: in no other cell, with parameters that an optimizer has; the largest first."""
        trained = {id(parameter) for optimizer in self.optimizers for parameter in optimizer.parameters}
        found, children = {}, set()
        for thing in gc.get_objects():
            if issubclass(type(thing), nn.Cell) and not isinstance(thing, OPTIMIZERS) and "_cells" in thing.__dict__:
                root = inner(thing)
                if is_wrapper(thing):
                    self.fittings.add(id(thing.__dict__["_cells"].get("grad_reducer")))
                if not is_wrapper(root):
                    found[id(root)] = root
        for cell in found.values():
            children.update(id(child) for child in cell.__dict__["_cells"].values() if child is not None)
        tops = [cell for key, cell in found.items() if key not in children and key not in self.cells]
        tops = [cell for cell in tops if not trained or any(id(p) in trained for p in cell.get_parameters())]
        sized = [(sum(p.size for p in cell.get_parameters()), cell) for cell in tops]
        for _, cell in sorted((pair for pair in sized if pair[0]), key=lambda pair: -pair[0]):
            self.add_root(cell)

    def add_root(self, cell):
        """Gives names to all in the tree. The first root has none itself, later ones that of their class."""
        root = inner(cell)
        if id(root) in self.cells or isinstance(root, OPTIMIZERS):
            return
        taken = {prefix for prefix, _ in self.roots}
        prefix = "" if not self.roots and next(iter(root.get_parameters()), None) is not None else type(root).__name__
        number = 2
        while prefix in taken:
            prefix = f"{type(root).__name__}{number}"
            number += 1
        self.roots.append((prefix, root))
        for name, child in root.cells_and_names():
            full = f"{prefix}.{name}" if prefix and name else prefix or name
            self.cells.setdefault(id(child), full)
            for own, parameter in own_parameters(child):
                self.owners.setdefault(id(parameter), (full, type(child).__name__, own))

    def of_cell(self, cell):
        """None for what is only wrapped around a network."""
        name = self.cells.get(id(cell))
        if name is None and not is_wrapper(cell) and id(cell) not in self.fittings:
            self.find_roots()
            if id(cell) not in self.cells and id(cell) not in self.fittings:
                self.add_root(cell)
            name = self.cells.get(id(cell))
        return name


def own_parameters(cell):
    """(name, parameter) of those that belong to the cell itself."""
    return [(name, value) for name, value in cell.__dict__.get("_params", {}).items() if value is not None]
