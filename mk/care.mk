# Benchmarks, installation, and the look of the source.

.PHONY: bench install format format-check lint
bench: all python $(B)/bin/bench/record ## ratios against cat, numpy, torch and mindspore, measured now
	@scripts/setup-packages.sh build test
	@scripts/setup-venv.sh
	@$(B)/venv/bin/python bench/run.py
	@bench/record.sh
	@$(B)/venv/bin/python bench/capture.py
	@$(B)/venv/bin/python bench/capture_mindspore.py
	@$(B)/venv/bin/python bench/capture_rivals.py
	@$(B)/venv/bin/python bench/dumps.py

install: all ## binary, library, header, pkg-config file, Python package, man pages, completions
	@[ ! -f '$(PYTHON_INCLUDE)/Python.h' ] || $(MAKE) --no-print-directory python
	PREFIX='$(PREFIX)' DESTDIR='$(DESTDIR)' VERSION='$(VERSION)' SOVERSION='$(SOVERSION)' \
	    LIBS='$(LIBS)' PYTHON_HEADER='$(PYTHON_INCLUDE)/Python.h' scripts/install.sh

format: ## rewrite all C files in the project's format
	clang-format -i $(C_FILES)

format-check: ## see whether they are
	@clang-format --dry-run -Werror $(C_FILES)

lint: ## clang-tidy at zero warnings
	clang-tidy --quiet $(LIB_SRC) $(CLI_SRC) -- $(LANGUAGE)
