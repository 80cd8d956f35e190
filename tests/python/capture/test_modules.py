"""Module level: what is recorded is what the framework holds, gradients and saved values included."""
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from capture_case import CaptureTest, plumb
from plumb import _plumb


def fingerprint(tensor):
    return f"{_plumb.fingerprint(tensor):016x}"


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(11, 6)
        self.mix = nn.Conv1d(6, 8, 3, padding=1)
        self.out = nn.Linear(8, 5)

    def forward(self, tokens):
        x = self.words(tokens).transpose(1, 2)
        return self.out(F.relu(self.mix(x)).transpose(1, 2))


class Modules(CaptureTest):
    def train(self, steps=2, **options):
        torch.manual_seed(1)
        model = Net()
        optimizer = torch.optim.AdamW(model.parameters(), 1e-2)
        held = []
        with self.attached(level="module", **options) as result:
            for step in range(steps):
                tokens = torch.randint(0, 11, (2, 3, 7))[step]
                optimizer.zero_grad()
                output = model(tokens)
                output.square().mean().backward()
                grads = {name: p.grad.clone() for name, p in model.named_parameters()}
                before = {name: p.detach().clone() for name, p in model.named_parameters()}
                optimizer.step()
                after = {name: p.detach().clone() for name, p in model.named_parameters()}
                state = {name: {k: v.clone() for k, v in optimizer.state[p].items()} for name, p in model.named_parameters()}
                held.append((tokens, output.detach(), grads, before, after, state))
        return result[0], held

    def records(self, run, step):
        return {(r["op"], r["phase"], r["slot"]): r for r in run.records("*", step)}

    def test_records_are_what_torch_holds(self):
        run, held = self.train()
        for step, (tokens, output, grads, before, after, state) in enumerate(held):
            records = self.records(run, step)
            self.assertEqual(records["words.Embedding", "forward", "input0"]["fingerprint"], fingerprint(tokens))
            self.assertEqual(records["Net", "forward", "output0"]["fingerprint"], fingerprint(output))
            for name, gradient in grads.items():
                module, own = name.rsplit(".", 1)
                label = {"words": "words.Embedding", "mix": "mix.Conv1d", "out": "out.Linear"}[module]
                got = records[label, "backward", f"grad:{own}"]
                self.assertEqual(got["fingerprint"], fingerprint(gradient), name)
                self.assertAlmostEqual(got["stats"]["l2"], gradient.double().norm().item(), places=6)
                self.assertEqual(records[label, "forward", f"param:{own}"]["fingerprint"], fingerprint(before[name]))
                update = f"{name}.update", "optimizer"
                self.assertEqual(records[(*update, "grad")]["fingerprint"], fingerprint(gradient))
                self.assertEqual(records[(*update, "param")]["fingerprint"], fingerprint(after[name]))
                self.assertEqual(records[(*update, "moment1")]["fingerprint"], fingerprint(state[name]["exp_avg"]))
                self.assertEqual(records[(*update, "moment2")]["fingerprint"], fingerprint(state[name]["exp_avg_sq"]))

    def test_gradients_between_modules(self):
        run, _ = self.train(steps=1)
        records = self.records(run, 0)
        # what comes out of one module's backward goes into the backward of the module before it
        self.assertEqual(records["mix.Conv1d", "backward", "output0"]["shape"], [3, 6, 7])
        self.assertEqual(records["words.Embedding", "backward", "input0"]["shape"], [3, 7, 6])
        self.assertEqual(records["Net", "backward", "input0"]["fingerprint"],
                         records["out.Linear", "backward", "input0"]["fingerprint"])

    def test_saved_values_are_torchs(self):
        run, held = self.train(save="tensors", ops="*out*")
        for step, (_, output, grads, *_) in enumerate(held):
            with np.load(self.path("run", "rank0000", f"step{step:06d}.npz")) as values:
                np.testing.assert_array_equal(values["out.Linear/forward/output0"], output.numpy())
                np.testing.assert_array_equal(values["out.Linear/backward/grad:weight"], grads["out.weight"].numpy())
                self.assertFalse([name for name in values if name.startswith("words")])

    def test_a_module_called_twice(self):
        layer = nn.Linear(4, 4)
        optimizer = torch.optim.SGD(layer.parameters(), 0.1)
        with self.attached(level="module") as result:
            layer(layer(torch.ones(2, 4))).sum().backward()
            optimizer.step()
        labels = [r["op"] for r in result[0].records("*", 0) if r["slot"] == "output0" and r["phase"] == "forward"]
        self.assertEqual(labels, ["Linear", "Linear#1"])


class Saving(CaptureTest):
    CASES = {
        "bf16": torch.randn(5, 7).bfloat16(),
        "half": torch.randn(3).half(),
        "transposed": torch.randn(4, 6, 5).permute(2, 0, 1),
        "expanded": torch.randn(3, 1).expand(3, 4),
        "strided": torch.randn(9, 9)[::2, 1::3],
        "reversed": torch.arange(6).flip(0),
        "scalar": torch.tensor(2.5),
        "empty": torch.empty(0, 3),
        "bool": torch.tensor([True, False]),
        "conj": torch.randn(3, 3, dtype=torch.complex64).conj(),
        "negative": torch.randn(4, dtype=torch.complex64).conj().imag,
        "wide": torch.randn(2, 2, dtype=torch.float64).t(),
    }

    def test_values_are_equal_bit_for_bit(self):
        with self.attached(level="module", save="tensors"):
            for name, tensor in self.CASES.items():
                plumb.save(name, tensor)
            plumb.step()
        with np.load(self.path("run", "rank0000", "step000000.npz")) as values:
            for name, tensor in self.CASES.items():
                plain = tensor.resolve_conj().resolve_neg().contiguous()
                got = values[f"user.{name}/forward/output0"]
                self.assertEqual(list(got.shape), list(plain.shape), name)
                want = plain.reshape(-1).view(torch.uint8).numpy().tobytes() if plain.numel() else b""
                self.assertEqual(got.tobytes(), want, name)

    def test_what_has_no_values_is_left_out(self):
        with self.attached(level="module"):
            plumb.save("meta", torch.empty(3, device="meta"))
            plumb.save("sparse", torch.eye(3).to_sparse())
            plumb.save("text", "no tensor")
            plumb.save("numpy", np.ones((2, 3)).T)
            plumb.step()
        names = [record["op"] for record in plumb.load(self.path("run")).records("user.*")]
        self.assertEqual(names, ["user.numpy"])

    def test_the_gradient_of_a_saved_tensor(self):
        with self.attached(level="module") as result:
            x = torch.ones(3, requires_grad=True)
            y = x * 2
            plumb.save("y", y)
            plumb.series("mine", 4)
            (y * torch.tensor([1.0, 2.0, 3.0])).sum().backward()
            plumb.step()
        record = [r for r in result[0].records("user.y") if r["phase"] == "backward"][0]
        self.assertEqual(record["fingerprint"], fingerprint(torch.tensor([1.0, 2.0, 3.0])))
        self.assertEqual(result[0].series("mine"), {0: 4.0})
