"""Settings of single modules that change what they compute: eps, momentum, the share that dropout drops.

Once a run, by name of the module; a comparison with another run says which of them differ where the numbers do.
"""
NAMES = ("eps", "epsilon", "momentum", "p", "keep_prob", "approximate", "affine", "elementwise_affine",
         "track_running_stats", "use_batch_statistics", "training", "stride", "dilation", "groups", "group",
         "padding_idx", "negative_slope", "alpha", "num_heads", "batch_first", "ceil_mode")


def of_module(module):
    """{name: value} of those that the module has, as plain values."""
    found = {name: plain(getattr(module, name, None)) for name in NAMES if name in vars(module)}
    return {name: value for name, value in found.items() if value is not None}


def of_modules(named):
    """Of (name, module) pairs, those that have more to say than whether they are trained."""
    every = {name: of_module(module) for name, module in named}
    return {name: settings for name, settings in every.items() if set(settings) - {"training"}}


def plain(value):
    if isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)) and all(isinstance(item, (bool, int, float)) for item in value):
        return list(value)
    return None
