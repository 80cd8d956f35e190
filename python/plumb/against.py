"""`plumb run --against RUN`: the first record that differs from another run's, told while training.

The comparison is in C, record by record as they are made (src/compare/run_against.c). This opens the other run,
says when a step begins, tells what was found - at once and again at the end - and saves the values around it.
"""
import os
import shlex

from . import _plumb, reading

SERIES = ("loss", "grad_norm")


class Against:
    def __init__(self, session):
        self.session = session
        self.path = session.options.against
        self.told = [False, False]  # in bits, beyond rounding
        self.told_stop = False
        self.series = {}  # name -> {step: value} of the other run
        self.parted = {}  # name -> (step, there, here)
        self.records = _plumb.Against(self.path, session.rank)
        self.records.watch(session.recorder)
        other = reading.load(self.path)
        for name in SERIES:
            try:
                self.series[name] = other.series(name)
            except (KeyError, ValueError, OSError):
                pass  # it has none
        self.begin()

    def begin(self):
        self.records.step(self.session.step)

    def see_series(self, name, step, value):
        there = self.series.get(name, {}).get(step)
        if there is None or name in self.parted or there == value or there != there and value != value:
            return
        self.parted[name] = step, there, value
        self.say(f"{name} differs from {self.path} for the first time at step {step}: {there:.9g} there, {value:.9g} here")

    def tell(self):
        """At the end of a step: what is new."""
        for beyond in (False, True):
            found = self.records.first(beyond)
            if found and not self.told[beyond]:
                self.told[beyond] = True
                if not (beyond and found == self.records.first(False)):
                    self.say(describe(found, self.path))
        why = self.records.stopped()
        if why and not self.told_stop:
            self.told_stop = True
            self.say(f"no longer compared with {self.path}: {why}")

    def finish(self):
        """The answer once more, and what to do with it."""
        self.tell()
        self.records.watch(None)
        counts = self.records.counts()
        found = self.records.first(True) or self.records.first(False)
        for name, value in (("first", found), ("stopped", self.records.stopped()), ("records", counts["records"]),
                            ("steps", counts["steps"])):
            self.session.config(f"capture.against.{name}", value)
        if not found:
            self.say(self.nothing_found(counts))
            return
        self.say(describe(found, self.path))
        self.save(counts)
        if counts["gone"] or not counts["saved"]:
            self.say(f"values of {counts['gone']} tensors around it were no longer there; for all of them run\n"
                     f"  {self.second_run(found)}")

    def nothing_found(self, counts):
        if not counts["steps"]:
            series = ", ".join(self.parted) or "no series"
            return f"{self.path} has no tensor records of these steps; {series} of those that both have differs"
        text = f"{counts['records']} records of {counts['steps']} steps are the same as in {self.path}, to the last bit"
        if self.records.stopped():
            text += "; the rest was not compared"
        elif self.parted:
            name, (step, *_) = min(self.parted.items(), key=lambda item: item[1][0])
            text += f"; yet {name} differs from step {step} on: what makes the difference was not recorded"
        return text

    def save(self, counts):
        if not counts["saved"]:
            return
        path = os.path.join(self.session.directory, f"rank{self.session.rank:04d}", "divergence.npz")
        try:
            self.records.save(path)
        except OSError as error:
            self.say(f"the values around it could not be saved: {error}")
            return
        self.say(f"values of {counts['saved']} tensors around it are in {path}")

    def second_run(self, found):
        options = self.session.options
        label = found["op"].partition("#")[0]
        command = shlex.join(options.command) if options.command else "COMMAND"
        level = "op" if options.level == "op" else "module"
        return (f"plumb run --level {level} --save tensors --steps {found['step']} --ops {shlex.quote(label or '*')} "
                f"--out {shlex.quote(self.session.directory + '-values')} -- {command}")

    def say(self, text):
        self.session.say(f"rank {self.session.rank}: {text}" if self.session.world_size > 1 else text)


def describe(found, path):
    how = "by more than rounding" if found["beyond_rounding"] else "in its bits, not by more than rounding"
    if found["basis"] == "bits":
        how = "in its bits"
    place = f"{found['phase']} {found['op'] or '(no op)'}, {found['slot']}"
    return f"first difference from {path}: step {found['step']}, {place} ({how}): {found['reason']}"
