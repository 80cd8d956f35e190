# Plumb's build. `make help` lists what to ask for.
#
# Sources are found by wildcard: a new file needs no line here. There are four object
# trees under build/: obj (what is shipped), san (the same with AddressSanitizer and
# UndefinedBehaviorSanitizer, for tests), fuzz (clang with libFuzzer) and clang (only to see
# that the second compiler is content as well).

ifeq ($(origin CC),default)
CC := gcc
endif
CLANG ?= clang
PREFIX ?= /usr/local
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
SECONDS ?= 600
B := build

VERSION := $(shell sed -n 's/^\#define PLUMB_VERSION "\(.*\)"/\1/p' include/plumb.h)
SOVERSION := $(firstword $(subst ., ,$(VERSION)))

# ---- what it is built from ------------------------------------------------------------

CLI_SRC := $(sort $(wildcard src/cli/*.c))
LIB_SRC := $(sort $(filter-out $(CLI_SRC),$(wildcard src/*/*.c)))
# The lab starts its ranks itself; lab-mpi takes those that mpirun started.
LAB_SRC := $(sort $(filter-out lab/ranks_mpi.c,$(wildcard lab/*.c)))
LAB_MPI_SRC := $(filter-out lab/ranks.c,$(LAB_SRC)) lab/ranks_mpi.c
LAB_TEST_SRC := $(sort $(wildcard tests/lab/test_*.c))
TEST_SRC := $(sort $(wildcard tests/unit/test_*.c tests/kernel/test_*.c))
PROPERTY_SRC := $(sort $(wildcard tests/property/test_*.c))
TORTURE_SRC := $(sort $(wildcard tests/torture/test_*.c))
PROGRAM_SRC := $(sort $(wildcard examples/c/*.c bench/*.c tests/golden/*.c))
PYTHON_SRC := $(sort $(wildcard python/src/*.c))
C_FILES := $(sort $(wildcard include/*.h src/*/*.[ch] lab/*.[ch] python/src/*.[ch] tests/*/*.[ch] \
    bench/*.[ch] examples/*/*.[ch]))

LIB_OBJ := $(LIB_SRC:%.c=$(B)/obj/%.o)
CLI_OBJ := $(CLI_SRC:%.c=$(B)/obj/%.o)
LAB_OBJ := $(LAB_SRC:%.c=$(B)/obj/%.o)
LAB_MPI_OBJ := $(LAB_MPI_SRC:%.c=$(B)/obj/%.o)
PYTHON_OBJ := $(PYTHON_SRC:%.c=$(B)/obj/%.o)
SAN_LIB_OBJ := $(LIB_SRC:%.c=$(B)/san/%.o)
SAN_CLI_OBJ := $(CLI_SRC:%.c=$(B)/san/%.o)
FUZZ_LIB_OBJ := $(LIB_SRC:%.c=$(B)/fuzz/%.o)
UNIT_BIN := $(TEST_SRC:%.c=$(B)/san/%)
PROPERTY_BIN := $(PROPERTY_SRC:%.c=$(B)/san/%)
TORTURE_BIN := $(TORTURE_SRC:%.c=$(B)/san/%)
LAB_BIN := $(LAB_TEST_SRC:%.c=$(B)/san/%)
# What the gradient check needs of the lab, in double: no processes, no threads, no recording.
LAB_MODEL_OBJ := $(patsubst %.c,$(B)/double/%.o,$(wildcard lab/op_*.c lab/net*.c) lab/build.c \
    lab/matmul.c lab/precision.c lab/random.c lab/trouble.c)
CLANG_OBJ = $(patsubst %.c,$(B)/clang/%.o,$(LIB_SRC) $(CLI_SRC) $(LAB_SRC) $(TEST_SRC) \
    $(LAB_TEST_SRC) $(PROPERTY_SRC) $(if $(MPI_PACKAGE),lab/ranks_mpi.c) \
    $(TORTURE_SRC) $(PROGRAM_SRC) $(PYTHON_SRC) $(wildcard tests/fuzz/*.c))

# A tree without a command line still gives the library.
PLUMB := $(if $(wildcard src/cli/main.c),$(B)/plumb)
SAN_PLUMB := $(if $(wildcard src/cli/main.c),$(B)/san/plumb)

# ---- how ------------------------------------------------------------------------------

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
FUZZ_FLAGS = $(LANGUAGE) -Itests -O1 -g -fsanitize=fuzzer-no-link,address,undefined \
    -fno-sanitize-recover=all
CLANG_FLAGS = $(LANGUAGE) -Itests $(WARNINGS) -Werror -O1

# ---- the product ----------------------------------------------------------------------

.DEFAULT_GOAL := all
.PHONY: all
all: $(PLUMB) $(B)/lab $(B)/libplumb.a $(B)/libplumb.so ## build plumb, lab and libplumb.{a,so} in build/

$(B)/plumb: $(CLI_OBJ) $(B)/libplumb.a
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

# The lab sees plumb.h only; its loops are worth the compiler's trouble.
$(LAB_OBJ) $(LAB_MPI_OBJ): LANGUAGE := $(filter-out -Isrc,$(LANGUAGE))
$(LAB_OBJ) $(LAB_MPI_OBJ): CFLAGS += -O3
$(B)/lab: $(LAB_OBJ) $(B)/libplumb.a
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

$(B)/obj/lab/ranks_mpi.o $(B)/clang/lab/ranks_mpi.o: LANGUAGE += $(MPI_CFLAGS)
ifneq ($(MPI_PACKAGE),)
$(B)/lab-mpi: $(LAB_MPI_OBJ) $(B)/libplumb.a
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(MPI_LIBS) $(LIBS)
else
$(B)/lab-mpi:
	@echo "lab-mpi: pkg-config finds no MPI; install libopenmpi-dev and openmpi-bin" >&2; exit 2
endif

$(B)/libplumb.a: $(LIB_OBJ)
	@rm -f $@
	$(AR) rcs $@ $^

$(B)/libplumb.so: $(LIB_OBJ)
	$(CC) $(CFLAGS) $(LDFLAGS) -shared -Wl,-soname,libplumb.so.$(SOVERSION) -Wl,-z,defs \
	    -o $@ $^ $(LIBS)

$(B)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(RELEASE_FLAGS) -MMD -MP -c -o $@ $<

# Programs that see only plumb.h: examples, benchmarks and the maker of fixtures.
$(B)/bin/%: %.c $(B)/libplumb.a
	@mkdir -p $(@D)
	$(CC) $(filter-out -Isrc,$(RELEASE_FLAGS)) -MMD -MP -MF $@.d -o $@ $< $(B)/libplumb.a $(LIBS)

# ---- the Python package -----------------------------------------------------------------

# Whose headers are used matters little: the limited API is the same for all from 3.10 on.
PYTHON ?= $(if $(wildcard $(B)/venv/bin/python),$(B)/venv/bin/python,python3)
PYTHON_INCLUDE = $(shell $(PYTHON) -c 'import sysconfig; print(sysconfig.get_paths()["include"])')
EXTENSION := python/plumb/_plumb.abi3.so

.PHONY: python wheel
python: $(EXTENSION) $(PLUMB) ## the Python extension, in place: PYTHONPATH=python

# What `plumb run` needs, wherever it can be built.
all: $(if $(wildcard $(PYTHON_INCLUDE)/Python.h),$(EXTENSION))

wheel: ## build/wheel/plumb_train-*.whl
	$(PYTHON) -m pip wheel --quiet --no-deps --wheel-dir $(B)/wheel .

$(PYTHON_OBJ) $(B)/clang/python/%.o: LANGUAGE := $(filter-out -Isrc,$(LANGUAGE)) \
    -isystem $(PYTHON_INCLUDE)
# CPython hands functions around as object pointers, which ISO C does not know.
$(PYTHON_OBJ) $(B)/clang/python/%.o: WARNINGS := $(filter-out -Wpedantic,$(WARNINGS))
# Only the module's own entry is visible; SQLite drops out, because nothing here refers to it.
$(EXTENSION): $(PYTHON_OBJ) $(B)/libplumb.a
	$(CC) $(CFLAGS) $(LDFLAGS) -shared -Wl,--exclude-libs,ALL -Wl,--as-needed \
	    -o $@.new $^ $(LIBS) -ldl
	@mv $@.new $@

# ---- objects for tests ----------------------------------------------------------------

$(B)/san/libplumb.a: $(SAN_LIB_OBJ)
	@rm -f $@
	$(AR) rcs $@ $^

$(B)/san/plumb: $(SAN_CLI_OBJ) $(B)/san/libplumb.a
	$(CC) $(SAN) -o $@ $^ $(LIBS)

$(B)/san/bin/lab: $(LAB_SRC:%.c=$(B)/san/%.o) $(B)/san/libplumb.a
	@mkdir -p $(@D)
	$(CC) $(SAN) -o $@ $^ $(LIBS)

$(B)/san/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(SAN_FLAGS) -MMD -MP -c -o $@ $<

$(UNIT_BIN) $(PROPERTY_BIN) $(TORTURE_BIN): $(B)/san/%: $(B)/san/%.o $(B)/san/libplumb.a
	$(CC) $(SAN) -o $@ $^ -lcmocka $(LIBS)

$(B)/double/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(filter-out -Isrc,$(SAN_FLAGS)) -DLAB_REAL_IS_DOUBLE -MMD -MP -c -o $@ $<

# Tests of the lab: the gradient check is linked with the model in double, the others run build/lab.
$(B)/san/tests/lab/%.o $(B)/clang/tests/lab/%.o: LANGUAGE += -Ilab -DLAB_REAL_IS_DOUBLE
$(LAB_BIN): $(B)/san/%: $(B)/san/%.o $(LAB_MODEL_OBJ) $(B)/san/libplumb.a
	$(CC) $(SAN) -o $@ $^ -lcmocka $(LIBS)

# clang's NAN and INFINITY are floats, which makes every table of doubles in a test a promotion.
$(B)/clang/tests/%.o: CLANG_FLAGS += -Wno-double-promotion
$(B)/clang/%.o: %.c
	@mkdir -p $(@D)
	$(CLANG) $(CLANG_FLAGS) -MMD -MP -c -o $@ $<

$(B)/fuzz/%.o: %.c
	@mkdir -p $(@D)
	$(CLANG) $(FUZZ_FLAGS) -MMD -MP -c -o $@ $<

$(B)/fuzz/libplumb.a: $(FUZZ_LIB_OBJ)
	@rm -f $@
	$(AR) rcs $@ $^

.SECONDARY:
-include $(shell find $(B) -name '*.d' 2>/dev/null)

# ---- set-up ---------------------------------------------------------------------------

.PHONY: setup setup-test
setup: ## install what building needs (Debian packages; root or sudo)
	@scripts/setup-packages.sh build

setup-test: ## also what tests and benchmarks need (frameworks in a virtual environment)
	@scripts/setup-packages.sh build test
	@scripts/setup-venv.sh

# ---- the main jobs --------------------------------------------------------------------

# The second make sees what the set-up has just installed.
.PHONY: demo test check
demo: setup ## find a planted difference between checkpoints, and where a run went wrong
	@$(MAKE) --no-print-directory -s -j$(JOBS) all $(B)/bin/examples/c/make_checkpoints
	@scripts/demo.sh

FAST_SUITES := style warnings unit golden docs property torture corpus run-corpus records-corpus
FULL_SUITES := $(FAST_SUITES) lab-test tsan zlib examples install-test interop capture crossframework

check: ## the fast loop: style, warnings, sanitized tests; no frameworks
	@scripts/run-suites.sh $(FAST_SUITES)

test: setup-test ## everything; ends with one line "N passed, M failed"
	@$(MAKE) --no-print-directory -s run-tests

.PHONY: run-tests
run-tests:
	@scripts/run-suites.sh $(FULL_SUITES)

# ---- the suites; each ends with "N passed, M failed" -----------------------------------

# .PHONY matters for docs, which is also a folder.
.PHONY: style warnings unit golden docs golden-update property torture zlib corpus
style: $(B)/libplumb.a $(B)/libplumb.so ## format, layers, banned functions, symbols, lengths
	@scripts/check-style.sh

warnings: $(CLANG_OBJ) ## all C files through clang with -Werror (gcc: the sanitized build)
	@echo "$(words $(CLANG_OBJ)) passed, 0 failed"

unit: $(UNIT_BIN) ## unit and kernel tests under sanitizers
	@scripts/run-programs.sh $(UNIT_BIN)

$(B)/fixtures/.made: $(B)/bin/tests/golden/make_fixtures
	@rm -rf $(@D)
	@mkdir -p $(@D)
	$< $(@D)
	@touch $@

golden: $(SAN_PLUMB) $(B)/lab $(B)/fixtures/.made ## the command line against recorded output
	@scripts/golden.sh

docs: $(SAN_PLUMB) $(B)/fixtures/.made ## the commands in docs/ print what the pages say
	@scripts/check-docs.sh

golden-update: $(SAN_PLUMB) $(B)/lab $(B)/fixtures/.made ## record both anew and show what changed
	@scripts/golden.sh --update
	@scripts/check-docs.sh --update
	@git --no-pager diff -- tests/golden docs

property: $(PROPERTY_BIN) $(B)/fixtures/.made ## damaged and hostile files
	@scripts/run-programs.sh $(PROPERTY_BIN)

torture: $(TORTURE_BIN) $(B)/fixtures/.made ## every allocation fails once
	@scripts/run-programs.sh $(TORTURE_BIN)

lab-test: $(LAB_BIN) $(PLUMB) $(B)/lab $(B)/san/bin/lab $(if $(MPI_PACKAGE),$(B)/lab-mpi) ## gradients, learning, ranks, precision and every fault of the lab
	@scripts/run-programs.sh $(LAB_BIN)

.PHONY: lab-test diff-matrix
diff-matrix: $(B)/san/tests/lab/test_run_diff $(B)/lab ## every fault, five seeds, and a hundred healthy pairs: what plumb diff misses
	@PLUMB_MATRIX=1 TMPDIR=$${TMPDIR:-/tmp} $<

# The recorder and the reader with ThreadSanitizer: what several threads record at once.
TSAN_BIN := $(patsubst %,$(B)/tsan/tests/unit/test_%,recorder run threads)
TSAN_FLAGS = $(LANGUAGE) -Itests -O1 -g -fsanitize=thread
$(B)/tsan/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(TSAN_FLAGS) -MMD -MP -c -o $@ $<

$(B)/tsan/libplumb.a: $(LIB_SRC:%.c=$(B)/tsan/%.o)
	@rm -f $@
	$(AR) rcs $@ $^

$(TSAN_BIN): $(B)/tsan/%: $(B)/tsan/%.o $(B)/tsan/libplumb.a
	$(CC) -fsanitize=thread -o $@ $^ -lcmocka $(LIBS)

.PHONY: tsan
tsan: $(TSAN_BIN) ## the recorder under ThreadSanitizer
	@scripts/run-programs.sh $(TSAN_BIN)

ZLIB_TESTS := $(patsubst %,$(B)/zlib/san/tests/unit/test_%,crc32 inflate zip npz)
zlib: ## the same archives with zlib instead of ISA-L
	@$(MAKE) --no-print-directory -s B=$(B)/zlib HAVE_ISAL=0 $(ZLIB_TESTS)
	@scripts/run-programs.sh $(ZLIB_TESTS)

CORPUS := tests/fuzz/corpus tests/interop $(B)/fixtures
$(B)/san/replay_corpus: $(B)/san/tests/fuzz/replay_corpus.o $(B)/san/tests/fuzz/fuzz_formats.o \
    $(B)/san/libplumb.a
	$(CC) $(SAN) -o $@ $^ $(LIBS)

corpus: $(B)/san/replay_corpus $(B)/fixtures/.made ## what the fuzzer found, once more
	@$< $(CORPUS)

RUN_CORPUS := tests/fuzz/run_corpus $(B)/fixtures/run $(B)/fixtures/saved
$(B)/san/replay_%: $(B)/san/tests/fuzz/replay_corpus.o $(B)/san/tests/fuzz/fuzz_%.o \
    $(B)/san/libplumb.a
	$(CC) $(SAN) -o $@ $^ $(LIBS)

.PHONY: run-corpus records-corpus
run-corpus: $(B)/san/replay_run $(B)/fixtures/.made ## the same of a run's own files
	@$< $(RUN_CORPUS)

records-corpus: $(B)/san/replay_records ## the same of logs and dumps of other tools
	@$< tests/fuzz/records_corpus

.PHONY: fuzz examples install-test interop bench
$(B)/fuzz/fuzz_%: $(B)/fuzz/tests/fuzz/fuzz_%.o $(B)/fuzz/libplumb.a
	$(CLANG) -fsanitize=fuzzer,address,undefined -o $@ $^ $(LIBS)

FUZZ = -max_total_time=$(SECONDS) -timeout=20 -rss_limit_mb=4096 -print_final_stats=1
.PHONY: fuzz-formats fuzz-run fuzz-records
fuzz: ## libFuzzer for SECONDS (600) on each target
	@$(MAKE) --no-print-directory fuzz-formats
	@$(MAKE) --no-print-directory fuzz-run
	@$(MAKE) --no-print-directory fuzz-records

fuzz-formats: $(B)/fuzz/fuzz_formats $(B)/fixtures/.made ## libFuzzer on tensor files
	@mkdir -p $(B)/fuzz/corpus $(B)/fuzz/found
	$< $(FUZZ) -max_len=16384 -artifact_prefix=$(B)/fuzz/found/ $(B)/fuzz/corpus \
	    $(wildcard tests/fuzz/corpus tests/interop/*/) $(B)/fixtures $(B)/fixtures/small

fuzz-run: $(B)/fuzz/fuzz_run $(B)/fixtures/.made ## libFuzzer on a run's own files
	@mkdir -p $(B)/fuzz/corpus-run $(B)/fuzz/found
	$< $(FUZZ) -max_len=65536 -artifact_prefix=$(B)/fuzz/found/run- $(B)/fuzz/corpus-run \
	    tests/fuzz/run_corpus $(B)/fixtures/run $(B)/fixtures/run/rank0000

fuzz-records: $(B)/fuzz/fuzz_records ## libFuzzer on logs and dumps of other tools
	@mkdir -p $(B)/fuzz/corpus-records $(B)/fuzz/found
	$< $(FUZZ) -max_len=8192 -artifact_prefix=$(B)/fuzz/found/records- \
	    $(B)/fuzz/corpus-records tests/fuzz/records_corpus

examples: all $(PROGRAM_SRC:%.c=$(B)/bin/%) ## compile the examples, run the demo
	@scripts/check-examples.sh

install-test: all $(B)/fixtures/.made ## install to a temporary place, build against it
	@scripts/check-install.sh

interop: all $(B)/fixtures/.made ## against torch, mindspore, numpy, safetensors and onnx
	@$(B)/venv/bin/python tests/python/run.py

.PHONY: capture crossframework
crossframework: all python ## plumb diff of the same networks in torch and MindSpore
	@$(B)/venv/bin/python tests/python/run.py --in crossframework

capture: all python ## plumb run and the Python package, with torch and mindspore
	@$(B)/venv/bin/python tests/python/run.py --in capture

# Not part of `make test`: it fetches another torch (4 GB).
.PHONY: test-old-torch
test-old-torch: all python ## the capture with a torch two years older, in an environment of its own
	@scripts/setup-venv.sh tests/requirements-old-torch.txt
	@$(B)/venv-old-torch/bin/python tests/python/run.py --in capture test_bits test_modules test_torch_ops \
	    test_reference test_compat test_measure test_untouched

bench: all python $(B)/bin/bench/record ## ratios against cat, numpy, torch and mindspore, measured now
	@scripts/setup-packages.sh build test
	@scripts/setup-venv.sh
	@$(B)/venv/bin/python bench/run.py
	@bench/record.sh
	@$(B)/venv/bin/python bench/capture.py
	@$(B)/venv/bin/python bench/capture_mindspore.py
	@$(B)/venv/bin/python bench/capture_rivals.py
	@$(B)/venv/bin/python bench/dumps.py

# ---- installation ---------------------------------------------------------------------

.PHONY: install
install: all ## binary, library, header, pkg-config file, Python package, man pages, completions
	@[ ! -f '$(PYTHON_INCLUDE)/Python.h' ] || $(MAKE) --no-print-directory python
	PREFIX='$(PREFIX)' DESTDIR='$(DESTDIR)' VERSION='$(VERSION)' SOVERSION='$(SOVERSION)' \
	    LIBS='$(LIBS)' PYTHON_HEADER='$(PYTHON_INCLUDE)/Python.h' scripts/install.sh

# ---- care -----------------------------------------------------------------------------

.PHONY: format format-check lint clean help
format: ## rewrite all C files in the project's format
	clang-format -i $(C_FILES)

format-check: ## see whether they are
	@clang-format --dry-run -Werror $(C_FILES)

lint: ## clang-tidy at zero warnings
	clang-tidy --quiet $(LIB_SRC) $(CLI_SRC) -- $(LANGUAGE)

clean: ## remove build/
	rm -rf $(B) $(EXTENSION)

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
