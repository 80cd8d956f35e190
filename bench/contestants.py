"""One contestant of the benchmark: does its job once and prints its answer as one JSON line.

Run by run.py as a child process, so that interpreter start, imports and memory are its own.
Each is written the way somebody who knows the library would write it today.
"""
import json
import sys
import time

RANDOM_SEED = 1


def gpt2_shapes(layers):
    """GPT-2 medium with 24 layers: 292 tensors, 355 M parameters, 1.42 GB."""
    width = 1024
    yield "wte.weight", (50257, width)
    yield "wpe.weight", (1024, width)
    for i in range(layers):
        for name, shape in (
            ("ln_1.weight", (width,)), ("ln_1.bias", (width,)),
            ("attn.c_attn.weight", (width, 3 * width)), ("attn.c_attn.bias", (3 * width,)),
            ("attn.c_proj.weight", (width, width)), ("attn.c_proj.bias", (width,)),
            ("ln_2.weight", (width,)), ("ln_2.bias", (width,)),
            ("mlp.c_fc.weight", (width, 4 * width)), ("mlp.c_fc.bias", (4 * width,)),
            ("mlp.c_proj.weight", (4 * width, width)), ("mlp.c_proj.bias", (width,)),
        ):
            yield f"h.{i}.{name}", shape
    yield "ln_f.weight", (width,)
    yield "ln_f.bias", (width,)


def mindspore_name(name):
    if name.startswith(("wte.", "wpe.")):
        return name.replace("weight", "embedding_table")
    if ".ln_" in name or name.startswith("ln_"):
        return name.replace("weight", "gamma").replace("bias", "beta")
    return name


# ---- making the files -------------------------------------------------------------------


