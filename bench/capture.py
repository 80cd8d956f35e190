"""What `plumb run` costs a training: step time over that of the same program without it.

    build/venv/bin/python bench/capture.py [LEVEL...]

Two processes train the same network, one of them under `plumb run`, and take turns; a ratio is the median over
the turns. The losses of both are compared to the last bit. CAPTURE_ROUNDS (12), CAPTURE_NETS and
CAPTURE_THREADS (1,2) make it smaller. Each figure stands beside what it has to reach.
"""
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
PLUMB = os.path.join(os.path.dirname(HERE), "build", "plumb")
ROUNDS = int(os.environ.get("CAPTURE_ROUNDS", "12"))
NETS = os.environ.get("CAPTURE_NETS", "tiny-gpt,gpt,resnet").split(",")
THREADS = [int(text) for text in os.environ.get("CAPTURE_THREADS", "1,2").split(",")]
STEPS = {"tiny-gpt": 6, "gpt": 1, "resnet": 2}  # of a turn
# level -> (options, {threads: most allowed, by network}); see docs/capture.md
LEVELS = {
    "control": (None, {1: (1.02, 1.02, 1.02), 2: (1.02, 1.02, 1.02)}),  # the same program twice: what noise does
    "watch": (["--level", "watch"], {1: (1.02, 1.02, 1.02), 2: (1.02, 1.02, 1.02)}),
    "unselected": (["--level", "op", "--steps", "1000000"], {1: (1.01, 1.01, 1.01), 2: (1.01, 1.01, 1.01)}),
    "op": (["--level", "op"], {1: (1.20, 1.08, 1.06), 2: (1.25, 1.12, 1.10)}),
}


class Child:
    program = os.path.join(HERE, "training_child.py")

    def __init__(self, net, threads, before, extra=()):
        words = [sys.executable, self.program, net, str(threads), str(STEPS[net]), *extra]
        # Whether glibc gives large blocks back to the system depends on what was freed before; fixed, so that both
        # processes are treated alike. The control says how far apart two equal processes still are.
        steady = {"MALLOC_MMAP_THRESHOLD_": str(1 << 30), "MALLOC_TRIM_THRESHOLD_": str(1 << 31)}
        environment = {**os.environ, **steady, "OMP_NUM_THREADS": str(threads)}
        # One thread stays on one processor, the same for both: another may be a tenth slower.
        stay = (lambda: os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})) if threads == 1 else None
        self.process = subprocess.Popen([*before, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True, env=environment, preexec_fn=stay)
        if self.process.stdout.readline() != "ready\n":
            raise SystemExit(self.process.stderr.read())

    def turn(self):
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        cpu, wall, loss = self.process.stdout.readline().split()
        return float(cpu), float(wall), loss

    def end(self):
        self.process.stdin.close()
        self.process.stdout.read()
        self.process.wait()
        self.process.stdout.close()
        self.process.stderr.close()


def measure(net, threads, options, folder):
    plain = Child(net, threads, [])
    launcher = [PLUMB, "run", "--out", os.path.join(folder, "run"), *options, "--"] if options else []
    watched = Child(net, threads, launcher)
    cpu, wall = [], []
    for number in range(ROUNDS + 1):
        if number % 2:
            first, second = plain.turn(), watched.turn()
        else:
            second, first = watched.turn(), plain.turn()
        if first[2] != second[2]:
            raise SystemExit(f"{net}: the losses differ: {first[2]} without, {second[2]} with plumb run")
        if number:  # the first turn warms up
            cpu.append(second[0] / first[0])
            wall.append(second[1] / first[1])
    plain.end()
    watched.end()
    shutil.rmtree(os.path.join(folder, "run"), ignore_errors=True)
    return statistics.median(cpu), statistics.median(wall)


def main():
    chosen = sys.argv[1:] or list(LEVELS)
    failed = 0
    print(f"{'level':<12}{'network':<12}{'threads':>8}{'cpu':>9}{'wall':>9}{'at most':>9}")
    for level in chosen:
        options, allowed = LEVELS[level]
        for threads in THREADS:
            for net in NETS:
                most = allowed[threads][("tiny-gpt", "gpt", "resnet").index(net)]
                with tempfile.TemporaryDirectory() as folder:
                    cpu, wall = measure(net, threads, options, folder)
                verdict = "" if max(cpu, wall) <= most else "  not reached"
                failed += bool(verdict)
                print(f"{level:<12}{net:<12}{threads:>8}{cpu:>9.3f}{wall:>9.3f}{most:>9.2f}{verdict}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
