"""How each layer is set: the share that dropout drops, eps, momentum. Once a run, an entry for each.

In the framework's own words, Dropout(p=0.1), with the settings that change what is computed and that it leaves out (MindSpore's
epsilon, the number of heads). A comparison says which differ, and reads them out of the words of two frameworks.
"""
import re

LONGEST = 200
NAMES = ("eps", "epsilon", "momentum", "p", "keep_prob", "approximate", "affine", "elementwise_affine",
         "track_running_stats", "use_batch_statistics", "stride", "dilation", "groups", "group",
         "padding_idx", "negative_slope", "alpha", "num_heads", "batch_first", "ceil_mode")


def describe(framework, name, kind, module, representation):
    """(key, words) pairs. `kind` is the name of its class, `representation` makes what the framework prints between the brackets."""
    try:
        words = re.sub(" at 0x[0-9a-f]+", "", representation())[:LONGEST]  # addresses are different in every process
    except Exception:  # pylint: disable=broad-except  # the user's own class may need what is not there yet
        words = ""
    words = ", ".join([words] * bool(words) + left_out(module, words))
    if words or not module.training:
        mode = "" if module.training else ", not training"
        yield f"{framework}.module:{name}", f"{kind}({words}){mode}"


def left_out(module, words):
    """"eps=1e-05" for each setting that the module has and the words do not."""
    named = set(re.findall(r"(\w+)=", words))
    return [f"{name}={vars(module)[name]}" for name in NAMES
            if name in vars(module) and name not in named and is_plain(vars(module)[name])]


def is_plain(value):
    return isinstance(value, (bool, int, float, str)) or isinstance(value, (list, tuple)) and all(
        isinstance(item, (bool, int, float)) for item in value)
