"""Pages of `--html`: sound HTML that needs nothing else, whatever the names in a run are."""
import html.parser
import os
import subprocess
import sys
import unittest

import numpy as np

from plumb_cli import ROOT, InteropTest, run

LAB = os.path.join(ROOT, "build", "lab")
VOID = {"meta", "br", "hr", "img", "link", "input"}


class Page(html.parser.HTMLParser):
    """Reads a page and says what is wrong with it."""

    def __init__(self, path):
        super().__init__(convert_charrefs=True)
        self.open, self.wrong, self.seen, self.text = [], [], [], []
        with open(path, encoding="utf-8") as file:
            self.source = file.read()
        self.feed(self.source)
        self.close()
        if self.open:
            self.wrong.append(f"never closed: {self.open}")

    def handle_starttag(self, tag, attributes):
        self.seen.append(tag)
        for name, value in attributes:
            if name.startswith("on") or name in ("src", "href") or value is None:
                self.wrong.append(f"{tag} has {name}={value!r}")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.seen.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(f"</{tag}> at {self.getpos()}")

    def handle_data(self, data):
        self.text.append(data)


class HtmlTest(InteropTest):
    def page(self, *arguments, status=1):
        path = self.path("page.html")
        text = run(*arguments, "--html", path, status=status).stdout.decode()
        page = Page(path)
        self.assertEqual(page.wrong, [])
        for alien in ("http:", "https:", "<script", "@import", "url("):
            self.assertNotIn(alien, page.source)
        return page, text

    def lab(self, name, *options):
        path = self.path(name)
        subprocess.run([LAB, "train", "--net", "mlp", "--steps", "12", "--out", path, *options], check=True,
                       stdout=subprocess.DEVNULL)
        return path

    def test_two_runs_have_answer_phases_charts_and_folded_victims(self):
        page, text = self.page("diff", self.lab("well"), self.lab("sick", "--fault", "lr-high@step=4"))
        answer = text.split("\n")[0].split(": ", 1)[1]
        self.assertIn(answer, "".join(page.text))
        for tag in ("details", "summary", "svg", "polyline", "table"):
            self.assertIn(tag, page.seen)
        self.assertEqual(page.source.count('<polyline class="a"'), page.source.count('<polyline class="b"'))

    def test_equal_runs(self):
        path = self.lab("well")
        page, _ = self.page("diff", path, path, status=0)
        self.assertIn("identical", page.text)

    def test_nan(self):
        page, _ = self.page("nan", self.lab("sick", "--fault", "nan-sample@step=5"))
        self.assertIn("NaN comes in with the data at step 5: sample 0 of 32", "".join(page.text))

    def test_nothing_that_is_not_finite(self):
        page, _ = self.page("nan", self.lab("well"), status=0)
        self.assertIn("every recorded value is finite", "".join(page.text))

    def test_names_cannot_write_the_page(self):
        name = "<script>alert('x')</script>&\"amp;"
        np.savez(self.path("a.npz"), **{name: np.arange(4.0)})
        np.savez(self.path("b.npz"), **{name: np.arange(4.0) * 2})
        page, _ = self.page("diff", self.path("a.npz"), self.path("b.npz"))
        self.assertIn(name, page.text)


if __name__ == "__main__":
    sys.exit(unittest.main())
