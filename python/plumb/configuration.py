"""What a process was started with: command line, environment, versions, commit. Once a run."""
import os
import platform
import shlex
import sys
import warnings

# What changes the numbers or the speed of a training; the rest of the environment is nobody's business.
PREFIXES = ("CUDA_", "NCCL_", "TORCH", "PYTORCH_", "OMP_", "MKL_", "KMP_", "GLOO_", "HCCL_", "ASCEND_", "MS_", "GLOG_",
            "MINDSPORE", "SLURM_", "OMPI_COMM_", "PMI_", "OPENBLAS_", "ACCELERATE_", "FSDP_", "XLA_", "CUBLAS_", "PYTHON",
            "LD_", "HF_", "TOKENIZERS_", "RANK", "LOCAL_", "WORLD_SIZE", "MASTER_", "GROUP_", "ROLE_", "NPU_")
SECRETS = ("TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "AUTH", "APIKEY", "API_KEY", "ACCESS_KEY", "PRIVATE")


def command_line():
    words = getattr(sys, "orig_argv", None) or [sys.executable, *sys.argv]
    return shlex.join(words)


def of_process():
    """(key, value) pairs; values are what JSON can say."""
    yield "process.arguments", list(sys.argv)
    yield "process.directory", os.getcwd()
    yield "process.python", platform.python_version()
    yield "process.host", platform.node()
    yield "process.threads", os.cpu_count()
    parsed = getattr(sys.modules.get("argparse"), "plumb_parsed_arguments", None)  # see _site/sitecustomize.py
    if parsed is not None:
        for name, value in vars(parsed).items():
            yield f"arguments.{name}", value
    for name, value in sorted(os.environ.items()):
        if name.startswith(PREFIXES) and not any(word in name.upper() for word in SECRETS):
            yield f"environment.{name}", value
    for name, value in sorted(versions().items()):
        yield f"version.{name}", value
    commit = git_commit(os.path.dirname(os.path.abspath(sys.argv[0])) if sys.argv and sys.argv[0] else os.getcwd())
    if commit:
        yield "git.commit", commit


def versions():
    """Of every package that is imported and says it."""
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some do not like to be asked
        for name, module in list(sys.modules.items()):
            if "." in name or name.startswith("_") or name in sys.stdlib_module_names:
                continue
            version = getattr(module, "__version__", None)
            if isinstance(version, str):
                found[name] = str(version)
    return found


def git_commit(folder):
    """The commit that is checked out, read from .git: starting git would cost more than all the rest."""
    try:
        while not os.path.exists(os.path.join(folder, ".git")):
            parent = os.path.dirname(folder)
            if parent == folder:
                return None
            folder = parent
        git = os.path.join(folder, ".git")
        if os.path.isfile(git):  # a worktree: "gitdir: PATH"
            git = os.path.join(folder, _read(git).split(":", 1)[1].strip())
        head = _read(os.path.join(git, "HEAD"))
        if not head.startswith("ref:"):
            return head
        reference = head.split(":", 1)[1].strip()
        common = os.path.join(git, "commondir")
        if os.path.exists(common):
            git = os.path.normpath(os.path.join(git, _read(common)))
        if os.path.exists(os.path.join(git, reference)):
            return _read(os.path.join(git, reference))
        for line in _read(os.path.join(git, "packed-refs")).splitlines():
            if line.endswith(" " + reference):
                return line.split(" ", 1)[0]
    except (OSError, IndexError, UnicodeDecodeError):
        pass
    return None


def _read(path):
    with open(path, encoding="utf-8") as file:
        return file.read().strip()
