"""The benchmark: Plumb against cat, numpy, torch and mindspore on the same files in the same minutes.

Every contestant is a child process. Rounds are interleaved (each contestant once a round) over a
warm page cache, figures are medians, and each ratio stands beside what it has to reach. Exits
with 1 if one does not.

  BENCH_MIB=1024     size of each f32 array (the checkpoints follow: 1024 gives 1.42 GB)
  BENCH_ROUNDS=3     rounds of the slow contestants; cat and Plumb run three times as often
  BENCH_DIR=...      where the files go (build/bench); they are kept for the next run
  BENCH_ONLY=...     groups by name: f32,bf16,stats,checkpoints,start
"""
import json
import os
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
PLUMB = os.environ.get("PLUMB", os.path.join(ROOT, "build", "plumb"))
MIB = int(os.environ.get("BENCH_MIB", "1024"))
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "3"))
FOLDER = os.environ.get("BENCH_DIR", os.path.join(ROOT, "build", "bench"))
ONLY = [x for x in os.environ.get("BENCH_ONLY", "").split(",") if x]
LAYERS = max(2, round(24 * MIB / 1024))
MEMORY_LIMIT_MIB = 64
FAST_REPEATS = 3

# numpy's dot is bound by memory: a second BLAS thread would only spin.
ENVIRONMENT = dict(os.environ, OMP_NUM_THREADS="2", OPENBLAS_NUM_THREADS="1", PYTHONWARNINGS="ignore",
                   GLOG_v="3")
failures = []
passes = 0


def check(good, text):
    global passes
    passes += bool(good)
    if not good:
        failures.append(text)
    print(f"  {'pass' if good else 'FAIL'}  {text}", flush=True)


def cat(*paths):
    return ["sh", "-c", "cat " + " ".join(paths) + " > /dev/null"]


def child(name, *args):
    return [sys.executable, os.path.join(HERE, "contestants.py"), name, *map(str, args)]


def run(argv):
    """Wall seconds and standard output."""
    start = time.perf_counter()
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                          env=ENVIRONMENT)
    wall = time.perf_counter() - start
    # 1 is plumb's word for "different", and Python's for an exception.
    if done.returncode not in ((0, 1) if os.path.basename(argv[0]) == "plumb" else (0,)):
        sys.exit(f"bench: {' '.join(argv)}: exit {done.returncode}\n{done.stderr.decode(errors='replace')}")
    return wall, done.stdout.decode()


def warm(*paths):
    for path in paths:
        with open(path, "rb", buffering=0) as f:
            while f.read(1 << 24):
                pass


def contest(title, contestants, nbytes):
    """contestants: name -> argv. Prints a line each; returns medians and last outputs."""
    print(f"\n{title} ({nbytes / 1e9:.2f} GB)")
    walls = {name: [] for name in contestants}
    outputs = {}
    for _ in range(ROUNDS):
        for name, argv in contestants.items():
            # The quick ones are measured more often: their medians carry all the ratios.
            for _ in range(FAST_REPEATS if name.startswith(("cat", "plumb")) else 1):
                wall, outputs[name] = run(argv)
                walls[name].append(wall)
    medians = {name: statistics.median(w) for name, w in walls.items()}
    for name, wall in medians.items():
        spread = f"{min(walls[name]):.3f}-{max(walls[name]):.3f}"
        print(f"  {name:34s} {wall:8.3f} s  ({spread})  {nbytes / wall / 1e9:6.2f} GB/s", flush=True)
    return medians, outputs


def at_most(medians, plumb, rival, limit):
    ratio = medians[plumb] / medians[rival]
    check(ratio <= limit, f"{plumb} takes {ratio:.2f}x the time of {rival} (at most {limit}x)")


def at_least(medians, plumb, rival, limit):
    ratio = medians[rival] / medians[plumb]
    check(ratio >= limit, f"{plumb} is {ratio:.1f}x as fast as {rival} (at least {limit}x)")


def answer(output):
    return json.loads(output.strip().splitlines()[-1])


def peak_memory(argv):
    """Peak MiB of memory that is not a map of a file, sampled every millisecond."""
    peak = 0
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=ENVIRONMENT)
    while process.poll() is None:
        try:
            with open(f"/proc/{process.pid}/status") as status:
                for line in status:
                    if line.startswith("RssAnon:"):
                        peak = max(peak, int(line.split()[1]))
        except OSError:
            pass
        time.sleep(0.001)
    return peak / 1024


def check_memory(title, argv):
    peak = peak_memory(argv)
    check(peak < MEMORY_LIMIT_MIB, f"{title}: peak memory outside maps {peak:.1f} MiB (under {MEMORY_LIMIT_MIB})")


def check_metrics(plumb_output, rival):
    pair = json.loads(plumb_output)["pairs"][0]["metrics"]
    worst = 0.0
    for name in ("cosine", "max_abs", "mean_abs", "max_rel", "mean_rel", "rmse"):
        key = name if name in pair else name.replace("_", "-")
        worst = max(worst, abs(pair[key] - rival[name]) / abs(rival[name]))
    check(worst < 1e-9, f"Plumb's metrics equal numpy's in float64 (largest relative difference {worst:.1e})")


def path(name):
    return os.path.join(FOLDER, f"{name.split('.')[0]}_{MIB}.{name.split('.')[1]}")


