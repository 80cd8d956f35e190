"""plumb.load and plumb.diff: what is on disk, as Python objects."""
import json
import os

from . import _plumb


class Run:
    """A recorded run."""

    def __init__(self, path):
        self.path = os.fspath(path)
        self.overview = json.loads(_plumb.run_json(self.path))

    @property
    def ended(self):
        return self.overview["ended"]

    @property
    def names(self):
        """Of the series."""
        return sorted({row["name"] for row in self.overview["series"]})

    def series(self, name, rank=-1):
        """({step: value}) of the rank, or of the first that has it."""
        found = json.loads(_plumb.run_json(self.path, name, None, None, rank))
        return dict(zip(found["steps"], map(_number, found["values"])))

    def config(self, rank=None):
        """What the program was started and set up with: {key: value} of the rank, or of the first."""
        rows = _plumb.run_config(self.path)
        wanted = rows[0][0] if rows and rank is None else rank
        return {key: json.loads(value) for of, key, value in rows if of == wanted}

    def records(self, op="*", step=None, rank=-1):
        """Tensor records of ops that fit the pattern, in the order of execution."""
        return json.loads(_plumb.run_json(self.path, None, op, step, rank))["records"]

    def __repr__(self):
        return f"Run({self.path!r}, {self.ended}, steps {self.overview['steps']})"


def _number(value):
    return float(value) if isinstance(value, str) else value


def load(path):
    """A Run for a run's directory; for a tensor file what `plumb show --json` says, as a dictionary."""
    path = os.fspath(path)
    return Run(path) if _plumb.is_run(path) else json.loads(_plumb.file_json(path))


def diff(a, b, map=None):
    """What `plumb diff --json A B` says, as a dictionary; of two runs or of two tensor files. A is the reference."""
    return json.loads(_plumb.diff_json(os.fspath(a), os.fspath(b), map))
