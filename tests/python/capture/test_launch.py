"""`plumb run`: examples, launchers, nested processes, and programs that it must leave alone."""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import unittest

from capture_case import EXAMPLES, PLUMB, CaptureTest, plumb

PACKAGE = os.path.dirname(plumb.__file__)
TRAIN = """
import torch
model = torch.nn.Linear(3, 2)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for step in range(3):
    loss = model(torch.ones(4, 3)).square().mean()
    loss.backward(); optimizer.step(); optimizer.zero_grad()
"""
ACCELERATED = """
import torch
from accelerate import Accelerator
accelerator = Accelerator(cpu=True)
model = torch.nn.Linear(3, 2)
model, optimizer = accelerator.prepare(model, torch.optim.SGD(model.parameters(), 0.1))
for step in range(3):
    accelerator.backward(model(torch.ones(4, 3)).square().mean())
    optimizer.step(); optimizer.zero_grad()
"""
DISTRIBUTED = """
import os
import torch
rank, size = (int(os.environ[f"OMPI_COMM_WORLD_{word}"]) for word in ("RANK", "SIZE"))
torch.distributed.init_process_group("gloo", init_method="STORE", rank=rank, world_size=size)
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(3, 2))
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for step in range(3):
    model(torch.ones(4, 3)).square().mean().backward(); optimizer.step(); optimizer.zero_grad()
torch.distributed.destroy_process_group()
"""
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1"}


def printed(text, rank=""):
    return [float(value) for value in re.findall(rf"{rank}step \d+ loss (\S+)", text)]


class Examples(CaptureTest):
    def test_gpt(self):
        done = self.launch(os.path.join(EXAMPLES, "gpt.py"), "--steps", "12", env=ENVIRONMENT)
        run = plumb.load(self.path("run"))
        self.assertEqual(list(run.series("loss").values()), printed(done.stdout))
        self.assertEqual(len(printed(done.stdout)), 12)
        self.assertRegex(done.stderr, r"plumb: run is in (\S*/run); next: plumb show \1\n")
        config = run.config()
        self.assertEqual(config["arguments.steps"], 12)
        self.assertEqual(config["optimizer.name"], "AdamW")
        self.assertEqual(config["model.name"], "GPT")
        self.assertEqual(config["model.parameters"], config["model.trainable"])
        self.assertEqual(config["data.batch"], 32)
        self.assertIn("blocks.0.attention.qkv.weight", config["model.shapes"])
        for name in ("lr", "grad_norm", "throughput", "update_norm"):
            self.assertTrue(run.series(name), name)
        shown = subprocess.run([PLUMB, "show", self.path("run")], capture_output=True, text=True).stdout
        self.assertIn("\n    optimizer.name = AdamW\n", shown)
        self.assertIn("\n    model.tree = (28 entries)\n", shown)
        self.assertLess(shown.index("optimizer.name"), shown.index("\n    seed = "))
        self.assertRegex(shown, r"\n  \d+ fingerprints of tensors at step 11; `plumb show \S+ --step 11` lists them\n")

    def test_resnet_like(self):
        weights = [self.path("with.pth"), self.path("without.pth")]
        script = [os.path.join(EXAMPLES, "resnet_like.py"), "--steps", "6", "--workers", "2", "--weights"]
        done = self.launch(*script, weights[0], options=["--level", "module", "--steps", "0-1"], env=ENVIRONMENT)
        plain = subprocess.run([sys.executable, *script, weights[1]], capture_output=True, text=True, check=True,
                               env=ENVIRONMENT)
        self.assertEqual(done.stdout, plain.stdout)
        self.assertEqual(plumb.diff(*weights)["verdict"], "identical")
        run = plumb.load(self.path("run"))
        self.assertEqual(list(run.series("loss").values()), printed(done.stdout))
        self.assertEqual({record["step"] for record in run.records("stem*")}, {0, 1})


