"""plumb run --compute-in float64 and plumb bisect: the op with the faulty kernel is found."""
import json
import os
import subprocess
import sys

from capture_case import PLUMB, CaptureTest, plumb

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "faulty_kernel.py")


class ComputeTest(CaptureTest):
    def losses(self, *words, options=()):
        name = "run" + "-".join(words) + str(len(options))
        text = self.launch(PROGRAM, *words, out=name, options=options).stdout
        return [float.fromhex(line.split()[1]) for line in text.splitlines()]

    def test_chosen_operators_give_what_they_would_in_float64(self):
        good, bad = self.losses(), self.losses("gelu")
        fixed = self.losses("gelu", options=("--compute-in", "float64", "--ops", "nothing,ge?u"))
        worst = max(abs(a - b) / a for a, b in zip(good, bad))
        self.assertGreater(worst, 1e-6)
        self.assertLess(max(abs(a - b) / a for a, b in zip(good, fixed)), worst / 10)
        config = plumb.load(self.path("rungelu4")).config()
        self.assertEqual(config["capture.compute.changed"], {"gelu": 3})


class BisectTest(CaptureTest):
    def bisect(self, fault, *options, status=1):
        python = f"{sys.executable} {PROGRAM}"
        done = subprocess.run([PLUMB, "bisect", "--good", python, "--bad", f"{python} {fault}", "--out", self.path("hunt"),
                               *options], capture_output=True, text=True, timeout=600, stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def test_names_the_faulty_op_and_goes_on_where_it_stopped(self):
        ops = ("--ops", "inside.addmm,gelu")
        first = self.bisect("gelu", *ops, "--most", "2")
        self.assertIn("the same command goes on", first.stdout)
        done = self.bisect("gelu", *ops, "--json")
        answer = json.loads(done.stdout)
        self.assertEqual((answer["found"], answer["smallest"], answer["ops"]), (True, True, ["gelu"]))
        self.assertEqual([attempt["ops"] for attempt in answer["tries"][:2]], ["", "inside.addmm,gelu"])
        text = self.bisect("gelu", *ops).stdout  # all is in the log by now
        self.assertIn("found: 1 of 2 ops, computed in float64, turns bad into good\n\n  gelu\n", text)
        self.assertLessEqual(len(text.splitlines()), 25)
        self.assertEqual(len(answer["tries"]), len([n for n in os.listdir(self.path("hunt")) if n.endswith(".txt")]) - 1)

    def test_says_that_the_cause_is_another(self):
        self.assertIn("all of these ops in float64 do not make it good", self.bisect("softmax", "--ops", "gelu").stdout)