def make_arrays(mib, a_path, b_path, a_half, b_half):
    import numpy as np
    import torch

    count = int(mib) * 2**20 // 4
    rng = np.random.default_rng(RANDOM_SEED)
    a = rng.standard_normal(count, dtype=np.float32)
    a[::1009] = 0
    b = a * (1 + 1e-4 * rng.standard_normal(count, dtype=np.float32))
    b[count // 3] += 0.25
    np.save(a_path, a)
    np.save(b_path, b)
    torch.save({"x": torch.from_numpy(a).bfloat16()}, a_half)
    torch.save({"x": torch.from_numpy(b).bfloat16()}, b_half)


def make_checkpoints(layers, pth, safetensors, ckpt):
    import mindspore
    import torch
    from safetensors.torch import save_file

    torch.manual_seed(RANDOM_SEED)
    state = {name: torch.randn(shape) * 0.02 for name, shape in gpt2_shapes(int(layers))}
    torch.save(state, pth)
    save_file(state, safetensors)
    state["h.1.mlp.c_fc.weight"][7, 9] += 0.5
    mindspore.save_checkpoint(
        [{"name": mindspore_name(n), "data": mindspore.Tensor(t.numpy())} for n, t in state.items()], ckpt)


# ---- comparing two arrays ---------------------------------------------------------------


def array_metrics(np, a, b):
    """Additive parts of the usual metrics; a is the reference."""
    nan = int(np.isnan(a).sum() + np.isnan(b).sum())
    inf = int(np.isinf(a).sum() + np.isinf(b).sum())
    if nan or inf:
        finite = np.isfinite(a) & np.isfinite(b)
        a, b = np.where(finite, a, 0), np.where(finite, b, 0)
    error = np.abs(b - a)
    scale = np.abs(a)
    zero = scale == 0
    scale[zero] = np.inf  # no relative error there
    relative = error / scale
    return dict(dot=float(np.dot(a, b)), aa=float(np.dot(a, a)), bb=float(np.dot(b, b)),
                max_abs=float(error.max()), sum_abs=float(error.sum()), max_rel=float(relative.max()),
                sum_rel=float(relative.sum()), squares=float(np.dot(error, error)),
                within_1e3=int((relative < 1e-3).sum()), within_5e3=int((relative < 5e-3).sum()),
                nan=nan, inf=inf, count=a.size,
                relative=a.size - int(zero.sum()))


def tensor_metrics(torch, a, b):
    nan = int(a.isnan().sum() + b.isnan().sum())
    inf = int(a.isinf().sum() + b.isinf().sum())
    if nan or inf:
        finite = a.isfinite() & b.isfinite()
        a, b = a.where(finite, 0), b.where(finite, 0)
    error = (b - a).abs()
    scale = a.abs()
    zero = scale == 0
    relative = error / scale.masked_fill_(zero, float("inf"))
    return dict(dot=float(a @ b), aa=float(a @ a), bb=float(b @ b), max_abs=float(error.max()),
                sum_abs=float(error.sum()), max_rel=float(relative.max()), sum_rel=float(relative.sum()),
                squares=float(error @ error), within_1e3=int((relative < 1e-3).sum()),
                within_5e3=int((relative < 5e-3).sum()), nan=nan, inf=inf, count=a.numel(),
                relative=a.numel() - int(zero.sum()))


def add_parts(total, part):
    if total is None:
        return part
    return {k: max(total[k], v) if k.startswith("max") else total[k] + v for k, v in part.items()}


def finish(total):
    return dict(cosine=total["dot"] / (total["aa"] * total["bb"]) ** 0.5, max_abs=total["max_abs"],
                mean_abs=total["sum_abs"] / total["count"], max_rel=total["max_rel"],
                mean_rel=total["sum_rel"] / total["relative"], rmse=(total["squares"] / total["count"]) ** 0.5,
                nan=total["nan"], inf=total["inf"])


def numpy_f64_blocks(a_path, b_path, block=1 << 14):
    import numpy as np

    a, b = (np.load(path, mmap_mode="r").ravel() for path in (a_path, b_path))
    total = None
    for i in range(0, a.size, block):
        total = add_parts(total, array_metrics(np, a[i:i + block].astype(np.float64),
                                               b[i:i + block].astype(np.float64)))
    return finish(total)


def torch_f64_blocks(a_path, b_path, block=1 << 17):
    import numpy as np
    import torch

    torch.set_num_threads(2)
    a, b = (torch.from_numpy(np.load(path, mmap_mode="c")).ravel() for path in (a_path, b_path))
    total = None
    for i in range(0, a.numel(), block):
        total = add_parts(total, tensor_metrics(torch, a[i:i + block].double(), b[i:i + block].double()))
    return finish(total)


# ---- statistics and checkpoints ---------------------------------------------------------


def array_stats(np, a):
    return [float(a.min()), float(a.max()), float(a.mean()), float(np.linalg.norm(a)),
            int(np.isnan(a).sum()), int(np.isinf(a).sum())]


def stats_f32_safetensors(path):
    import numpy as np
    from safetensors.numpy import load_file

    stats = {k: array_stats(np, v) for k, v in load_file(path).items()}
    return dict(tensors=len(stats), norm=stats["wte.weight"][3])


def stats_f64_pth(path):
    import numpy as np
    import torch

    state = torch.load(path, weights_only=True)
    stats = {k: array_stats(np, v.numpy().astype(np.float64)) for k, v in state.items()}
    return dict(tensors=len(stats), norm=stats["wte.weight"][3])


def pth_against_ckpt(pth, ckpt):
    import mindspore
    import numpy as np
    import torch

    a = torch.load(pth, weights_only=True, map_location="cpu")
    b = mindspore.load_checkpoint(ckpt)
    bad = [k for k, v in a.items()
           if not np.allclose(v.numpy(), b[mindspore_name(k)].asnumpy(), rtol=1e-4, atol=1e-4)]
    return dict(bad=bad)


if __name__ == "__main__":
    start = time.perf_counter()
    answer = globals()[sys.argv[1]](*sys.argv[2:])
    print(json.dumps(dict(seconds=time.perf_counter() - start, **(answer or {}))))
