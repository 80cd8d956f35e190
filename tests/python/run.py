"""Runs the interop tests and ends with one line: N passed, M failed.

    build/venv/bin/python tests/python/run.py [--in FOLDER] [NAME...]      names: modules, classes or tests
"""
import os
import signal
import subprocess
import sys
import unittest
import warnings

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
os.environ.setdefault("GLOG_v", "3")
# Every test starts many small processes beside the frameworks' own thread pools.
os.environ.setdefault("OMP_NUM_THREADS", "2")
warnings.simplefilter("ignore")
PRODUCT_IN_BF16 = "import torch; a = torch.ones(32, 64).bfloat16(); a @ a.t()"


def leave_tiles_alone():
    """On some virtual machines torch ends in an illegal instruction when it multiplies matrices in bf16, without Plumb as
    well: the processor announces AMX, and oneDNN does not set its tiles up. Then it is told to do without."""
    done = subprocess.run([sys.executable, "-c", PRODUCT_IN_BF16], stderr=subprocess.DEVNULL)
    if done.returncode == -signal.SIGILL:
        print("torch itself ends in an illegal instruction here: tested without AMX", flush=True)
        os.environ["ONEDNN_MAX_CPU_ISA"] = "AVX512_CORE_FP16"


def main():
    leave_tiles_alone()
    loader = unittest.TestLoader()
    names, folder = sys.argv[1:], HERE
    if names[:1] == ["--in"]:
        folder = os.path.join(HERE, names[1])
        names = names[2:]
        sys.path.insert(0, folder)
    if names:
        suite = loader.loadTestsFromNames(names)
    else:
        suite = loader.discover(folder, "test_*.py")
    runner = unittest.TextTestRunner(stream=sys.stdout, verbosity=2, warnings="ignore")
    result = runner.run(suite)
    failed = len({test.id().split(" (")[0] for test, _ in result.failures + result.errors})
    print(f"{result.testsRun - failed} passed, {failed} failed", flush=True)
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
