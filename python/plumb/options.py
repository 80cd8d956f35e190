"""What is to be recorded: from `plumb run` (one variable of the environment) or from plumb.attach()."""
import json
import os
import sys
import time
from dataclasses import dataclass, field

VARIABLE = "PLUMB_CAPTURE"
LEVELS = ("watch", "module", "op")
SAVES = ("stats", "fingerprint", "tensors")


@dataclass
class Options:
    level: str = "watch"
    save: str = "stats"
    steps: str | None = None
    ranks: str | None = None
    ops: str | None = None
    out: str = ""
    reference: str | None = None
    against: str | None = None  # another run, compared with while training
    command: list | None = None  # what `plumb run` was told to run
    launched: bool = False  # by `plumb run`, which says itself where the run is
    extra: dict = field(default_factory=dict)  # what a newer launcher says and this version does not know

    def check(self):
        if self.level not in LEVELS:
            raise ValueError(f"plumb: no level {self.level!r}; one of {', '.join(LEVELS)}")
        if self.save not in SAVES:
            raise ValueError(f"plumb: no kind of saving {self.save!r}; one of {', '.join(SAVES)}")
        if self.reference not in (None, "cpu64"):
            raise ValueError(f"plumb: no reference {self.reference!r}; the one there is: cpu64")
        if self.reference and self.level != "op":
            raise ValueError("plumb: a reference is computed for each operation; say level=\"op\" as well")
        return self


def default_directory():
    script = os.path.splitext(os.path.basename(sys.argv[0] if sys.argv and sys.argv[0] else ""))[0] or "python"
    return os.path.join("runs", f"{script}-{time.strftime('%Y%m%d-%H%M%S')}")


def from_environment():
    """The launcher's wish, or None if this process was not started by it."""
    text = os.environ.get(VARIABLE)
    if not text:
        return None
    wish = json.loads(text)
    known = {name: wish.pop(name) for name in list(wish) if name in Options.__dataclass_fields__}
    return Options(**known, launched=True, extra=wish).check()
