# Fuzzing, and what it found replayed as ordinary tests.

SECONDS ?= 600

# The corpora that each target begins with and is replayed over.
CORPUS_formats := tests/fuzz/corpus tests/interop $(B)/fixtures
CORPUS_run := tests/fuzz/run_corpus $(B)/fixtures/run $(B)/fixtures/saved
CORPUS_records := tests/fuzz/records_corpus

$(B)/san/replay_%: $(B)/san/tests/fuzz/replay_corpus.o $(B)/san/tests/fuzz/fuzz_%.o \
    $(B)/san/libplumb.a
	$(CC) $(SAN) -o $@ $^ $(LIBS)

.PHONY: corpus run-corpus records-corpus
corpus: $(B)/san/replay_formats $(B)/fixtures/.made ## what the fuzzer found in tensor files, once more
	@$< $(CORPUS_formats)

run-corpus: $(B)/san/replay_run $(B)/fixtures/.made ## the same of a run's own files
	@$< $(CORPUS_run)

records-corpus: $(B)/san/replay_records ## the same of logs and dumps of other tools
	@$< $(CORPUS_records)

$(B)/fuzz/fuzz_%: $(B)/fuzz/tests/fuzz/fuzz_%.o $(B)/fuzz/libplumb.a
	$(CLANG) -fsanitize=fuzzer $(FUZZ) -o $@ $^ $(LIBS)

FUZZING = -max_total_time=$(SECONDS) -timeout=20 -rss_limit_mb=4096 -print_final_stats=1
.PHONY: fuzz fuzz-formats fuzz-run fuzz-records
fuzz: ## libFuzzer for SECONDS (600) on each target
	@$(MAKE) --no-print-directory fuzz-formats
	@$(MAKE) --no-print-directory fuzz-run
	@$(MAKE) --no-print-directory fuzz-records

fuzz-formats: $(B)/fuzz/fuzz_formats $(B)/fixtures/.made ## libFuzzer on tensor files
	@mkdir -p $(B)/fuzz/corpus $(B)/fuzz/found
	$< $(FUZZING) -max_len=16384 -artifact_prefix=$(B)/fuzz/found/ $(B)/fuzz/corpus \
	    $(wildcard tests/fuzz/corpus tests/interop/*/) $(B)/fixtures $(B)/fixtures/small

fuzz-run: $(B)/fuzz/fuzz_run $(B)/fixtures/.made ## libFuzzer on a run's own files
	@mkdir -p $(B)/fuzz/corpus-run $(B)/fuzz/found
	$< $(FUZZING) -max_len=65536 -artifact_prefix=$(B)/fuzz/found/run- $(B)/fuzz/corpus-run \
	    tests/fuzz/run_corpus $(B)/fixtures/run $(B)/fixtures/run/rank0000

fuzz-records: $(B)/fuzz/fuzz_records ## libFuzzer on logs and dumps of other tools
	@mkdir -p $(B)/fuzz/corpus-records $(B)/fuzz/found
	$< $(FUZZING) -max_len=8192 -artifact_prefix=$(B)/fuzz/found/records- \
	    $(B)/fuzz/corpus-records tests/fuzz/records_corpus
