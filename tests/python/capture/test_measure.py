"""Numbers about tensors that the always-on level asks the C side for."""
import os
import signal
import unittest

import torch

from capture_case import plumb  # noqa: F401 - finds the package
from plumb import _plumb


class Number(unittest.TestCase):
    def test_one_number_of_any_type_and_shape(self):
        for dtype in (torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.int64, torch.uint8, torch.bool):
            for shape in ((), (1,), (1, 1, 1)):
                tensor = torch.full(shape, 1.7).to(dtype)
                self.assertEqual(_plumb.number(tensor), float(tensor.item()))
        self.assertEqual(_plumb.number(torch.tensor([1.0, 2.5, 3.0])[1]), 2.5)
        self.assertEqual(_plumb.number(torch.tensor(3.5, requires_grad=True) * 1), 3.5)
        self.assertTrue(_plumb.number(torch.tensor(float("nan"))) != 0)

    def test_anything_else_has_none(self):
        for thing in (torch.ones(2), torch.ones(0), torch.tensor(1j), torch.ones(1, device="meta"), None, 3.0, "1"):
            self.assertIsNone(_plumb.number(thing))


class Norm(unittest.TestCase):
    """Of all gradients together; torch's threads share the work on large ones."""

    def setUp(self):
        chance = torch.Generator().manual_seed(3)
        self.tensors = [torch.randn(count, generator=chance) for count in (1, 5000, 40000, 300001, 1 << 20)]
        self.tensors += [torch.randn(300, 200, generator=chance).t(), torch.randn(100000, generator=chance).bfloat16()]
        self.addCleanup(torch.set_num_threads, torch.get_num_threads())

    def test_is_the_same_to_the_last_bit_in_any_number_of_threads(self):
        norms = set()
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            norms.add(_plumb.norm(self.tensors))
        (norm, elements, nonfinite, unseen), = norms
        expected = sum(tensor.double().square().sum().item() for tensor in self.tensors) ** 0.5
        self.assertAlmostEqual(norm / expected, 1, 6)
        self.assertEqual((elements, nonfinite, unseen), (sum(tensor.numel() for tensor in self.tensors), 0, 0))

    def test_counts_what_is_not_finite(self):
        torch.set_num_threads(2)
        self.tensors[-3][123456] = float("inf")
        self.tensors[3][7] = float("nan")
        norm, _, nonfinite, unseen = _plumb.norm(self.tensors + [None, torch.ones(2, device="meta")])
        self.assertNotEqual(norm, norm)
        self.assertEqual((nonfinite, unseen), (2, 1))

    def test_a_child_of_fork_has_no_threads_to_ask(self):
        torch.set_num_threads(2)
        expected = _plumb.norm(self.tensors)
        child = os.fork()
        if child == 0:
            signal.alarm(60)  # instead of waiting for threads that are not there
            os._exit(0 if _plumb.norm(self.tensors) == expected else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)


class Wrapped(unittest.TestCase):
    """A tensor that wraps another has no memory; as a part of a larger one it seems to begin at a small address."""

    def test_what_has_no_memory_is_not_read(self):
        class Wrapper(torch.Tensor):
            @staticmethod
            def __new__(cls, offset):
                return torch.Tensor._make_wrapper_subclass(cls, (4, 4), strides=(4, 1), storage_offset=offset, dtype=torch.float32)

            @classmethod
            def __torch_dispatch__(cls, function, types, arguments=(), keywords=None):
                raise AssertionError("not asked")

        for offset in (0, 1, 4096, 1 << 30):
            wrapper = Wrapper(offset)
            self.assertFalse(_plumb.is_visible(wrapper))
            self.assertIsNone(_plumb.fingerprint(wrapper))
            self.assertEqual(_plumb.norm([wrapper])[1:], (0, 0, 1))
            wrapper._local_tensor = torch.arange(3.0)
            self.assertEqual(_plumb.fingerprint(wrapper), _plumb.fingerprint(torch.arange(3.0)))

    def test_what_has_memory_and_rules_of_its_own_is_read(self):
        class Ruled(torch.Tensor):
            @classmethod
            def __torch_dispatch__(cls, function, types, arguments=(), keywords=None):
                raise AssertionError("not asked")

        tensor = torch.Tensor._make_subclass(Ruled, torch.arange(5.0))
        self.assertEqual(_plumb.fingerprint(tensor), _plumb.fingerprint(torch.arange(5.0)))


class Moved(unittest.TestCase):
    def assert_moved(self, before, after):
        snapshot = _plumb.Snapshot()
        snapshot.take(before)
        moved, norm = snapshot.moved(after)
        pairs = [(old.double(), new.double()) for old, new in zip(before, after)]
        expected = sum((new - old).square().sum().item() for old, new in pairs) ** 0.5
        self.assertAlmostEqual(moved / expected, 1, 5)
        self.assertAlmostEqual(norm / sum(old.square().sum().item() for old, _ in pairs) ** 0.5, 1, 5)

    def test_lengths_around_a_block(self):
        chance = torch.Generator().manual_seed(1)
        for count in (1, 3, 1023, 1024, 1025, 5000, 16384, 40001):
            old = torch.randn(count, generator=chance)
            self.assert_moved([old], [old + 1e-3 * torch.randn(count, generator=chance)])

    def test_several_of_different_types_that_lie_anywhere(self):
        chance = torch.Generator().manual_seed(2)
        old = [torch.arange(3, dtype=torch.uint8), torch.randn(70, 50, generator=chance).t(), torch.zeros(0),
               torch.randn(33, generator=chance).bfloat16(), torch.randn(2000, generator=chance)]
        self.assert_moved(old, [(tensor * 2 + 1).to(tensor.dtype) for tensor in old])

    def test_small_moves_are_not_lost(self):
        old = torch.full((20000,), 1e-22)
        self.assert_moved([old], [old * 3])

    def test_what_did_not_move(self):
        snapshot = _plumb.Snapshot()
        snapshot.take([torch.ones(5)])
        self.assertEqual(snapshot.moved([torch.ones(5)]), (0.0, 5 ** 0.5))


if __name__ == "__main__":
    unittest.main()
