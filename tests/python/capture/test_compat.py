"""Scripts of other tools change one import."""
import json
import os

import torch

import programs
from capture_case import CaptureTest, plumb
from plumb import capture
from plumb.compat import catch, msprobe


class Msprobe(CaptureTest):
    def setUp(self):
        super().setUp()
        msprobe.PrecisionDebugger._instance = None

    def config(self, **values):
        with open(self.path("config.json"), "w", encoding="utf-8") as file:
            json.dump({"dump_path": self.path("dump"), "rank": [], "step": [], **values}, file)
        return self.path("config.json")

    def test_a_script_of_msprobe(self):
        debugger = msprobe.PrecisionDebugger(config_path=self.config(task="tensor", level="L0", step=[0, "2-3"]))
        model = programs.classifier()
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        for x, y in programs.batches(4):
            debugger.start(model)
            torch.nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
            debugger.stop()
            debugger.step()
        capture.session().options.launched = True
        capture.session().close()
        run = plumb.load(self.path("dump", "plumb"))
        self.assertEqual(run.overview["ranks"][0]["finished_steps"], 4)
        self.assertEqual({record["step"] for record in run.records("*Linear")}, {0, 2, 3})
        self.assertEqual(run.overview["ranks"][0]["saved_steps"], 3)

    def test_saving_by_hand_without_an_optimizer(self):
        debugger = msprobe.PrecisionDebugger(self.config(task="statistics", level="L0"))
        debugger.start()
        for step in range(2):
            debugger.save({"a": torch.ones(2), "b": [torch.zeros(3)]}, "mine")
            debugger.step()
        capture.session().options.launched = True
        capture.session().close()
        run = plumb.load(self.path("dump", "plumb"))
        self.assertEqual(run.overview["ranks"][0]["finished_steps"], 2)
        self.assertEqual([r["op"] for r in run.records("user.*", 1)], ["user.mine.a", "user.mine.b.0"])

    def test_an_unknown_level_is_refused(self):
        debugger = msprobe.PrecisionDebugger(self.config(level="L7"))
        with self.assertRaisesRegex(ValueError, "no level 'L7'"):
            debugger.start()


class Catch(CaptureTest):
    def test_what_happens_inside_is_recorded(self):
        with catch.Dumper(dump_dir=self.path("dump"), level=2) as dumper:
            dumper._session.options.launched = True
            losses, *_ = programs.plain()
        programs.plain()
        run = plumb.load(self.path("dump"))
        self.assertEqual(list(run.series("loss").values()), losses)
        self.assertTrue(run.records("*mm*"))
        self.assertFalse([record for record in run.records("*mm*") if record["slot"].startswith("error:")])
        with catch.Dumper(dump_dir=self.path("none"), enable=False):
            programs.plain()
        self.assertFalse(os.path.exists(self.path("none")))

    def test_use_cpu_records_the_difference(self):
        with catch.Dumper(dump_dir=self.path("dump"), use_cpu=True) as dumper:
            dumper._session.options.launched = True
            programs.plain()
        run = plumb.load(self.path("dump"))
        self.assertIn("error:output0", {record["slot"] for record in run.records("*addmm")})