class Ranks(CaptureTest):
    def weights_by_rank(self, run, step):
        found = {}
        for record in run.records("*.update", step):
            found.setdefault(record["op"], {})[record["rank"]] = record["fingerprint"]
        return found

    def test_four_ranks(self):
        done = self.torchrun(4, os.path.join(EXAMPLES, "ddp.py"), "--steps", "6", "--spoil", "3", env=ENVIRONMENT)
        run = plumb.load(self.path("run"))
        self.assertEqual([rank["rank"] for rank in run.overview["ranks"]], [0, 1, 2, 3])
        for rank in range(4):
            self.assertEqual(list(run.series("loss", rank).values()), printed(done.stdout, f"rank {rank} "), rank)
        for step, spoiled in ((2, set()), (5, {"2.weight.update"})):
            weights = self.weights_by_rank(run, step)
            self.assertEqual(len(weights), 6)
            for op, prints in weights.items():
                self.assertEqual(len(prints), 4)
                if step == 2:
                    self.assertEqual(len(set(prints.values())), 1, op)
                elif op in spoiled:
                    self.assertEqual(len({prints[0], prints[1], prints[2]}), 1, op)
                    self.assertNotEqual(prints[3], prints[0], op)
        rows = self.collectives("run")
        by_rank = [[row for row in rows if row["rank"] == rank] for rank in range(4)]
        self.assertGreaterEqual(len(by_rank[0]), 6)  # one all-reduce a step at least
        for other in by_rank[1:]:
            self.assertEqual([(r["group"], r["sequence"], r["name"], r["bytes"]) for r in other],
                             [(r["group"], r["sequence"], r["name"], r["bytes"]) for r in by_rank[0]])
        self.assertIn("all_reduce", {row["name"] for row in rows})

    def collectives(self, name):
        out = self.path("all.json")
        subprocess.run([PLUMB, "export", self.path(name), "--json", out], check=True, capture_output=True)
        with open(out, encoding="utf-8") as file:
            return json.load(file)["collectives"]


