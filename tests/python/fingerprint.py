"""The fingerprint of docs/fingerprint.md by a handful of int64 tensor operations.

Independent of the C kernels on purpose: a GPU or NPU could run this as it stands. int64 arithmetic
in torch wraps around, which is arithmetic modulo 2^64.
"""
import torch

BLOCK_WORDS = 1024
MASK = (1 << 64) - 1


def signed(value):
    value &= MASK
    return value - (1 << 64) if value >> 63 else value


def keys():
    found, state = [], 0x706C756D62
    for _ in range(BLOCK_WORDS):
        state = (state + 0x9E3779B97F4A7C15) & MASK
        z = state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        found.append((z ^ (z >> 31)) >> 32)
    return torch.tensor(found, dtype=torch.int64)


KEYS = keys()
POWER = 0xD1342543DE82EF95


def shift_right(h, bits):
    """Logical, although int64 is signed."""
    return (h >> bits) & ((1 << (64 - bits)) - 1)


def fingerprint_of_tensor(tensor):
    """64 bits of a torch tensor's values in logical order."""
    flat = tensor.contiguous().reshape(-1)
    data = flat.view(torch.uint8) if flat.numel() else torch.empty(0, dtype=torch.uint8)
    size = data.numel()
    padded = torch.zeros(-(-size // (4 * BLOCK_WORDS)) * 4 * BLOCK_WORDS, dtype=torch.uint8)
    padded[:size] = data
    words = padded.view(torch.int32).to(torch.int64).reshape(-1, BLOCK_WORDS)
    keyed = (words + KEYS) & 0xFFFFFFFF
    products = (keyed[:, 0::2] * keyed[:, 1::2]).reshape(-1)
    products[-(-size // 8):] = 0  # pairs of nothing but padding
    blocks = products.reshape(-1, BLOCK_WORDS // 2).sum(1)
    powers = torch.tensor([signed(pow(POWER, k, 1 << 64)) for k in range(blocks.numel())], dtype=torch.int64)
    h = (blocks * powers).sum() ^ torch.tensor(signed(size * 0x9E3779B97F4A7C15))
    h = (h ^ shift_right(h, 32)) * signed(0xFF51AFD7ED558CCD)
    h = h ^ shift_right(h, 29)
    return int(h) & MASK


def fingerprint(data, dtype):
    """The same for raw bytes; the dtype decides nothing but is kept for messages."""
    del dtype
    return fingerprint_of_tensor(torch.frombuffer(bytearray(data), dtype=torch.uint8) if data else torch.empty(0))