def make(maker, first, *paths):
    if all(os.path.exists(p + ".done") for p in paths):
        return
    print(f"making {', '.join(os.path.basename(p) for p in paths)} ...", flush=True)
    run(child(maker, first, *paths))
    for p in paths:
        open(p + ".done", "w").close()


def bench_f32(a, b):
    warm(a, b)
    medians, outputs = contest("diff of two f32 .npy", {
        "cat": cat(a, b),
        "plumb diff": [PLUMB, "diff", a, b],
        "torch f64 blocks, 2 threads": child("torch_f64_blocks", a, b),
        "numpy f64 blocks": child("numpy_f64_blocks", a, b),
    }, os.path.getsize(a) * 2)
    at_most(medians, "plumb diff", "cat", 1.2)
    at_least(medians, "plumb diff", "torch f64 blocks, 2 threads", 12)
    at_least(medians, "plumb diff", "numpy f64 blocks", 25)
    check_metrics(run([PLUMB, "diff", "--json", a, b])[1], answer(outputs["numpy f64 blocks"]))
    check_memory("plumb diff, f32", [PLUMB, "diff", a, b])


def bench_bf16(a, b):
    warm(a, b)
    medians, _ = contest("diff of two bf16 .pt", {
        "cat": cat(a, b),
        "plumb diff": [PLUMB, "diff", a, b],
    }, os.path.getsize(a) * 2)
    at_most(medians, "plumb diff", "cat", 1.5)
    check_memory("plumb diff, bf16", [PLUMB, "diff", a, b])


def bench_stats(pth, safetensors):
    warm(pth, safetensors)
    medians, outputs = contest("statistics of every tensor of a checkpoint", {
        "cat": cat(pth),
        "plumb show --stats, .pth": [PLUMB, "show", "--stats", pth],
        "plumb show --stats, .safetensors": [PLUMB, "show", "--stats", safetensors],
        "numpy f32 on .safetensors": child("stats_f32_safetensors", safetensors),
        "numpy f64 on .pth": child("stats_f64_pth", pth),
    }, os.path.getsize(pth))
    at_most(medians, "plumb show --stats, .pth", "cat", 1.3)
    at_most(medians, "plumb show --stats, .safetensors", "cat", 1.3)
    at_least(medians, "plumb show --stats, .safetensors", "numpy f32 on .safetensors", 5)
    at_least(medians, "plumb show --stats, .pth", "numpy f64 on .pth", 15)
    shown = json.loads(run([PLUMB, "show", "--stats", "--json", pth])[1])
    norm = next(t["stats"]["l2"] for t in shown["tensors"] if t["name"] == "wte.weight")
    rival = answer(outputs["numpy f64 on .pth"])["norm"]
    check(abs(norm - rival) < 1e-11 * rival, f"the norm of wte.weight is {norm:.12g}, numpy f64 says {rival:.12g}")
    check_memory("plumb show --stats", [PLUMB, "show", "--stats", pth])


def bench_checkpoints(pth, ckpt):
    warm(pth, ckpt)
    medians, outputs = contest(".pth against .ckpt", {
        "cat": cat(pth, ckpt),
        "plumb diff": [PLUMB, "diff", pth, ckpt],
        "torch + mindspore + numpy": child("pth_against_ckpt", pth, ckpt),
    }, os.path.getsize(pth) + os.path.getsize(ckpt))
    at_most(medians, "plumb diff", "cat", 1.5)
    at_least(medians, "plumb diff", "torch + mindspore + numpy", 20)
    bad = answer(outputs["torch + mindspore + numpy"])["bad"]
    pairs = json.loads(run([PLUMB, "diff", "--json", pth, ckpt])[1])["pairs"]
    mine = [p["a"] for p in pairs if p["verdict"] != "identical"]
    check(mine == bad, f"Plumb names {mine}, numpy {bad}")
    check_memory("plumb diff, .pth against .ckpt", [PLUMB, "diff", pth, ckpt])


def bench_start():
    print("\nstart-up")
    times = {"plumb --version": [PLUMB, "--version"], "true": ["/bin/true"]}
    medians = {name: statistics.median(run(argv)[0] for _ in range(50)) for name, argv in times.items()}
    for name, wall in medians.items():
        print(f"  {name:34s} {wall * 1e3:8.2f} ms")
    check(medians["plumb --version"] < 0.010,
          f"plumb --version takes {medians['plumb --version'] * 1e3:.1f} ms, process creation included (under 10)")


def main():
    os.makedirs(FOLDER, exist_ok=True)
    wanted = lambda group: not ONLY or group in ONLY
    a, b, a_half, b_half = path("a.npy"), path("b.npy"), path("a.pt"), path("b.pt")
    pth, safetensors, ckpt = path("gpt2.pth"), path("gpt2.safetensors"), path("gpt2.ckpt")
    print(f"{MIB} MiB arrays, {ROUNDS} interleaved rounds, medians, warm page cache, {os.cpu_count()} processors")
    if wanted("f32") or wanted("bf16"):
        make("make_arrays", MIB, a, b, a_half, b_half)
    if wanted("stats") or wanted("checkpoints"):
        make("make_checkpoints", LAYERS, pth, safetensors, ckpt)
    if wanted("f32"):
        bench_f32(a, b)
    if wanted("bf16"):
        bench_bf16(a_half, b_half)
    if wanted("stats"):
        bench_stats(pth, safetensors)
    if wanted("checkpoints"):
        bench_checkpoints(pth, ckpt)
    if wanted("start"):
        bench_start()
    print(f"\n{passes} passed, {len(failures)} failed")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
