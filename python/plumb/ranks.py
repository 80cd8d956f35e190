"""Which process of the job this is, as the usual launchers say it."""
import os

PAIRS = (
    ("RANK", "WORLD_SIZE"),  # torchrun, accelerate, deepspeed
    ("RANK_ID", "RANK_SIZE"),  # mindspore on Ascend
    ("MS_NODE_ID", "MS_WORKER_NUM"),  # msrun
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),  # MPICH, Intel MPI
    ("MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"),
    ("SLURM_PROCID", "SLURM_NTASKS"),
)


def from_environment():
    """(rank, world size); (0, 1) if nothing says otherwise."""
    for rank_name, size_name in PAIRS:
        rank, size = os.environ.get(rank_name, ""), os.environ.get(size_name, "")
        if rank.isdigit() and size.isdigit() and int(rank) < int(size):
            return int(rank), int(size)
    return 0, 1
