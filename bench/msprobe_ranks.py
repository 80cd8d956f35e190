"""Statistics dumps of many ranks in msprobe's layout, with one NaN origin that spreads through collectives.

Every 20th operation is a collective: mostly an all_reduce inside the pair {2k, 2k+1}, every fifth one over all
ranks. Half way, a matmul on one rank takes clean inputs and makes a NaN; its next pair's reduce gives it to its
neighbour, the next reduce over all ranks to everybody. The right answer is that matmul, whose name is written to
the file `origin`.
"""
import json
import os
import zlib

EVERY, WORLD_EVERY = 20, 5
APIS = ("Torch.matmul", "Functional.softmax", "Torch.add", "Functional.layer_norm", "Tensor.mul")


def tensor(bad):
    nan = float("nan")
    return {"type": "torch.Tensor", "dtype": "torch.float32", "shape": [64, 64], "Max": nan if bad else 1.5,
            "Min": nan if bad else -1.5, "Mean": nan if bad else 0.01, "Norm": nan if bad else 12.5,
            "requires_grad": False}


def text(name, value):
    """One member of "data" as json.dump(indent=1) writes it."""
    return " " + json.dumps({name: value}, indent=1)[2:-2].replace("\n", "\n ")


class Pieces:
    """Texts of operations; those of ranks differ in groups and in what is bad only."""

    def __init__(self):
        self.kept = {}

    def compute(self, api, call, taken, made):
        key = (api, call, taken, made)
        if key not in self.kept:
            self.kept[key] = text(f"{api}.{call}.forward",
                                  {"input_args": [tensor(taken), tensor(False)], "input_kwargs": {}, "output": [tensor(made)]})
        return self.kept[key]

    def reduce(self, call, group, taken, made):
        kind = {"type": "torch.ProcessGroup", "group_ranks": list(group), "group_id": f"{zlib.crc32(str(group).encode()):08x}"}
        return text(f"Distributed.all_reduce.{call}.forward",
                    {"input_args": [tensor(taken)], "input_kwargs": {"group": kind}, "output": [tensor(made)]})


def rank_text(pieces, rank, count, records, origin):
    half = records // 2 // EVERY * EVERY  # a matmul, directly after a collective
    bad, calls, collectives, found, parts = False, {}, 0, None, []
    world = list(range(count))
    for i in range(records):
        taken = bad
        if i % EVERY == EVERY - 1:
            collectives += 1
            everybody = collectives % WORLD_EVERY == 0
            group = world if everybody else [rank // 2 * 2, rank // 2 * 2 + 1]
            bad = bad or (i > half and (everybody or origin in group))
            parts.append(pieces.reduce(collectives - 1, group, taken, bad))
            continue
        api = APIS[i % len(APIS)]
        call = calls[api] = calls.get(api, -1) + 1
        if rank == origin and i >= half and not bad and api == APIS[0]:
            bad, found = True, f"rank {rank} {api}#{call}"
        parts.append(pieces.compute(api, call, taken, bad))
    head = '{\n "task": "statistics",\n "level": "L1",\n "framework": "pytorch",\n "dump_data_dir": null,\n "data": {\n'
    return head + ",\n".join(parts) + "\n }\n}", found


def write(folder, count, records, origin):
    pieces, truth = Pieces(), None
    for rank in range(count):
        place = os.path.join(folder, "step0", f"rank{rank}")
        os.makedirs(place)
        dump, found = rank_text(pieces, rank, count, records, origin)
        truth = found or truth
        with open(os.path.join(place, "dump.json"), "w") as file:
            file.write(dump)
        for name in ("stack", "construct"):  # msprobe looks for them
            with open(os.path.join(place, name + ".json"), "w") as file:
                file.write("{}")
    with open(os.path.join(folder, "origin"), "w") as file:
        file.write(truth)
