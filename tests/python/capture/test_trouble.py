"""Trouble ends the capture, never the training; whatever ends the training leaves a readable run."""
import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock

import torch

from capture_case import ROOT, CaptureTest, plumb
from plumb import torch_modules, torch_setup, torch_updates

LOOP = """
import os, sys
sys.path.insert(0, {python!r})
import torch, plumb
model = torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4))
optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
def train(path, steps):
    session = plumb.attach(out=path, level="module", save={save!r})
    for step in range(steps):
        loss = model(torch.ones(4, 8) * step).square().mean()
        loss.backward(); optimizer.step(); optimizer.zero_grad()
    return session
"""
LOSSES = """
import torch
torch.manual_seed(1)
model = torch.nn.Linear(8, 4)
optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
for step in range(3):
    loss = model(torch.ones(4, 8) * step).square().mean()
    loss.backward(); optimizer.step(); optimizer.zero_grad()
    print(loss.item().hex())
"""


def loop(save="stats"):
    return LOOP.format(python=os.path.join(ROOT, "python"), save=save)


class Killed(CaptureTest):
    def test_fifty_random_kills(self):
        """One process imports torch, its children are killed while they train."""
        text = loop("tensors") + """
torch.set_num_threads(1)
model(torch.ones(4, 8)).sum().backward(); optimizer.step()  # what torch loads late is loaded once
for number in range(50):
    child = os.fork()
    if child == 0:
        train(os.path.join(sys.argv[1], str(number)), 1000000)
    print(child, flush=True)
    sys.stdin.readline()
    os.waitpid(child, 0)
"""
        process = subprocess.Popen([sys.executable, "-c", text, self.folder], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, text=True)
        chance = random.Random(1)
        with_steps = 0
        for number in range(50):
            child = int(process.stdout.readline())
            records = self.path(str(number), "rank0000", "records.plumb")
            until = time.monotonic() + 20
            while not os.path.exists(records) and time.monotonic() < until:
                time.sleep(0.005)
            time.sleep(chance.uniform(0, 0.8))
            os.kill(child, signal.SIGKILL)
            process.stdin.write("\n")
            process.stdin.flush()
            with_steps += self.assert_readable(self.path(str(number)))
        process.stdin.close()
        process.stdout.close()
        self.assertEqual(process.wait(60), 0)
        self.assertGreater(with_steps, 4)  # some lived long enough to write steps

    def assert_readable(self, path):
        run = plumb.load(path)
        self.assertIn(run.ended, ("killed", "running"))
        rank = run.overview["ranks"][0]
        if rank["finished_steps"]:
            losses = run.series("loss")
            self.assertEqual(sorted(losses), list(range(len(losses))))
        return rank["finished_steps"] > 0

    def test_the_last_operations_are_kept(self):
        self.launch("-c", loop() + "train(None, 5); os.kill(os.getpid(), 9)", options=["--level", "module"], status=-9)
        done = subprocess.run([os.path.join(ROOT, "build", "plumb"), "show", self.path("run")], capture_output=True, text=True)
        self.assertIn("killed", done.stdout)
        self.assertIn("enter", done.stdout)

    def test_the_operation_that_the_training_died_in_is_told(self):
        text = loop() + """
def fatal(x):
    if x.sum() > 50:
        os.kill(os.getpid(), {signal})
    return x.clone()
library = torch.library.Library("plumb_test", "DEF")
library.define("fatal(Tensor x) -> Tensor")
library.impl("fatal", fatal, "CPU")
for step in range(5):
    loss = model(torch.ones(4, 8)).square().mean()
    torch.ops.plumb_test.fatal(torch.full((20,), float(step)))
    loss.backward(); optimizer.step(); optimizer.zero_grad()
"""
        for number, said in ((signal.SIGSEGV, "(Segmentation fault)"), (signal.SIGILL, "(Illegal instruction): .*ONEDNN_MAX_CPU_ISA"),
                             (signal.SIGKILL, "(Killed): .*memory")):
            done = self.launch("-c", text.replace("{signal}", str(int(number))), options=["--level", "op"], out=f"run{number}",
                               status=-number)
            with self.subTest(number):
                self.assertRegex(done.stderr, rf"plumb: the command was ended by signal {int(number)} " + said.replace("(", r"\(")
                                 .replace(")", r"\)"))
                self.assertIn("plumb: rank 0 ended at step 3, inside of forward plumb_test.fatal\n", done.stderr)

    def test_a_shell_in_between_tells_of_the_signal_too(self):
        text = loop() + "model(torch.ones(4, 8)).sum().backward(); optimizer.step(); os.kill(os.getpid(), 6)"
        done = self.launch("-c", "import subprocess, sys; sys.exit(128 - subprocess.call([sys.executable, '-c', sys.argv[1]]))", text,
                           options=["--level", "op"], status=134)
        self.assertIn("ended by signal 6 (Aborted)\nplumb: rank 0 ended at step 1, outside of any operation", done.stderr)

    def test_an_error_of_the_script_is_not_called_a_death(self):
        for code in (3, 139):  # which a shell gives for a signal
            done = self.launch("-c", loop() + f"train(None, 2); sys.exit({code})", out=f"run{code}", status=code)
            self.assertNotIn("ended", done.stderr)

    def test_watching_says_how_to_find_the_operation(self):
        done = self.launch("-c", loop() + "train(None, 2); os.kill(os.getpid(), 11)", status=-11)
        self.assertIn("plumb: rank 0 ended at step 2, in which operation --level op tells\n", done.stderr)


