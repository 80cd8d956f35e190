"""Where in the program modules and operations are called: "train.py:57 forward", the innermost first.

The C side walks the frames; this says how a line of a stack reads and which frames are left out: those of the
frameworks, of Plumb and of Python's own library. Lines of other installed packages begin with a space.
"""
import os
import sys

from . import _plumb

FRAMEWORKS = ("torch", "functorch", "mindspore", "plumb")
PACKAGES = ("/site-packages/", "/dist-packages/")


def folder_of(module):
    return os.path.dirname(os.path.abspath(module.__file__)) + os.sep


class Places:
    """Called with a code object and a line: how that is written, or None if it is left out."""

    def __init__(self):
        script = os.path.abspath(sys.argv[0]) if sys.argv and sys.argv[0] else ""
        self.near = (os.getcwd() + os.sep, os.path.dirname(script) + os.sep)  # what paths are relative to
        self.left_out = tuple(folder_of(sys.modules[name]) for name in FRAMEWORKS
                              if getattr(sys.modules.get(name), "__file__", None))
        self.library = folder_of(os)
        self.files = {}  # file name -> how it is written; None: left out

    def __call__(self, code, line):
        name = code.co_filename
        if name not in self.files:
            self.files[name] = self.written(name)
        file = self.files[name]
        return None if file is None else f"{file}:{line} {code.co_name}"

    def written(self, name):
        if name.startswith(("<frozen ", "<eval_with_key>", "<__array_function__")):
            return None
        path = name if name.startswith("<") else os.path.abspath(name)
        if path.startswith(self.left_out):
            return None
        for folder in PACKAGES:
            if folder in path:
                return f" {path.rsplit(folder, 1)[1]}"
        if path.startswith(self.library):
            return None
        return next((path[len(folder):] for folder in self.near if path.startswith(folder)), path)


class Stacks:
    """A listener of the session that comes before those that ask for stacks."""

    def __init__(self, session):
        self.call_code = None  # of the function in which torch calls modules and their hooks
        session.listen(self)

    def opened(self, session):
        _plumb.stacks_open(session.recorder, Places(), self.call_code)

    def closing(self, session):
        _plumb.stacks_open(None, None, None)


def follow(session, call_code=None):
    """Whatever the session's frameworks are, there is one for all."""
    if session.stacks is None:
        session.stacks = Stacks(session)
    if call_code is not None:
        session.stacks.call_code = call_code
