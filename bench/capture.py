"""What `plumb run` costs a training: step time over that of the same program without it.

    build/venv/bin/python bench/capture.py [LEVEL...]

Two processes train without Plumb and one at each level with it; they take turns (turns.py). A level is compared with the mean
of the two, and the control, one of the two over the other, says what chance does on this machine. Where a process lies
in memory makes it faster or slower by some hundredths for its whole life, so a figure is the median over CAPTURE_PAIRS
(9) sets of fresh processes of the median over CAPTURE_TURNS (6). The losses of all are compared to the last bit, and each run is
looked into when it is over. CAPTURE_NETS and CAPTURE_THREADS (1,2) make it smaller. Each figure stands beside what it has to
reach, and each network beside the time of a step without Plumb.
"""
import os
import statistics
import sys
import tempfile

import turns

HERE = os.path.dirname(os.path.abspath(__file__))
PAIRS = int(os.environ.get("CAPTURE_PAIRS", "9"))
TURNS = int(os.environ.get("CAPTURE_TURNS", "6"))
NETS = os.environ.get("CAPTURE_NETS", "tiny-gpt,gpt,resnet").split(",")
THREADS = [int(text) for text in os.environ.get("CAPTURE_THREADS", "1,2").split(",")]
STEPS = {"tiny-gpt": 4, "gpt": 1, "resnet": 2}  # of a turn
OP = ("--level", "op")


def everywhere(most):
    return {(net, threads): most for net in STEPS for threads in (1, 2)}


# level -> (options, route, environment, {(network, threads): most allowed}); see docs/capture.md
LEVELS = {
    "control": (None, None, {}, everywhere(1.01)),
    "watch": (("--level", "watch"), None, {}, everywhere(1.02)),
    "unselected": ((*OP, "--steps", "1000000"), None, {}, everywhere(1.01)),
    "op": (OP, "record-function", {}, {
        ("tiny-gpt", 1): 1.20, ("gpt", 1): 1.08, ("resnet", 1): 1.06,
        ("tiny-gpt", 2): 1.25, ("gpt", 2): 1.12, ("resnet", 2): 1.10}),
    # Where torch's own callbacks are not to be had.
    "dispatch": (OP, "dispatch-mode", {"PLUMB_OP_ROUTE": "dispatch-mode"}, {("tiny-gpt", 1): 1.40}),
}


def training(net, threads, level=None, folder=None):
    """A process of one level, or of none."""
    options, route, environment, _ = LEVELS[level] if level else LEVELS["control"]
    run = turns.Run(os.path.join(folder, level), options, route, environment) if options else None
    return turns.Child([os.path.join(HERE, "training_child.py"), net, str(threads)], threads, run)


def base_of(turn, level, i):
    """What the time of a level is compared with."""
    return turn["without"][i] if level == "control" else (turn["without"][i] + turn["control"][i]) / 2


def measure(net, threads, levels):
    """{level: (ratio of CPU time, ratio of wall time)} of one set of processes, and the seconds of a step without."""
    ratios, seconds = {level: [] for level in levels}, []
    with tempfile.TemporaryDirectory() as folder:
        children = {"without": training(net, threads), "control": training(net, threads)}
        children.update((level, training(net, threads, level, folder)) for level in levels if level != "control")
        with turns.started(children):
            for _ in range(TURNS):
                turn = turns.race(children, STEPS[net])
                turns.same_losses(turn, net)
                seconds.append(turn["without"][1] / STEPS[net])
                for level in levels:
                    ratios[level].append([turn[level][i] / base_of(turn, level, i) for i in (0, 1)])
    medians = {level: [statistics.median(column) for column in zip(*rows)] for level, rows in ratios.items()}
    return medians, statistics.median(seconds)


def main():
    chosen = sys.argv[1:] or list(LEVELS)
    failed = 0
    print(f"{'network':<12}{'threads':>8}  {'level':<12}{'cpu':>8}{'wall':>8}{'at most':>9}   cpu of each set")
    for threads in THREADS:
        for net in NETS:
            levels = [level for level in chosen if (net, threads) in LEVELS[level][3]]
            measured = [measure(net, threads, levels) for _ in range(PAIRS)] if levels else []
            sets = [medians for medians, _ in measured]
            if measured:
                print(f"{net:<12}{threads:>8}  {1000 * statistics.median(step for _, step in measured):.0f} ms a step without")
            for level in levels:
                cpu, wall = (statistics.median(one[level][i] for one in sets) for i in (0, 1))
                most = LEVELS[level][3][net, threads]
                reached = max(cpu, wall) <= most and (level != "control" or min(cpu, wall) >= 2 - most)
                failed += not reached
                print(f"{net:<12}{threads:>8}  {level:<12}{cpu:>8.3f}{wall:>8.3f}{most:>9.2f}   "
                      + " ".join(f"{one[level][0]:.3f}" for one in sets) + ("" if reached else "  not reached"), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
