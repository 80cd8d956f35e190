"""msprobe's own dumps: Plumb's diff and search for the first NaN beside msprobe's, on the same files in the same run.

    build/venv/bin/python bench/dumps.py

Pairs of dumps are made once by msprobe itself (msprobe_training.py): one training step, healthy and with one bad
kernel. The dumps of many ranks are written in msprobe's layout (msprobe_ranks.py). Every contestant is a child
process over a warm page cache. BENCH_ONLY=tensor,statistics,nan,nan-large makes it smaller, BENCH_DIR says where
the files go (9 GB in build/bench).
"""
import glob
import json
import os
import resource
import shutil
import subprocess
import sys
import time

import msprobe_ranks
from run import FOLDER, HERE, ONLY, PLUMB, check, failures, warm
import run as harness

MSPROBE = os.path.join(os.path.dirname(sys.executable), "msprobe")
ORIGIN = "blocks.2.act.Functional.gelu"
ENVIRONMENT = dict(os.environ, PYTHONWARNINGS="ignore", GLOG_v="3")


def timed(argv):
    """Wall seconds, processor seconds and standard output of a child."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, env=ENVIRONMENT)
    wall = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if done.returncode not in (0, 1):
        sys.exit(f"bench: {' '.join(argv)}: exit {done.returncode}\n{done.stdout.decode(errors='replace')}")
    return wall, cpu, done.stdout.decode(errors="replace")


def best(argv, times):
    """The quickest of some runs: what others do on the machine only adds to it."""
    return min((timed(argv) for _ in range(times)), key=lambda found: found[0])


def tell(name, wall, cpu, more=""):
    print(f"  {name:34s} {wall:8.3f} s wall  {cpu:8.3f} s processor{more}", flush=True)


def faster(name, plumb, rival, least):
    ratio = rival / plumb
    check(ratio >= least, f"{name} is {ratio:.0f}x as fast as msprobe (at least {least}x)")


# ---- pairs of dumps -----------------------------------------------------------------------


def dump(task, health):
    out = os.path.join(FOLDER, f"msprobe_{task}_{health}")
    if not os.path.exists(out + ".done"):
        shutil.rmtree(out, ignore_errors=True)
        print(f"making {os.path.basename(out)} ...", flush=True)
        timed([sys.executable, os.path.join(HERE, "msprobe_training.py"), out, task, health])
        open(out + ".done", "w").close()
    return out


def files_in(*folders):
    return [os.path.join(place, name) for folder in folders for place, _, names in os.walk(folder) for name in names]


def compare_by_msprobe(a, b):
    out = os.path.join(FOLDER, "msprobe_compared")
    shutil.rmtree(out, ignore_errors=True)
    os.makedirs(out)
    found = timed([MSPROBE, "compare", "-tp", os.path.join(b, "step0"), "-gp", os.path.join(a, "step0"), "-o", out])
    if not glob.glob(os.path.join(out, "*.csv")):
        sys.exit(f"bench: msprobe compare wrote no table\n{found[2]}")
    shutil.rmtree(out)
    return found


def bench_pair(task, least):
    a, b = dump(task, "healthy"), dump(task, "sick")
    files = files_in(a, b)
    size = sum(map(os.path.getsize, files))
    print(f"\n{task} dumps of a training step, {len(files)} files ({size / 1e9:.3f} GB)")
    warm(*files)
    read = best(["sh", "-c", f"find {a} {b} -type f -exec cat {{}} + > /dev/null"], 3)
    ours = best([PLUMB, "diff", "--json", a, b], 5)
    theirs = compare_by_msprobe(a, b)
    tell("cat", *read[:2])
    tell("plumb diff", *ours[:2], f"  {size / ours[0] / 1e9:.2f} GB/s")
    tell("msprobe compare", *theirs[:2], f"  {size / theirs[0] / 1e9:.2f} GB/s")
    faster("plumb diff", ours[0], theirs[0], least)
    if task == "tensor":
        check(ours[0] <= 2 * read[0], f"plumb diff takes {ours[0] / read[0]:.2f}x the time of cat (at most 2x)")
    first = json.loads(ours[2])["first"]["op"]
    check(first == ORIGIN, f"the first root is {first}, the planted one is {ORIGIN}")


# ---- the first NaN of many ranks ----------------------------------------------------------


def ranks(count, records):
    out = os.path.join(FOLDER, f"msprobe_{count}x{records}")
    if not os.path.exists(out + ".done"):
        shutil.rmtree(out, ignore_errors=True)
        print(f"making {os.path.basename(out)} ...", flush=True)
        msprobe_ranks.write(out, count, records, origin=2)
        open(out + ".done", "w").close()
    with open(os.path.join(out, "origin")) as file:
        return out, file.read()


def find_nan(folder, truth):
    """The quickest of two, with its largest memory in MiB."""
    argv = [PLUMB, "nan", "--json", os.path.join(folder, "step0")]
    wall, cpu, output = best(argv, 2)
    origin = json.loads(output)["origin"]
    said = f"rank {origin['rank']} {origin['op']}"
    check(said == truth, f"plumb nan blames {said}, planted is {truth}")
    return wall, cpu, harness.peak_memory(argv)


def bench_nan():
    folder, truth = ranks(256, 2000)
    print("\nthe first NaN, 256 ranks x 2,000 operations")
    warm(*files_in(folder))
    out = os.path.join(FOLDER, "msprobe_overflow")
    shutil.rmtree(out, ignore_errors=True)
    ours = find_nan(folder, truth)
    theirs = timed([MSPROBE, "overflow_check", "-i", os.path.join(folder, "step0"), "-o", out])
    named = [f"{rank.replace('_', ' ')} {x['op_name']}" for path in glob.glob(out + "/*.json")
             for rank, found in json.load(open(path)).items() for x in found]
    tell("plumb nan", *ours[:2], f"  {256 * 2000 / ours[0]:,.0f} operations/s")
    tell("msprobe overflow_check", *theirs[:2], f"  blames {', '.join(named[:2])}" + (" ..." if len(named) > 2 else ""))
    faster("plumb nan", ours[0], theirs[0], 20)
    shutil.rmtree(out, ignore_errors=True)


def bench_nan_large():
    folder, truth = ranks(256, 20000)
    size = sum(map(os.path.getsize, files_in(folder)))
    print(f"\nthe first NaN, 256 ranks x 20,000 operations ({size / 1e9:.2f} GB)")
    wall, cpu, memory = find_nan(folder, truth)
    tell("plumb nan", wall, cpu, f"  {256 * 20000 / wall:,.0f} operations/s, {memory:.0f} MiB")
    check(wall < 60, f"plumb nan takes {wall:.1f} s (under 60)")
    check(256 * 20000 / wall >= 90000, f"{256 * 20000 / wall:,.0f} operations a second (at least 90,000)")
    check(memory < 1024, f"peak memory outside maps {memory:.0f} MiB (under 1024)")


def main():
    os.makedirs(FOLDER, exist_ok=True)
    groups = {"tensor": lambda: bench_pair("tensor", 40), "statistics": lambda: bench_pair("statistics", 50),
              "nan": bench_nan, "nan-large": bench_nan_large}
    if not os.path.exists(MSPROBE):
        sys.exit(f"bench: {MSPROBE} is not there; scripts/setup-venv.sh installs it")
    for name, group in groups.items():
        if not ONLY or name in ONLY:
            group()
    print(f"\n{harness.passes} passed, {len(failures)} failed")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
