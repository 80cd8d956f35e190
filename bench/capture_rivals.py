"""Recording every operator beside what others do: msprobe's L1 statistics, torch's max/min/mean/norm of every output.

    build/venv/bin/python bench/capture_rivals.py

Processes train the same network and take turns (turns.py): two as it is, one under `plumb run --level op`, one with the
reductions, one with msprobe. What is compared is the wall time a step takes longer than the two, the median over CAPTURE_SETS
(3) sets of fresh processes. CAPTURE_TURNS (6), CAPTURE_NETS and CAPTURE_THREADS (1,2) make it smaller.
"""
import json
import os
import statistics
import sys
import tempfile

import capture
import turns

SETS = int(os.environ.get("CAPTURE_SETS", "3"))
TIMES_LESS = {"msprobe": {1: 12, 2: 7}, "reductions": {1: 4, 2: 4}}


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


def child(kind, net, threads):
    """The child's side. msprobe prints a lot, which nobody reads."""
    import torch

    import nets
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    torch.set_num_threads(threads)
    model, step = nets.build(net)
    watched = {"reductions": reductions, "msprobe": msprobe}[kind](model, step)
    turns.answer_turns(lambda: watched().item(), warm_up=1, to=answers)


def measure(net, threads, folder):
    """{way: seconds of wall time that a step takes longer} in one set of processes; two of them train without any."""
    plain = "plain", "control"
    children = {name: capture.training(net, threads) for name in plain}
    children["op"] = capture.training(net, threads, "op", folder)
    for kind in TIMES_LESS:
        children[kind] = turns.Child([os.path.abspath(__file__), kind, net, str(threads)], threads,
                                     environment={"CAPTURE_FOLDER": folder})
    longer = {name: [] for name in children if name not in plain}
    with turns.started(children):
        for _ in range(capture.TURNS):
            turn = turns.race(children, capture.STEPS[net])
            base = statistics.mean(turn[name][1] for name in plain)
            for name in longer:
                longer[name].append((turn[name][1] - base) / capture.STEPS[net])
    return {name: statistics.median(times) for name, times in longer.items()}


def measure_sets(net, threads):
    """The same, over fresh processes: where one lies in memory counts for its whole life."""
    sets = []
    for _ in range(SETS):
        with tempfile.TemporaryDirectory() as folder:
            sets.append(measure(net, threads, folder))
    return {name: statistics.median(one[name] for one in sets) for name in sets[0]}


def main():
    failed = 0

    def check(good, text):
        nonlocal failed
        failed += not good
        print(f"  {'pass' if good else 'FAIL'}  {text}", flush=True)

    for threads in capture.THREADS:
        for net in capture.NETS:
            longer = measure_sets(net, threads)
            print(f"{net}, {threads} threads: " + ", ".join(
                f"{name} {seconds * 1e3:+.1f} ms" for name, seconds in longer.items()), flush=True)
            for name, least in TIMES_LESS.items():
                times = longer[name] / max(longer["op"], 1e-6)
                check(times >= least[threads], f"{times:.1f} times less than {name}; at least {least[threads]}")
    return 1 if failed else 0


if __name__ == "__main__":
    if len(sys.argv) == 4:
        child(sys.argv[1], sys.argv[2], int(sys.argv[3]))
    else:
        sys.exit(main())
