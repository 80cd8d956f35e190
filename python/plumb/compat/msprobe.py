"""msprobe's PrecisionDebugger, recorded by Plumb: `from plumb.compat.msprobe import PrecisionDebugger`.

The script and its config.json stay as they are. Levels become Plumb's (L0 modules, L1 and mix operations, debug what
save() is given), tasks what is kept (statistics; tensor with the values; summary_mode md5 the fingerprint). The run
goes to dump_path, where `plumb export RUN --msprobe OUT` makes msprobe's own files of it. Plumb counts steps by the
optimizer; step() ends one where there is none. What happens between stop() and start() is recorded too.
"""
import json
import os

from .. import capture

LEVELS = {"L0": "module", "L1": "op", "mix": "op", "debug": "watch"}


class PrecisionDebugger:
    _instance = None

    def __new__(cls, *arguments, **keywords):
        if cls._instance is None:  # msprobe's is one a process as well
            cls._instance = super().__new__(cls)
            cls._instance._session = None
            cls._instance._steps = 0
        return cls._instance

    def __init__(self, config_path=None, task=None, dump_path=None, level=None, step=None, **ignored):
        if self._session is not None:
            return
        self.wish = read_config(config_path) if config_path else {}
        for name, value in (("task", task), ("dump_path", dump_path), ("level", level), ("step", step)):
            if value is not None:
                self.wish[name] = value

    @classmethod
    def start(cls, model=None, **ignored):
        self = cls._instance
        if self is None:
            raise RuntimeError("plumb: make a PrecisionDebugger before start()")
        if self._session is None:
            self._session = capture.attach(model, **options(self.wish))

    @classmethod
    def stop(cls):
        """Nothing: the run goes on until the program ends."""

    @classmethod
    def step(cls):
        self = cls._instance
        if self is None or self._session is None:
            return
        if self._session.step == self._steps:  # no optimizer has ended it
            capture.step()
        self._steps = self._session.step

    @classmethod
    def save(cls, variable, name, save_backward=True):
        if cls._instance is not None and cls._instance._session is None:
            cls.start()
        for path, tensor in flatten(variable, str(name)):
            capture.save(path, tensor if save_backward else tensor.detach())


def read_config(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def options(wish):
    """What plumb.attach is to be told."""
    task = wish.get("task") or "statistics"
    details = wish.get(task) or {}
    save = "tensors" if task == "tensor" else "stats"
    if details.get("summary_mode") in ("md5", "xor"):
        save = "fingerprint"
    level = wish.get("level") or "L1"
    if level not in LEVELS:
        raise ValueError(f"plumb: no level {level!r} of msprobe; one of {', '.join(LEVELS)}")
    names = details.get("list") or []
    return {"out": os.path.join(wish.get("dump_path") or "dump_path", "plumb"), "level": LEVELS[level], "save": save,
            "steps": selection(wish.get("step")), "ranks": selection(wish.get("rank")),
            "ops": f"*{names[0]}*" if len(names) == 1 else None}


def selection(values):
    """[0, 1, "3-5"] is "0,1,3-5"; nothing is everything."""
    if isinstance(values, (int, str)):
        values = [values]
    return ",".join(str(value) for value in values) if values else None


def flatten(value, path):
    if isinstance(value, dict):
        for key, item in value.items():
            yield from flatten(item, f"{path}.{key}")
    elif isinstance(value, (list, tuple)):
        for number, item in enumerate(value):
            yield from flatten(item, f"{path}.{number}")
    elif hasattr(value, "shape"):
        yield path, value
