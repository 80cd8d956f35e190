"""Parameters in turn: looking at all of them at every step would cost more than watching may.

They are dealt into at most 16 parts of at least a quarter of a megabyte; a part a step has its turn.
"""
PARTS = 16
PART_BYTES = 1 << 18


def deal(sizes):
    """Indices of parameters of so many bytes, part by part, of about equal size; the same on every rank."""
    count = max(1, min(PARTS, sum(sizes) // PART_BYTES))
    parts, filled = [[] for _ in range(count)], [0] * count
    for index in sorted(range(len(sizes)), key=lambda i: -sizes[i]):
        smallest = filled.index(min(filled))
        parts[smallest].append(index)
        filled[smallest] += sizes[index]
    return [sorted(part) for part in parts if part] or [[]]
