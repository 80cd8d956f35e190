# Compilers, libraries and flags.

ifeq ($(origin CC),default)
CC := gcc
endif
CLANG ?= clang

# ISA-L inflates and checks three times as fast; zlib does the same where it is missing.
HAVE_ISAL := $(shell pkg-config --exists libisal 2>/dev/null && echo 1)
ifeq ($(HAVE_ISAL),1)
DEPS_CFLAGS := -DHAVE_ISAL=1 $(shell pkg-config --cflags libisal)
DEPS_LIBS := $(shell pkg-config --libs libisal)
else
DEPS_CFLAGS := -DHAVE_ISAL=0
DEPS_LIBS := -lz
endif

# SQLite is for `plumb export --sqlite` alone.
HAVE_SQLITE := $(shell pkg-config --exists sqlite3 2>/dev/null && echo 1)
ifeq ($(HAVE_SQLITE),1)
DEPS_CFLAGS += -DHAVE_SQLITE=1 $(shell pkg-config --cflags sqlite3)
DEPS_LIBS += $(shell pkg-config --libs sqlite3)
else
DEPS_CFLAGS += -DHAVE_SQLITE=0
endif

# MPI is for build/lab-mpi alone: Open MPI, or MPICH. Its headers are not held to our warnings.
MPI_PACKAGE := $(firstword $(foreach name,ompi-c mpich,\
    $(shell pkg-config --exists $(name) 2>/dev/null && echo $(name))))
MPI_CFLAGS := $(if $(MPI_PACKAGE),$(patsubst -I%,-isystem %,$(shell pkg-config --cflags $(MPI_PACKAGE))))
MPI_LIBS := $(if $(MPI_PACKAGE),$(shell pkg-config --libs $(MPI_PACKAGE)))

WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
    -Wold-style-definition -Wpointer-arith -Wcast-qual -Wcast-align -Wwrite-strings -Wundef \
    -Wvla -Wformat=2 -Wswitch-enum -Wdouble-promotion -Wconversion -Wimplicit-fallthrough
GCC_WARNINGS := -Wlogical-op -Wduplicated-cond -Wduplicated-branches
IS_GCC := $(findstring gcc,$(notdir $(CC)))
LANGUAGE := -std=c11 -D_GNU_SOURCE -Iinclude -Isrc -pthread -ffp-contract=off -fno-common \
    -fvisibility=hidden $(DEPS_CFLAGS)
CFLAGS ?= -O2 -g
WERROR := $(if $(CI)$(DEVELOPER),-Werror)
LIBS := $(DEPS_LIBS) -lm -pthread

RELEASE_FLAGS = $(LANGUAGE) -fPIC $(WARNINGS) $(if $(IS_GCC),$(GCC_WARNINGS)) $(WERROR) \
    $(CPPFLAGS) $(CFLAGS)
SAN := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
SAN_FLAGS = $(LANGUAGE) -Itests $(WARNINGS) $(if $(IS_GCC),$(GCC_WARNINGS)) -Werror -O1 -g $(SAN)
DOUBLE_FLAGS = $(filter-out -Isrc,$(SAN_FLAGS)) -Ilab -DLAB_REAL_IS_DOUBLE
TSAN := -fsanitize=thread
TSAN_FLAGS = $(LANGUAGE) -Itests -O1 -g $(TSAN)
FUZZ := -fsanitize=address,undefined
FUZZ_FLAGS = $(LANGUAGE) -Itests -O1 -g -fsanitize=fuzzer-no-link $(FUZZ) -fno-sanitize-recover=all
CLANG_FLAGS = $(LANGUAGE) -Itests $(WARNINGS) -Werror -O1

# Whose headers are used matters little: the limited API is the same for all from 3.10 on.
PYTHON ?= $(if $(wildcard $(B)/venv/bin/python),$(B)/venv/bin/python,python3)
PYTHON_INCLUDE := $(shell $(PYTHON) -c 'import sysconfig; print(sysconfig.get_paths()["include"])' 2>/dev/null)
