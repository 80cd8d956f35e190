"""Weights carried between real networks of the two frameworks: names, layouts and outputs agree."""
import mindspore as ms
import numpy as np
import torch
from mindspore import nn as mnn
from torch import nn as tnn

from plumb_cli import InteropTest, diff, run


class TorchNet(tnn.Module):
    def __init__(self):
        super().__init__()
        self.embed = tnn.Embedding(12, 8)
        self.conv1d = tnn.Conv1d(8, 6, 3, padding=1)
        self.conv = tnn.Conv2d(1, 4, 3, padding=1)
        self.bn = tnn.BatchNorm2d(4)
        self.prelu = tnn.PReLU(4)
        self.up = tnn.ConvTranspose2d(4, 2, 2, stride=2)
        self.gn = tnn.GroupNorm(2, 2)
        self.layers = tnn.Sequential(tnn.Linear(20, 10), tnn.LayerNorm(10), tnn.Linear(10, 3))

    def forward(self, tokens):
        x = self.conv1d(self.embed(tokens).transpose(1, 2))
        y = self.gn(self.up(self.prelu(self.bn(self.conv(x.unsqueeze(1))))))
        return self.layers(y[:, :, :, :10].reshape(y.shape[0], -1, 20))


class MindSporeNet(mnn.Cell):
    def __init__(self):
        super().__init__()
        self.embed = mnn.Embedding(12, 8)
        self.conv1d = mnn.Conv1d(8, 6, 3, pad_mode="pad", padding=1, has_bias=True)
        self.conv = mnn.Conv2d(1, 4, 3, pad_mode="pad", padding=1, has_bias=True)
        self.bn = mnn.BatchNorm2d(4)
        self.prelu = mnn.PReLU(4)
        self.up = mnn.Conv2dTranspose(4, 2, 2, stride=2, pad_mode="valid", has_bias=True)
        self.gn = mnn.GroupNorm(2, 2)
        self.layers = mnn.SequentialCell(mnn.Dense(20, 10), mnn.LayerNorm((10,), epsilon=1e-5), mnn.Dense(10, 3))

    def construct(self, tokens):
        x = self.conv1d(self.embed(tokens).transpose(0, 2, 1))
        y = self.gn(self.up(self.prelu(self.bn(self.conv(x.expand_dims(1))))))
        return self.layers(y[:, :, :, :10].reshape(y.shape[0], -1, 20))


class RenameTest(InteropTest):
    def setUp(self):
        super().setUp()
        torch.manual_seed(6)
        self.torch_net = TorchNet()
        with torch.no_grad():
            for parameter in self.torch_net.parameters():
                parameter.add_(torch.randn_like(parameter) * 0.1)
            self.torch_net.bn.running_mean.normal_()
            self.torch_net.bn.running_var.uniform_(0.5, 2)
        self.torch_net.eval()
        self.tokens = np.random.default_rng(1).integers(0, 12, (2, 10))

    def outputs(self, mindspore_net):
        mindspore_net.set_train(False)
        with torch.no_grad():
            a = self.torch_net(torch.from_numpy(self.tokens)).numpy()
        b = mindspore_net(ms.Tensor(self.tokens, ms.int32)).asnumpy()
        return a, b

    def test_pytorch_to_mindspore(self):
        pth, ckpt = self.path("net.pth"), self.path("net.ckpt")
        torch.save(self.torch_net.state_dict(), pth)
        run("convert", pth, ckpt, "--to", "mindspore")
        net = MindSporeNet()
        missing, unexpected = ms.load_param_into_net(net, ms.load_checkpoint(ckpt), strict_load=True)
        self.assertEqual((missing, unexpected), ([], []))
        np.testing.assert_allclose(*self.outputs(net), rtol=1e-4, atol=1e-5)
        found = diff(pth, ckpt, status=0)
        self.assertEqual(found["verdict"], "identical")
        self.assertEqual({p["matched_by"] for p in found["pairs"]} - {"name", "rule"}, set())

    def test_mindspore_to_pytorch(self):
        net = MindSporeNet()
        net.bn.moving_mean.set_data(ms.Tensor(np.random.default_rng(2).standard_normal(4).astype(np.float32)))
        ckpt, pth = self.path("net.ckpt"), self.path("net.pth")
        ms.save_checkpoint(net, ckpt)
        run("convert", ckpt, pth, "--to", "pytorch")
        state = torch.load(pth, weights_only=True)
        # MindSpore keeps no count of batches; torch fills it in when the file does not have it.
        missing, unexpected = self.torch_net.load_state_dict(state, strict=False)
        self.assertEqual(unexpected, [])
        self.assertEqual([m for m in missing if not m.endswith("num_batches_tracked")], [])
        np.testing.assert_allclose(*self.outputs(net), rtol=1e-4, atol=1e-5)

    def test_there_and_back_loads_strictly(self):
        pth, ckpt, back = self.path("net.pth"), self.path("net.ckpt"), self.path("back.pth")
        torch.save(self.torch_net.state_dict(), pth)
        run("convert", pth, ckpt, "--to", "mindspore")
        run("convert", ckpt, back, "--to", "pytorch")
        state = torch.load(back, weights_only=True)
        want = {k: v for k, v in self.torch_net.state_dict().items() if not k.endswith("num_batches_tracked")}
        self.assertEqual(sorted(k for k in state if not k.endswith("num_batches_tracked")), sorted(want))
        for name, value in want.items():
            self.assertTrue(torch.equal(state[name], value), name)

    def test_strict_load_of_a_net_without_batch_norm(self):
        net = tnn.Sequential(tnn.Embedding(5, 4), tnn.Linear(4, 3), tnn.LayerNorm(3), tnn.PReLU())
        pth, ckpt, back = self.path("n.pth"), self.path("n.ckpt"), self.path("b.pth")
        torch.save(net.state_dict(), pth)
        run("convert", pth, ckpt, "--to", "mindspore")
        run("convert", ckpt, back, "--to", "pytorch")
        net.load_state_dict(torch.load(back, weights_only=True), strict=True)

    def test_recurrent_and_attention(self):
        """These keep their names in both frameworks."""
        for make in (lambda: (tnn.LSTM(4, 5), mnn.LSTM(4, 5)), lambda: (tnn.GRU(4, 5), mnn.GRU(4, 5)),
                     lambda: (tnn.MultiheadAttention(8, 2), mnn.MultiheadAttention(8, 2))):
            theirs, ours = make()
            holder, cell = tnn.Module(), mnn.Cell()
            holder.part, cell.part = theirs, ours
            pth, ckpt = self.path("p.pth"), self.path("p.ckpt")
            torch.save(holder.state_dict(), pth)
            run("convert", pth, ckpt, "--to", "mindspore")
            names = set(ms.load_checkpoint(ckpt))
            self.assertEqual(names, {p.name for p in cell.get_parameters()})
