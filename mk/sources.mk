# What Plumb is built from. Sources are found at any depth: a new file, or a new folder, needs no
# line here.

# find_sources FOLDERS PATTERN: the files of that name, sorted, folders that are not there left out.
find_sources = $(sort $(shell find $(wildcard $(1)) -name '$(2)' -type f 2>/dev/null))

CLI_SRC := $(call find_sources,src/cli,*.c)
LIB_SRC := $(filter-out $(CLI_SRC),$(call find_sources,src,*.c))
# The lab starts its ranks itself; lab-mpi takes those that mpirun started.
LAB_MPI_ONLY := $(call find_sources,lab,ranks_mpi.c)
LAB_ALONE := $(call find_sources,lab,ranks.c)
LAB_SRC := $(filter-out $(LAB_MPI_ONLY),$(call find_sources,lab,*.c))
LAB_MPI_SRC := $(filter-out $(LAB_ALONE),$(LAB_SRC)) $(LAB_MPI_ONLY)
# What the gradient check needs of the lab, in double: no processes, no threads, no recording.
LAB_MODEL_SRC := $(call find_sources,lab,op_*.c) $(call find_sources,lab,net*.c) \
    $(foreach name,build matmul precision random trouble,$(call find_sources,lab,$(name).c))
PYTHON_SRC := $(call find_sources,python/src,*.c)

UNIT_SRC := $(call find_sources,tests/unit tests/kernel,test_*.c)
PROPERTY_SRC := $(call find_sources,tests/property,test_*.c)
TORTURE_SRC := $(call find_sources,tests/torture,test_*.c)
LAB_TEST_SRC := $(call find_sources,tests/lab,test_*.c)
FUZZ_SRC := $(call find_sources,tests/fuzz,*.c)
# Programs that see only plumb.h.
PROGRAM_SRC := $(call find_sources,examples bench tests/golden,*.c)

C_FILES := $(foreach kind,*.c *.h,$(call find_sources,include src lab python tests bench examples,$(kind)))
