"""Cambricon CATCH's Dumper, recorded by Plumb: `from plumb.compat.catch import Dumper`.

    with Dumper(dump_dir="dump", enable=True, use_cpu=False, level=0):
        train_one_step()

Every operation inside of the block is recorded; level 2 keeps the values as well. use_cpu computes each result
a second time on the CPU, in float64, and records the difference.
"""
from .. import capture


class Dumper:
    def __init__(self, dump_dir="dump", enable=True, use_cpu=False, level=0):
        self.directory, self.enable, self.level = dump_dir, enable, level
        self.reference = "cpu64" if use_cpu else None
        self._session = None

    def __enter__(self):
        if self.enable:
            self._session = capture.attach(out=self.directory, level="op", reference=self.reference,
                                           save="tensors" if self.level >= 2 else "stats")
        return self

    def __exit__(self, *exception):
        if self._session is not None:
            self._session.close()
            self._session = None
