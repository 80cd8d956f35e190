# What is shipped: the command, the libraries, the lab, the Python package.

# A tree without a command line still gives the library.
PLUMB := $(if $(wildcard src/cli/main.c),$(B)/plumb)
EXTENSION := python/plumb/_plumb.abi3.so

LIB_OBJ := $(LIB_SRC:%.c=$(B)/obj/%.o)
CLI_OBJ := $(CLI_SRC:%.c=$(B)/obj/%.o)
LAB_OBJ := $(LAB_SRC:%.c=$(B)/obj/%.o)
LAB_MPI_OBJ := $(LAB_MPI_SRC:%.c=$(B)/obj/%.o)
PYTHON_OBJ := $(PYTHON_SRC:%.c=$(B)/obj/%.o)

.PHONY: all python wheel
all: $(PLUMB) $(B)/lab $(B)/libplumb.a $(B)/libplumb.so ## build plumb, lab and libplumb.{a,so} in build/

$(B)/plumb: $(CLI_OBJ) $(B)/libplumb.a
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

$(B)/libplumb.so: $(LIB_OBJ)
	$(CC) $(CFLAGS) $(LDFLAGS) -shared -Wl,-soname,libplumb.so.$(SOVERSION) -Wl,-z,defs \
	    -o $@ $^ $(LIBS)

$(B)/lab: $(LAB_OBJ) $(B)/libplumb.a
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

ifneq ($(MPI_PACKAGE),)
$(B)/lab-mpi: $(LAB_MPI_OBJ) $(B)/libplumb.a
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(MPI_LIBS) $(LIBS)
else
$(B)/lab-mpi:
	@echo "lab-mpi: pkg-config finds no MPI; install libopenmpi-dev and openmpi-bin" >&2; exit 2
endif

# Programs that see only plumb.h: examples, benchmarks and the maker of fixtures.
$(B)/bin/%: %.c $(B)/libplumb.a
	@mkdir -p $(@D)
	$(CC) $(filter-out -Isrc,$(RELEASE_FLAGS)) -MMD -MP -MF $@.d -o $@ $< $(B)/libplumb.a $(LIBS)

python: $(EXTENSION) $(PLUMB) ## the Python extension, in place: PYTHONPATH=python

# What `plumb run` needs, wherever it can be built.
all: $(if $(wildcard $(PYTHON_INCLUDE)/Python.h),$(EXTENSION))

wheel: ## build/wheel/plumb_train-*.whl
	$(PYTHON) -m pip wheel --quiet --no-deps --wheel-dir $(B)/wheel .

# Only the module's own entry is visible; SQLite drops out, because nothing here refers to it.
$(EXTENSION): $(PYTHON_OBJ) $(B)/libplumb.a
	$(CC) $(CFLAGS) $(LDFLAGS) -shared -Wl,--exclude-libs,ALL -Wl,--as-needed \
	    -o $@.new $^ $(LIBS) -ldl
	@mv $@.new $@
