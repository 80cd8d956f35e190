"""What is to be recorded: from `plumb run` (one variable of the environment) or from plumb.attach()."""
import fnmatch
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
    compute_in: str | None = None  # the type that --ops compute in: the one thing that changes a run
    against: str | None = None  # another run, compared with while training
    command: list | None = None  # what `plumb run` was told to run
    launched: bool = False  # by `plumb run`, which says itself where the run is
    extra: dict = field(default_factory=dict)  # what a newer launcher says and this version does not know

    def __post_init__(self):
        self.patterns = None

    def wants(self, label, name=None):
        """Is what is called so selected by `ops`? A list separated by commas, or @FILE with such lists."""
        if self.patterns is None:
            self.patterns = read_patterns(self.ops)
        if not self.patterns:
            return True
        return any(fnmatch.fnmatchcase(text, pattern) for text in (label, name) if text is not None
                   for pattern in self.patterns)

    def check(self):
        if self.level not in LEVELS:
            raise ValueError(f"plumb: no level {self.level!r}; one of {', '.join(LEVELS)}")
        if self.save not in SAVES:
            raise ValueError(f"plumb: no kind of saving {self.save!r}; one of {', '.join(SAVES)}")
        if self.reference not in (None, "cpu64"):
            raise ValueError(f"plumb: no reference {self.reference!r}; the one there is: cpu64")
        if self.reference and self.level != "op":
            raise ValueError("plumb: a reference is computed for each operation; say level=\"op\" as well")
        if self.compute_in not in (None, "float64"):
            raise ValueError(f"plumb: no type to compute in {self.compute_in!r}; the one there is: float64")
        if self.compute_in and not self.ops:
            raise ValueError("plumb: say with ops which operations compute_in is for")
        if self.compute_in and self.level == "op" and self.steps:
            raise ValueError("plumb: compute_in changes all steps: at level op, select none")
        if self.ops and self.ops.startswith("@"):
            self.ops = ",".join(read_patterns(self.ops))
        return self


def read_patterns(text):
    if not text:
        return []
    if text.startswith("@"):
        with open(text[1:], encoding="utf-8") as file:
            text = file.read().replace("\n", ",")
    return [part.strip() for part in text.split(",") if part.strip()]


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
