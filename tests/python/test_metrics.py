"""Metrics and statistics of `--json` against numpy in extended precision."""
import os

import numpy as np

from plumb_cli import InteropTest, diff, show

LONG = np.longdouble


def cases(rng):
    n = 30011
    normal = rng.standard_normal(n).astype(np.float32)
    yield "random", normal, (normal * (1 + 1e-4 * rng.standard_normal(n))).astype(np.float32)
    tiny = (rng.standard_normal(n) * 1e-41).astype(np.float32)
    yield "denormal", tiny, (tiny * np.float32(1.25)).astype(np.float32)
    huge = (rng.standard_normal(n) * 1e37).astype(np.float32)
    yield "huge", huge, (huge * np.float32(1.001)).astype(np.float32)
    a, b = normal.copy(), normal[::-1].copy()
    a[::97], a[5::101], b[::89], b[7::103] = np.nan, np.inf, -np.inf, np.nan
    yield "sprinkled", a, b
    yield "one", normal[:1], normal[1:2]
    wide = rng.standard_normal(n) * 10.0 ** rng.integers(-200, 140, n)
    yield "f64", wide, wide * (1 + 1e-9 * rng.standard_normal(n))
    yield "zeros", np.zeros(100, np.float32), np.linspace(-1, 1, 100, dtype=np.float32)


def reference(a, b):
    finite = np.isfinite(a) & np.isfinite(b)
    x, y = a[finite].astype(LONG), b[finite].astype(LONG)
    d = np.abs(y - x)
    relative = d[x != 0] / np.abs(x[x != 0])
    both = np.sqrt((x * x).sum()) * np.sqrt((y * y).sum())
    found = dict(max_abs=d.max(), mean_abs=d.mean(), rmse=np.sqrt((d * d).mean()), bias=(y - x).mean())
    if relative.size:
        found.update(max_rel=relative.max(), mean_rel=relative.mean())
        found.update(relative_l2=np.sqrt((d * d).sum()) / np.sqrt((x * x).sum()))
    if both != 0:
        found["cosine"] = (x * y).sum() / both
    return {k: float(v) for k, v in found.items()}


class MetricsTest(InteropTest):
    def compare(self, a, b):
        paths = self.path("a.npy"), self.path("b.npy")
        for path, array in zip(paths, (a, b)):
            np.save(path, array)
        return diff(*paths)["pairs"][0]

    def test_against_extended_precision(self):
        for name, a, b in cases(np.random.default_rng(77)):
            metrics = self.compare(a, b)["metrics"]
            for key, want in reference(a, b).items():
                got = metrics.get(key)
                self.assertIsNotNone(got, f"{name}: no {key} in {sorted(metrics)}")
                scale = abs(want) if key != "bias" else reference(a, b)["mean_abs"]
                self.assertLessEqual(abs(float(got) - want), 1e-12 * scale + 1e-320, f"{name}: {key} {got} {want}")

    def test_infinities_and_nans_differ(self):
        a = np.ones(10, np.float32)
        for x, y, differs in ((np.inf, -np.inf, True), (np.nan, 1, True), (1, np.nan, True), (np.inf, np.nan, True),
                              (np.nan, np.nan, False), (np.inf, np.inf, False), (-np.inf, -np.inf, False)):
            p, q = a.copy(), a.copy()
            p[3], q[3] = x, y
            self.assertEqual(self.compare(p, q)["verdict"] == "different", differs, (x, y))

    def test_empty(self):
        pair = self.compare(np.zeros((0, 3), np.float32), np.zeros((0, 3), np.float32))
        self.assertEqual(pair["verdict"], "identical")

    def test_statistics(self):
        for name, a, _ in cases(np.random.default_rng(78)):
            path = self.path("s.npy")
            np.save(path, a)
            stats = show(path, "--stats")["tensors"][0]["stats"]
            x = a[np.isfinite(a)].astype(LONG)
            want = dict(min=x.min(), max=x.max(), mean=x.mean(), std=x.std(), l2=np.sqrt((x * x).sum()),
                        abs_mean=np.abs(x).mean())
            for key, value in want.items():
                scale = float(np.abs(x).mean()) if key == "mean" else abs(float(value))
                self.assertLessEqual(abs(float(stats[key]) - float(value)), 1e-12 * scale + 1e-320,
                                     f"{name}: {key} {stats[key]} {value}")
            small = np.finfo(a.dtype).tiny
            counts = dict(count=a.size, nan=np.isnan(a).sum(), pos_inf=np.isposinf(a).sum(),
                          neg_inf=np.isneginf(a).sum(), zero=(a == 0).sum(),
                          subnormal=((a != 0) & (np.abs(a) < small)).sum())
            self.assertEqual({k: stats[k] for k in counts}, {k: int(v) for k, v in counts.items()}, name)
            os.remove(path)
