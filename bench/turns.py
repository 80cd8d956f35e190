"""Processes that train in turns, so that what the machine does meanwhile it does to all of them.

Two equal processes that run one after the other, or in turns of a second, differ by several hundredths on a shared
machine. Here all but one are stopped at any time, and which one runs changes every twentieth of a second. A child prints
"ready", and answers each line it is sent with its CPU seconds, its wall seconds and its last loss; the wall time that counts
is that of its slices, because its own clock goes on while it is stopped.
"""
import contextlib
import json
import os
import random
import select
import signal
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PLUMB = os.path.join(ROOT, "build", "plumb")
SLICE = 0.05
CHANCE = random.Random(1)
# Whether glibc gives large blocks back to the system depends on what was freed before, and where things lie in
# memory on chance; fixed, so that all are treated alike.
STEADY = {"MALLOC_MMAP_THRESHOLD_": str(1 << 30), "MALLOC_TRIM_THRESHOLD_": str(1 << 31), "PYTHONHASHSEED": "0"}


class Run:
    """What `plumb run` is asked for, and what has to be found when the training is over."""

    def __init__(self, path, options, route=None, environment=()):
        self.path, self.options, self.route, self.environment = path, options, route, dict(environment)

    def launcher(self):
        return [PLUMB, "run", "--out", self.path, *self.options, "--"]

    def show(self, said, *options):
        done = subprocess.run([PLUMB, "show", self.path, "--json", *options], capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"the capture is not there: {done.stderr.strip()}\n{said}")
        return json.loads(done.stdout)

    def check(self, steps, said):
        """A capture that ended early costs nothing: its figures would be the best of all. said: by the training."""
        shown = self.show(said)
        rank = shown["ranks"][0]
        if (rank["ended"], rank["how"], rank["finished_steps"]) != ("closed", "closed", steps):
            raise SystemExit(f"the capture ended early: {rank['finished_steps']} of {steps} steps, {rank['how']}\n{said}")
        route = {row["key"]: row["value"] for row in shown["config"]}.get("capture.route")
        if self.route and route != self.route:
            raise SystemExit(f"the capture took the route {route}, not {self.route}\n{said}")
        if self.route:  # a step without records is an error
            self.show(said, "--step", str(steps - 1), "--op", "*", "--slot", "output0")


class Child:
    """words: the program and its arguments. threads: None if it may use what it finds."""

    def __init__(self, words, threads=None, run=None, environment=()):
        self.run, self.threads, self.steps = run, threads, 0
        self.said = tempfile.TemporaryFile("w+")
        threads_environment = {"OMP_NUM_THREADS": str(threads)} if threads else {}
        own = {**os.environ, **STEADY, **threads_environment, **dict(environment), **(run.environment if run else {})}
        # A group of its own is stopped and continued with the launcher before it.
        self.process = subprocess.Popen([*(run.launcher() if run else ()), sys.executable, *words], text=True, env=own,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.said,
                                        preexec_fn=lambda: os.setpgid(0, 0))
        self.wall, self.answer = 0.0, None

    def words_said(self):
        self.said.seek(0)
        return self.said.read()[-4000:]

    def ready(self):
        """Waits for its first steps. They ran on any processor; one thread now stays on one, the same for all."""
        line = self.process.stdout.readline().split()
        if line[:1] != ["ready"]:
            raise SystemExit(f"{self.process.args}:\n{self.words_said()}")
        self.steps += int(line[2])
        if self.threads == 1:
            for task in os.listdir(f"/proc/{line[1]}/task"):
                os.sched_setaffinity(int(task), {max(os.sched_getaffinity(0))})
        self.signal(signal.SIGSTOP)

    def signal(self, number):
        os.killpg(self.process.pid, number)

    def ask(self, steps):
        self.wall, self.answer = 0.0, None
        self.steps += steps
        self.process.stdin.write(f"{steps}\n")
        self.process.stdin.flush()

    def go_on(self):
        """Runs for a slice of time, or until it has answered. True if it has."""
        began = time.perf_counter()
        self.signal(signal.SIGCONT)
        answered = select.select([self.process.stdout], [], [], SLICE)[0]
        line = self.process.stdout.readline().split() if answered else ()
        self.signal(signal.SIGSTOP)
        self.wall += time.perf_counter() - began
        if answered:
            if len(line) != 2:
                raise SystemExit(f"{self.process.args}: ended while it was measured\n{self.words_said()}")
            self.answer = (float(line[0]), self.wall, line[1])
        return bool(answered)

    def end(self):
        self.signal(signal.SIGCONT)
        self.process.stdin.close()
        self.process.stdout.read()
        if self.process.wait():
            raise SystemExit(f"{self.process.args}: exit status {self.process.returncode}\n{self.words_said()}")
        if self.run:
            self.run.check(self.steps, self.words_said())

    def kill(self):
        if self.process.poll() is None:
            self.signal(signal.SIGKILL)
            self.process.wait()
        for file in (self.process.stdin, self.process.stdout, self.said):
            with contextlib.suppress(BrokenPipeError):
                file.close()


@contextlib.contextmanager
def started(children):
    """{name: Child} that are ready; none of them outlives the block."""
    try:
        for child in children.values():
            child.ready()
        yield children
        for child in children.values():
            child.end()
    finally:
        for child in children.values():
            child.kill()


def race(children, steps):
    """{name: (CPU seconds, wall seconds, last loss)} of as many steps of each."""
    for child in children.values():
        child.ask(steps)
    waiting = list(children.values())
    while waiting:
        # By lot: who comes after whom finds its code in the cache, or something else.
        waiting = [child for child in CHANCE.sample(waiting, len(waiting)) if not child.go_on()]
    return {name: child.answer for name, child in children.items()}


def same_losses(turn, what):
    if len({loss for _, _, loss in turn.values()}) != 1:
        raise SystemExit(f"{what}: the losses differ: " + ", ".join(f"{name} {row[2]}" for name, row in turn.items()))


def answer_turns(step, warm_up, to=None):
    """The child's side: step() trains once and gives the loss as a number."""
    to = to or sys.stdout
    for _ in range(warm_up):
        step()
    print("ready", os.getpid(), warm_up, file=to, flush=True)
    for line in sys.stdin:
        began = time.process_time()
        for _ in range(int(line)):
            loss = step()
        print(time.process_time() - began, float(loss).hex(), file=to, flush=True)
