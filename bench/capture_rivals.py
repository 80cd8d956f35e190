"""Recording every operator beside what others do: msprobe's L1 statistics, torch's max/min/mean/norm of every output.

    build/venv/bin/python bench/capture_rivals.py

Processes train the same network and take turns: one as it is, one under `plumb run --level op`, one under its slower
route (a dispatch mode), one with the reductions, one with msprobe. What is compared is the wall time a step takes
longer. CAPTURE_ROUNDS (6), CAPTURE_NETS and CAPTURE_THREADS (1,2) make it smaller.
"""
import json
import os
import shutil
import statistics
import sys
import tempfile
import time

import capture

ROUNDS = int(os.environ.get("CAPTURE_ROUNDS", "6"))
TIMES_LESS = {"msprobe": {1: 12, 2: 7}, "reductions": {1: 4, 2: 4}}
DISPATCH_MODE = 1.40  # of the tiny network, one thread


class Rival(capture.Child):
    program = os.path.abspath(__file__)


def reductions(model, step):
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    class Statistics(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
            result = function(*arguments, **(keywords or {}))
            for tensor in result if isinstance(result, (tuple, list)) else (result,):
                if isinstance(tensor, torch.Tensor) and tensor.numel() and tensor.is_floating_point():
                    values = tensor.detach()
                    values.max().item(), values.min().item(), values.mean().item(), values.norm().item()
            return result

    def watched():
        with Statistics():
            return step()

    return watched


def msprobe(model, step):
    from msprobe.pytorch import PrecisionDebugger
    folder = tempfile.mkdtemp(dir=os.environ["CAPTURE_FOLDER"])
    path = os.path.join(folder, "config.json")
    with open(path, "w") as file:
        json.dump({"task": "statistics", "dump_path": os.path.join(folder, "dump"), "rank": [], "step": [], "level": "L1",
                   "statistics": {"scope": [], "list": [], "data_mode": ["all"], "summary_mode": "statistics"}}, file)
    debugger = PrecisionDebugger(config_path=path)

    def watched():
        debugger.start(model)
        loss = step()
        debugger.stop()
        debugger.step()
        return loss

    return watched


def child(kind, net, threads, steps):
    """The protocol of training_child.py. msprobe prints a lot, which nobody reads."""
    import torch

    import nets
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    torch.set_num_threads(threads)
    model, step = nets.build(net)
    watched = {"reductions": reductions, "msprobe": msprobe}[kind](model, step)
    watched()
    os.dup2(1, 2)
    print("ready", file=answers, flush=True)
    for _ in sys.stdin:
        cpu, wall = time.process_time(), time.perf_counter()
        for _ in range(steps):
            loss = watched()
        print(time.process_time() - cpu, time.perf_counter() - wall, loss.item().hex(), file=answers, flush=True)


def measure(net, threads, folder):
    """{way: [(CPU seconds, wall seconds) of a turn]}"""
    plumb = [capture.PLUMB, "run", "--level", "op", "--out"]
    ways = {"plain": lambda: capture.Child(net, threads, []),
            "op": lambda: capture.Child(net, threads, [*plumb, os.path.join(folder, "op"), "--"])}
    if net == "tiny-gpt" and threads == 1:
        ways["dispatch mode"] = lambda: capture.Child(
            net, threads, ["env", "PLUMB_OP_ROUTE=dispatch-mode", *plumb, os.path.join(folder, "dispatch"), "--"])
    for kind in TIMES_LESS:
        ways[kind] = lambda kind=kind: Rival(net, threads, [], extra=[kind])
    children = {name: make() for name, make in ways.items()}
    found = {name: [] for name in children}
    for number in range(ROUNDS + 1):
        for name, process in children.items():
            turn = process.turn()
            if number:  # the first turn warms up
                found[name].append([seconds / capture.STEPS[net] for seconds in turn[:2]])
    for process in children.values():
        process.end()
    return found


def main():
    failed = 0

    def check(good, text):
        nonlocal failed
        failed += not good
        print(f"  {'pass' if good else 'FAIL'}  {text}", flush=True)

    for threads in capture.THREADS:
        for net in capture.NETS:
            with tempfile.TemporaryDirectory() as folder:
                os.environ["CAPTURE_FOLDER"] = folder
                found = measure(net, threads, folder)
                shutil.rmtree(folder, ignore_errors=True)
                os.makedirs(folder, exist_ok=True)
            longer = {name: statistics.median(one[1] - plain[1] for one, plain in zip(turns, found["plain"]))
                      for name, turns in found.items()}
            print(f"{net}, {threads} threads: " + ", ".join(
                f"{name} {seconds * 1e3:+.1f} ms" for name, seconds in longer.items() if name != "plain"), flush=True)
            for name, least in TIMES_LESS.items():
                times = longer[name] / max(longer["op"], 1e-6)
                check(times >= least[threads], f"{times:.1f} times less than {name}; at least {least[threads]}")
            if "dispatch mode" in found:
                ratio = statistics.median(one[0] / plain[0] for one, plain in zip(found["dispatch mode"], found["plain"]))
                check(ratio <= DISPATCH_MODE, f"dispatch mode: {ratio:.3f} of the CPU time; at most {DISPATCH_MODE}")
    return 1 if failed else 0


if __name__ == "__main__":
    if len(sys.argv) == 5:
        child(sys.argv[4], sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
    else:
        sys.exit(main())
