"""Put first in PYTHONPATH by `plumb run`: attaches to torch or mindspore if the program imports one.

Python runs this before the program. It (1) runs the sitecustomize that would have been run without it,
(2) watches for the import of a framework. Nothing else is imported, so that a program without one runs
as ever.
"""
import importlib.machinery
import importlib.util
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGE = os.path.dirname(HERE)
FRAMEWORKS = ("torch", "mindspore")


def run_the_hidden_one():
    """The user's own sitecustomize, or the distribution's."""
    path = [entry for entry in sys.path if os.path.abspath(entry or ".") != HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", path)
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    mine = sys.modules.get("sitecustomize")
    sys.modules["sitecustomize"] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        sys.modules["sitecustomize"] = mine
        raise


class Finder:
    """Finds `plumb` beside this file if it is not installed, and wraps the loading of what is watched."""

    def __init__(self):
        self.busy = set()

    def find_spec(self, name, path=None, target=None):
        if name == "plumb":
            return self._find_plumb()
        if path is not None or name in self.busy or name not in (*FRAMEWORKS, "argparse"):
            return None
        self.busy.add(name)
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self.busy.discard(name)
        if spec is not None and hasattr(spec.loader, "exec_module"):
            execute = spec.loader.exec_module

            def exec_module(module):
                execute(module)
                imported(name, module)

            spec.loader.exec_module = exec_module
        return spec

    @staticmethod
    def _find_plumb():
        return importlib.util.spec_from_file_location("plumb", os.path.join(PACKAGE, "__init__.py"),
                                                      submodule_search_locations=[PACKAGE])


def keep_arguments(argparse):
    """What the program's own parser makes of the command line is kept for the record."""
    parse = argparse.ArgumentParser.parse_known_args

    def parse_known_args(self, args=None, namespace=None):
        result = parse(self, args, namespace)
        if args is None:  # the command line itself, not something else
            argparse.plumb_parsed_arguments = result[0]
        return result

    argparse.ArgumentParser.parse_known_args = parse_known_args


def imported(name, module):
    try:
        if name == "argparse":
            keep_arguments(module)
        else:
            from plumb import capture, options
            wish = options.from_environment()
            if wish is not None:
                capture.start(wish)
                capture.attach_framework(name)
    except Exception as error:
        print(f"plumb: nothing is recorded: {reason(error)}", file=sys.stderr)


def reason(error):
    if getattr(error, "name", None) != "plumb._plumb":
        return f"{type(error).__name__}: {error}"
    source = os.path.dirname(os.path.dirname(PACKAGE))
    build = f"make -C {source} python" if os.path.exists(os.path.join(source, "Makefile")) else "make install"
    return f"Plumb was built without its Python part; for a record install Python's headers (python3-dev), then: {build}"


run_the_hidden_one()
if os.environ.get("PLUMB_CAPTURE"):
    sys.meta_path.insert(0, Finder())
    if "argparse" in sys.modules:
        imported("argparse", sys.modules["argparse"])
