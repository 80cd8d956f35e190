"""Small msprobe dumps written by hand: what a test wants to say of an operation, and nothing else."""
import json
import os

NAN, INF = float("nan"), float("inf")


def tensor(norm=4.0, most=1.5, least=-1.5, mean=0.25, dtype="float32", shape=(4, 8), **more):
    """A tensor's entry; None is a statistic that was not computed."""
    return {"type": "torch.Tensor", "dtype": f"torch.{dtype}", "shape": list(shape), "Max": most, "Min": least,
            "Mean": mean, "Norm": norm, "requires_grad": False, **more}


def hashed(digits, shape=(4, 8)):
    return {"type": "torch.Tensor", "dtype": "torch.float32", "shape": list(shape), "md5": digits}


def number(value):
    return {"type": type(value).__name__, "value": value}


def op(inputs, outputs, **more):
    return {"input_args": inputs, "input_kwargs": {}, "output": outputs, **more}


def chain(outputs, first=None, api="Functional.relu"):
    """Operations that each take what the one before made."""
    data, given = {}, first or tensor(norm=1.0)
    for i, made in enumerate(outputs):
        data[f"{api}.{i}.forward"] = op([given], [made])
        given = made
    return data


def write(folder, data, step=0, rank="rank0", task="statistics", construct=None, framework="pytorch", **more):
    """folder/step/rank/dump.json; the folder."""
    place = os.path.join(folder, f"step{step}", rank)
    os.makedirs(place, exist_ok=True)
    top = {"task": task, "level": "L1", "framework": framework, "dump_data_dir": None, **more, "data": data}
    if framework is None:
        del top["framework"]
    with open(os.path.join(place, "dump.json"), "w") as file:
        json.dump(top, file, indent=1)
    if construct is not None:
        with open(os.path.join(place, "construct.json"), "w") as file:
            json.dump(construct, file, indent=1)
    return folder
