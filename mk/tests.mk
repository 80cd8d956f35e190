# The suites; each ends with "N passed, M failed".

SAN_PLUMB := $(if $(wildcard src/cli/main.c),$(B)/san/plumb)
UNIT_BIN := $(UNIT_SRC:%.c=$(B)/san/%)
PROPERTY_BIN := $(PROPERTY_SRC:%.c=$(B)/san/%)
TORTURE_BIN := $(TORTURE_SRC:%.c=$(B)/san/%)
LAB_BIN := $(LAB_TEST_SRC:%.c=$(B)/san/%)
CLANG_OBJ := $(patsubst %.c,$(B)/clang/%.o,$(LIB_SRC) $(CLI_SRC) $(LAB_SRC) $(PYTHON_SRC) $(PROGRAM_SRC) \
    $(UNIT_SRC) $(PROPERTY_SRC) $(TORTURE_SRC) $(LAB_TEST_SRC) $(FUZZ_SRC) \
    $(if $(MPI_PACKAGE),$(LAB_MPI_ONLY)))

# ---- programs -------------------------------------------------------------------------

$(B)/san/plumb: $(CLI_SRC:%.c=$(B)/san/%.o) $(B)/san/libplumb.a
	$(CC) $(SAN) -o $@ $^ $(LIBS)

$(B)/san/bin/lab: $(LAB_SRC:%.c=$(B)/san/%.o) $(B)/san/libplumb.a
	@mkdir -p $(@D)
	$(CC) $(SAN) -o $@ $^ $(LIBS)

$(UNIT_BIN) $(PROPERTY_BIN) $(TORTURE_BIN): $(B)/san/%: $(B)/san/%.o $(B)/san/libplumb.a
	$(CC) $(SAN) -o $@ $^ -lcmocka $(LIBS)

$(LAB_BIN): $(B)/san/%: $(B)/san/%.o $(LAB_MODEL_SRC:%.c=$(B)/double/%.o) $(B)/san/libplumb.a
	$(CC) $(SAN) -o $@ $^ -lcmocka $(LIBS)

$(B)/fixtures/.made: $(B)/bin/tests/golden/make_fixtures
	@rm -rf $(@D)
	@mkdir -p $(@D)
	$< $(@D)
	@touch $@

# ---- without frameworks ---------------------------------------------------------------

# .PHONY matters for docs, which is also a folder.
.PHONY: style warnings unit golden docs golden-update property torture zlib
style: $(B)/libplumb.a $(B)/libplumb.so ## format, layers, banned functions, symbols, lengths
	@scripts/check-style.sh

warnings: $(CLANG_OBJ) ## all C files through clang with -Werror (gcc: the sanitized build)
	@echo "$(words $(CLANG_OBJ)) passed, 0 failed"

unit: $(UNIT_BIN) ## unit and kernel tests under sanitizers
	@scripts/run-programs.sh $(UNIT_BIN)

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

.PHONY: lab-test diff-matrix
lab-test: $(LAB_BIN) $(PLUMB) $(B)/lab $(B)/san/bin/lab $(if $(MPI_PACKAGE),$(B)/lab-mpi) ## gradients, learning, ranks, precision and every fault of the lab
	@scripts/run-programs.sh $(LAB_BIN)

diff-matrix: $(B)/san/tests/lab/test_run_diff $(B)/lab ## every fault, five seeds, and a hundred healthy pairs: what plumb diff misses
	@PLUMB_MATRIX=1 TMPDIR=$${TMPDIR:-/tmp} $<

# The recorder and the reader with ThreadSanitizer: what several threads record at once.
TSAN_BIN := $(patsubst %,$(B)/tsan/tests/unit/test_%,recorder run threads)
$(TSAN_BIN): $(B)/tsan/%: $(B)/tsan/%.o $(B)/tsan/libplumb.a
	$(CC) $(TSAN) -o $@ $^ -lcmocka $(LIBS)

.PHONY: tsan
tsan: $(TSAN_BIN) ## the recorder under ThreadSanitizer
	@scripts/run-programs.sh $(TSAN_BIN)

ZLIB_TESTS := $(patsubst %,$(B)/zlib/san/tests/unit/test_%,crc32 inflate zip npz)
zlib: ## the same archives with zlib instead of ISA-L
	@$(MAKE) --no-print-directory -s B=$(B)/zlib HAVE_ISAL=0 $(ZLIB_TESTS)
	@scripts/run-programs.sh $(ZLIB_TESTS)

.PHONY: examples install-test
examples: all $(PROGRAM_SRC:%.c=$(B)/bin/%) ## compile the examples, run the demo
	@scripts/check-examples.sh

install-test: all $(B)/fixtures/.made ## install to a temporary place, build against it
	@scripts/check-install.sh

# ---- with frameworks ------------------------------------------------------------------

.PHONY: interop capture crossframework test-old-torch
interop: all $(B)/fixtures/.made ## against torch, mindspore, numpy, safetensors and onnx
	@$(B)/venv/bin/python tests/python/run.py

crossframework: all python ## plumb diff of the same networks in torch and MindSpore
	@$(B)/venv/bin/python tests/python/run.py --in crossframework

capture: all python ## plumb run and the Python package, with torch and mindspore
	@$(B)/venv/bin/python tests/python/run.py --in capture

# Not part of `make test`: it fetches another torch (4 GB).
test-old-torch: all python ## the capture with a torch two years older, in an environment of its own
	@scripts/setup-venv.sh tests/requirements-old-torch.txt
	@$(B)/venv-old-torch/bin/python tests/python/run.py --in capture test_bits test_modules test_torch_ops \
	    test_reference test_compat test_measure test_untouched
