"""Plumb: finds out why the training of a network is wrong or slow.

    import plumb
    plumb.attach(model, optimizer)      # or change nothing and type: plumb run -- python train.py
    plumb.series("accuracy", value)     # a number of your own, by step
    plumb.save("logits", tensor)        # a tensor of your own, and its gradient

    run = plumb.load("runs/first")      # what was recorded, or any tensor file
    plumb.diff("a.pth", "b.pth")        # where B leaves A

Nothing here imports a framework; the one that the program uses is attached to.
"""
from ._plumb import VERSION as __version__
from .capture import attach, save, series, step
from .reading import Run, diff, load
from .seeding import seed_all


def __getattr__(name):
    if name == "MindSporeCallback":  # imports mindspore, which nothing else here does
        from .mindspore_callback import MindSporeCallback
        return MindSporeCallback
    raise AttributeError(f"module 'plumb' has no attribute {name!r}")


__all__ = ["Run", "__version__", "attach", "diff", "load", "save", "seed_all", "series", "step"]
