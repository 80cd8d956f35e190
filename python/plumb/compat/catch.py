"""Cambricon CATCH's Dumper, recorded by Plumb: `from plumb.compat.catch import Dumper`.

    with Dumper(dump_dir="dump", enable=True, use_cpu=False, level=0):
        train_one_step()

Every operation inside of the block is recorded; level 2 keeps the values as well.
"""
import warnings

from .. import capture


class Dumper:
    def __init__(self, dump_dir="dump", enable=True, use_cpu=False, level=0):
        self.directory, self.enable, self.level = dump_dir, enable, level
        self._session = None
        if use_cpu:
            warnings.warn("plumb: results of the CPU are not computed beside (use_cpu); compare two runs with plumb diff",
                          stacklevel=2)

    def __enter__(self):
        if self.enable:
            self._session = capture.attach(out=self.directory, level="op", save="tensors" if self.level >= 2 else "stats")
        return self

    def __exit__(self, *exception):
        if self._session is not None:
            self._session.close()
            self._session = None
