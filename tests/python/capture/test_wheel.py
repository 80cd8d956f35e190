"""The wheel installs into an empty environment without numpy, and brings the command."""
import glob
import os
import subprocess
import sys
import venv

from capture_case import ROOT, CaptureTest


class Wheel(CaptureTest):
    def test_a_clean_environment(self):
        done = subprocess.run([sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation",
                               "--disable-pip-version-check", "--wheel-dir", self.folder, ROOT],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr[-3000:])
        [wheel] = glob.glob(self.path("plumb_train-*.whl"))
        self.assertIn("-cp310-abi3-", wheel)
        venv.create(self.path("env"), with_pip=False, symlinks=True)
        python = self.path("env", "bin", "python")
        subprocess.run([sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-index", "--no-deps",
                        "--disable-pip-version-check", wheel], check=True, capture_output=True)
        code = "import plumb, sys; print(plumb.__version__, 'numpy' in sys.modules, plumb.__file__)"
        out = subprocess.run([python, "-c", code], capture_output=True, text=True, cwd=self.folder)
        self.assertEqual(out.returncode, 0, out.stderr)
        self.assertRegex(out.stdout, rf"^\S+ False {self.path('env')}")
        command = self.path("env", "bin", "plumb")
        out = subprocess.run([command, "run", "--out", "r", "--", python, "-c",
                              "import os; print(os.environ['PYTHONPATH'])"], capture_output=True, text=True, cwd=self.folder)
        self.assertEqual(out.returncode, 0, out.stderr)
        self.assertTrue(out.stdout.startswith(self.path("env")), out.stdout)
