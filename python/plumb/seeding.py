"""plumb.seed_all: every source of randomness that is there gets the same seed."""
import os
import random
import sys


def seed_all(seed, deterministic=True):
    """Seeds Python, numpy, torch and mindspore, those that are imported; deterministic=True also asks for
    algorithms that give the same bits each time (slower, and some operations have none)."""
    seed = int(seed)
    random.seed(seed)
    os.environ["PYTHONHASHSEED"] = str(seed)  # of child processes
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(seed % 2**32)
    if "torch" in sys.modules:
        _seed_torch(sys.modules["torch"], seed, deterministic)
    if "mindspore" in sys.modules:
        mindspore = sys.modules["mindspore"]
        mindspore.set_seed(seed)
        if deterministic:
            mindspore.set_deterministic(True)


def _seed_torch(torch, seed, deterministic):
    torch.manual_seed(seed)  # all devices
    if not deterministic:
        return
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.backends.cudnn.deterministic = True
    torch.backends.cudnn.benchmark = False
