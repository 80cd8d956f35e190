"""What the tests of the capture share: a folder, a session around a program, and `plumb run`."""
import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
PLUMB = os.path.join(ROOT, "build", "plumb")
TORCHRUN = ("--standalone", "--nproc_per_node")
EXAMPLES = os.path.join(ROOT, "examples", "torch")
sys.path.insert(0, os.path.join(ROOT, "python"))

import plumb  # noqa: E402
from plumb import capture  # noqa: E402


class CaptureTest(unittest.TestCase):
    maxDiff = 3000

    def setUp(self):
        os.makedirs(os.path.join(ROOT, "build", "tmp"), exist_ok=True)
        self.folder = tempfile.mkdtemp(dir=os.path.join(ROOT, "build", "tmp"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    @contextlib.contextmanager
    def attached(self, name="run", **options):
        """Records what happens inside. Gives a list that holds the Run afterwards."""
        result = []
        session = plumb.attach(out=self.path(name), **options)
        session.options.launched = True  # says nothing at its end
        said = []
        session.say = said.append
        try:
            yield result
        finally:
            session.close()
        self.assertEqual(said, [])
        result.append(plumb.load(self.path(name)))

    def launch(self, *command, out="run", options=(), status=0, python=True, **more):
        """`plumb run`; gives what it printed."""
        words = [PLUMB, "run", "--out", self.path(out), *options, "--"]
        words += [sys.executable, *command] if python else list(command)
        done = subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=300, **more)
        if status is not None:
            self.assertEqual(done.returncode, status, done.stdout[-2000:] + done.stderr[-4000:])
        return done

    def torchrun(self, ranks, *command, **more):
        """`plumb run` of a program in several processes, which meet at a port that is free."""
        launcher = os.path.join(os.path.dirname(sys.executable), "torchrun")
        return self.launch(launcher, *TORCHRUN, str(ranks), *command, python=False, **more)