class Launchers(CaptureTest):
    """Each rank gets its directory, with and without torch.distributed."""

    def ranks(self, *command, text=TRAIN):
        with open(self.path("train.py"), "w", encoding="utf-8") as file:
            file.write(text)
        self.launch(*command, self.path("train.py"), python=False, cwd=self.folder, env={
            **ENVIRONMENT, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "PATH": os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"]})
        overview = plumb.load(self.path("run")).overview
        self.assertEqual(overview["run"]["world_size"], len(overview["ranks"]))
        self.assertEqual({rank["finished_steps"] for rank in overview["ranks"]}, {3})
        return [rank["rank"] for rank in overview["ranks"]]

    def test_accelerate(self):
        """On CPUs it starts several processes through mpirun alone."""
        launch = ["accelerate", "launch", "--cpu", "--num_machines", "1", "--num_processes"]
        if not shutil.which("mpirun"):
            self.assertEqual(self.ranks(*launch, "1", text=ACCELERATED), [0])
            return
        with open(self.path("hosts"), "w", encoding="utf-8") as file:
            file.write("localhost slots=2\n")
        self.assertEqual(self.ranks(*launch, "2", "--mpirun_hostfile", self.path("hosts"), text=ACCELERATED), [0, 1])

    @unittest.skipUnless(shutil.which("mpirun"), "there is no mpirun")
    def test_mpirun(self):
        mpirun = ("mpirun", "--oversubscribe", "-n", "2", sys.executable)
        self.assertEqual(self.ranks(*mpirun), [0, 1])

    @unittest.skipUnless(shutil.which("mpirun"), "there is no mpirun")
    def test_mpirun_with_torch_distributed(self):
        mpirun = ("mpirun", "--oversubscribe", "-n", "2", sys.executable)
        store = f"file://{self.path('store')}"
        self.assertEqual(self.ranks(*mpirun, text=DISTRIBUTED.replace("STORE", store)), [0, 1])


class Processes(CaptureTest):
    def script(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)

    def test_a_module_and_a_nested_process(self):
        self.script("train_it.py", TRAIN)
        outer = self.script("outer.py", "import subprocess, sys\nsys.exit(subprocess.call([sys.executable, '-m', 'train_it']))")
        self.launch(outer, cwd=self.folder)
        self.assertEqual(plumb.load(self.path("run")).overview["ranks"][0]["finished_steps"], 3)

    def test_the_run_is_called_after_the_module(self):
        self.script("train_it.py", TRAIN)
        done = subprocess.run([PLUMB, "run", "--", sys.executable, "-m", "train_it"], cwd=self.folder, text=True,
                              capture_output=True, check=True)
        self.assertRegex(done.stderr, r"plumb: run is in runs/train_it-\d+-\d+; next")

    def test_two_trainings_in_one_job(self):
        script = self.script("train.py", TRAIN)
        done = self.launch("sh", "-c", f"{sys.executable} {script} && {sys.executable} {script}", python=False)
        self.assertRegex(done.stderr, r"plumb: 2 runs are in (\S*/run) and \1-2; next: plumb show \1\n")
        for name in ("run", "run-2"):
            self.assertEqual(plumb.load(self.path(name)).overview["ranks"][0]["finished_steps"], 3)

    def test_a_program_without_a_framework_is_untouched(self):
        script = self.script("plain.py", "import sys, argparse, json\n"
                             "print(sorted(m for m in sys.modules if 'plumb' in m), sys.argv[1:])\nsys.exit(3)")
        done = self.launch(script, "--a", "-b", status=3)
        self.assertEqual(done.stdout, "[] ['--a', '-b']\n")
        self.assertFalse(os.path.exists(self.path("run")))

    def test_without_the_python_part_it_says_what_to_do(self):
        tree = self.path("tree")
        shutil.copytree(PACKAGE, os.path.join(tree, "python", "plumb"), ignore=shutil.ignore_patterns("*.so", "__pycache__"))
        os.mkdir(os.path.join(tree, "build"))
        shutil.copy(PLUMB, os.path.join(tree, "build"))
        for files, advice in ((), "make install"), (("Makefile",), f"make -C {tree} python"):
            for name in files:
                open(os.path.join(tree, name), "w").close()
            done = subprocess.run([os.path.join(tree, "build", "plumb"), "run", "--out", self.path("run"), "--",
                                   sys.executable, "-c", TRAIN + "print(loss.item())"], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertGreater(float(done.stdout), 0)
            self.assertIn("nothing is recorded: Plumb was built without its Python part", done.stderr)
            self.assertIn(f"then: {advice}\n", done.stderr)

    def test_the_users_own_sitecustomize_runs(self):
        self.script("sitecustomize.py", "print('mine')")
        script = self.script("plain.py", "import sitecustomize; print(sitecustomize.__file__)")
        done = self.launch(script, env={**os.environ, "PYTHONPATH": self.folder})
        self.assertEqual(done.stdout, f"mine\n{self.path('sitecustomize.py')}\n")

    def test_signals_and_status_go_through(self):
        script = self.script("wait.py", "import signal, sys, time\n"
                             "signal.signal(signal.SIGTERM, lambda *a: sys.exit(5))\nprint('ready', flush=True)\n"
                             "for _ in range(600):\n    time.sleep(0.1)")  # a signal just before a sleep waits for its end
        process = subprocess.Popen([PLUMB, "run", "--out", self.path("run"), "--", sys.executable, script],
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(20), 5)
        process.stdout.close()
        killed = self.launch("-c", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)", status=None)
        self.assertEqual(killed.returncode, -signal.SIGKILL)

    def test_how_it_ended_is_recorded(self):
        for text, how in (("raise ValueError('too bad')", "exception: ValueError: too bad"),
                          ("raise KeyboardInterrupt", "interrupted")):
            name = how.split(":")[0]
            script = self.script("bad.py", TRAIN + text)
            self.launch(script, out=name, status=None)
            self.assertEqual(plumb.load(self.path(name)).overview["ranks"][0]["how"], how)