class Disk(CaptureTest):
    def test_a_directory_that_cannot_be_written(self):
        os.makedirs(self.path("locked"))
        with open(self.path("file"), "w", encoding="utf-8"):
            pass
        out = self.path("file", "run")  # root may write anywhere, but not below a file
        losses, said = self.train_into(out)
        self.assertEqual(len(losses), 3)
        self.assertEqual(len(said), 1)
        self.assertIn("nothing is recorded", said[0])

    def test_plumb_run_says_so_before_the_training(self):
        with open(self.path("file"), "w", encoding="utf-8"):
            pass
        done = self.launch("-c", "import sys; print('trained'); sys.exit(7)", out="file/run", status=7)
        self.assertEqual(done.stdout, "trained\n")
        self.assertRegex(done.stderr, r"^plumb run: \S*/file/run: cannot be written \(.*Not a directory\); the command runs and "
                                      r"nothing is recorded; for a record choose another --out\n$")

    def test_a_place_where_nobody_may_make_a_directory(self):
        """There access() tells root that it may."""
        done = self.launch("-c", "print('trained')", out="/proc/run")
        self.assertEqual(done.stdout, "trained\n")
        self.assertRegex(done.stderr, r"^plumb run: /proc/run: cannot be written \(/proc.*\); .*nothing is recorded.*\n$")

    def test_looking_leaves_nothing_behind(self):
        self.launch("-c", "print('no training')", out="new/run")
        self.assertFalse(os.path.exists(self.path("new")))

    @contextlib.contextmanager
    def mounted(self, options):
        """A small disk, on which permissions count for root, too."""
        place = tempfile.mkdtemp()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", place], capture_output=True).returncode:
            os.rmdir(place)
            self.skipTest("mounting is not allowed here")
        try:
            yield place
        finally:
            subprocess.run(["umount", place], check=True)
            os.rmdir(place)

    @unittest.skipUnless(os.geteuid() == 0, "needs root to mount a disk")
    def test_a_read_only_disk(self):
        plain = subprocess.run([sys.executable, "-c", LOSSES], capture_output=True, text=True, check=True)
        with self.mounted("ro") as place:
            done = self.launch("-c", LOSSES, out=os.path.join(place, "run"), options=["--level", "op"])
            losses, said = self.train_into(os.path.join(place, "run"))
        self.assertEqual(done.stdout.count("0x"), 3)
        self.assertEqual(done.stdout, plain.stdout)
        self.assertRegex(done.stderr, r"^plumb run: \S*/run: cannot be written \(.*Read-only file system\); .*nothing is recorded.*\n$")
        self.assertEqual(len(losses), 3)
        self.assertEqual(len(said), 1)
        self.assertRegex(said[0], "nothing is recorded: .*Read-only file system")

    def train_into(self, out):
        session = plumb.attach(out=out, level="module", save="tensors")
        session.options.launched = True  # does not say where the run is
        said = []
        session.say = said.append
        model = torch.nn.Linear(64, 512)
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        losses = []
        for _ in range(3):
            loss = model(torch.ones(8, 64)).square().mean()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        session.close()
        return losses, said

    @unittest.skipUnless(os.geteuid() == 0, "needs root to mount a small disk")
    def test_a_full_disk(self):
        with self.mounted("size=300k") as place:
            losses, said = self.train_into(os.path.join(place, "run"))
            self.assertEqual(len(losses), 3)
            self.assertEqual(len(said), 1, said)
            self.assertIn("No space left", said[0])
            self.assertEqual(plumb.load(os.path.join(place, "run")).ended, "stopped")


def broken(*arguments):
    raise RuntimeError("planted")


class Bugs(CaptureTest):
    def train_with_a_bug(self, owner, name, level="watch"):
        """Three steps, of which the first meets the bug."""
        with mock.patch.object(owner, name, broken):
            session = plumb.attach(out=self.path("run"), level=level)
            session.options.launched = True
            said = []
            session.say = said.append
            model = torch.nn.Linear(2, 2)
            optimizer = torch.optim.SGD(model.parameters(), 0.1)
            for _ in range(3):
                model(torch.ones(1, 2)).sum().backward()
                optimizer.step()
        self.assertEqual(len(said), 1)
        self.assertIn("RuntimeError: planted", said[0])
        self.assertTrue(session.over)

    def test_a_bug_of_ours_ends_the_capture_alone(self):
        self.train_with_a_bug(torch_updates.Updates, "before")

    def test_a_bug_while_torch_walks_through_hooks(self):
        """Other hooks of the optimizer come after the one that has it."""
        self.train_with_a_bug(torch_modules.Modules, "_each", "module")

    def test_a_bug_when_the_recorder_has_opened(self):
        self.train_with_a_bug(torch_setup, "switches")
        self.assertEqual(plumb.load(self.path("run")).overview["ranks"][0]["how"], "stopped: RuntimeError: planted")
        with self.attached("next") as result:
            model = torch.nn.Linear(2, 2)
            model(torch.ones(1, 2)).sum().backward()
            torch.optim.SGD(model.parameters(), 0.1).step()
        self.assertEqual(len(result[0].series("loss")), 1)

    def test_a_forked_child_records_nothing(self):
        with self.attached() as result:
            model = torch.nn.Linear(2, 2)
            optimizer = torch.optim.SGD(model.parameters(), 0.1)

            def step():
                model(torch.ones(1, 2)).sum().backward()
                optimizer.step()

            step()
            child = os.fork()
            if child == 0:
                step()
                os._exit(0)
            os.waitpid(child, 0)
            step()
        self.assertEqual(result[0].overview["ranks"][0]["finished_steps"], 2)
