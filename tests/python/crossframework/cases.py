"""What the networks in torch and in MindSpore share: sizes, weights, batches, steps.

Weights are dealt by name from one stream of random numbers, so that both sides start from the same bits without a file
between them. Names are torch's; the MindSpore side says which of its parameters each one is.
"""
import numpy as np

STEPS = 3
SEED = 20

SHAPES = {
    "mlp": {"first.weight": (32, 16), "first.bias": (32,), "second.weight": (32, 32), "second.bias": (32,),
            "head.weight": (5, 32), "head.bias": (5,)},
    "cnn": {"one.weight": (8, 1, 3, 3), "one.bias": (8,), "norm_one.weight": (8,), "norm_one.bias": (8,),
            "two.weight": (12, 8, 3, 3), "two.bias": (12,), "norm_two.weight": (12,), "norm_two.bias": (12,),
            "head.weight": (5, 192), "head.bias": (5,)},
    "block": {"words.weight": (20, 16), "places.weight": (6, 16), "before.weight": (16,), "before.bias": (16,),
              "attention.query.weight": (16, 16), "attention.query.bias": (16,), "attention.key.weight": (16, 16),
              "attention.key.bias": (16,), "attention.value.weight": (16, 16), "attention.value.bias": (16,),
              "attention.out.weight": (16, 16), "attention.out.bias": (16,), "between.weight": (16,),
              "between.bias": (16,), "widen.weight": (32, 16), "widen.bias": (32,), "narrow.weight": (16, 32),
              "narrow.bias": (16,), "head.weight": (20, 16), "head.bias": (20,)},
}


def weights(network):
    """{name: array}; gains of normalisations lie around 1, as they do after some training."""
    chance = np.random.default_rng(SEED)
    found = {}
    for name, shape in SHAPES[network].items():
        values = chance.standard_normal(shape).astype(np.float32)
        if len(shape) > 1:
            found[name] = (values / np.sqrt(np.prod(shape[1:]))).astype(np.float32)
        else:
            found[name] = (0.1 * values + (1 if is_gain(name) else 0)).astype(np.float32)
    return found


def is_gain(name):
    return name.endswith(".weight")


def batches(network, count=STEPS):
    """(inputs, labels) of each step."""
    chance = np.random.default_rng(SEED + 1)
    for _ in range(count):
        if network == "mlp":
            yield chance.standard_normal((8, 16)).astype(np.float32), chance.integers(0, 5, 8).astype(np.int32)
        elif network == "cnn":
            yield chance.standard_normal((8, 1, 8, 8)).astype(np.float32), chance.integers(0, 5, 8).astype(np.int32)
        else:
            yield chance.integers(0, 20, (4, 6)).astype(np.int32), chance.integers(0, 20, 24).astype(np.int32)
