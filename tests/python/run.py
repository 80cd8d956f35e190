"""Runs the interop tests and ends with one line: N passed, M failed.

    build/venv/bin/python tests/python/run.py [NAME...]      names: modules, classes or tests
"""
import os
import sys
import unittest
import warnings

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
os.environ.setdefault("GLOG_v", "3")
# Every test starts many small processes beside the frameworks' own thread pools.
os.environ.setdefault("OMP_NUM_THREADS", "2")
warnings.simplefilter("ignore")


def main():
    loader = unittest.TestLoader()
    if len(sys.argv) > 1:
        suite = loader.loadTestsFromNames(sys.argv[1:])
    else:
        suite = loader.discover(HERE, "test_*.py")
    runner = unittest.TextTestRunner(stream=sys.stdout, verbosity=2, warnings="ignore")
    result = runner.run(suite)
    failed = len({test.id().split(" (")[0] for test, _ in result.failures + result.errors})
    print(f"{result.testsRun - failed} passed, {failed} failed", flush=True)
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
