# Benchmarks.
# They are not part of the checks, but each check looks whether they compile.
BENCH_SOURCES := $(wildcard test/bench/*.cpp)
BENCHES_COMPILE := $(BENCH_SOURCES:%.cpp=$(B)/%.compiles)
# Those that have parts of the tests are linked in each check, too.
BENCHES_OF_TESTS := $(patsubst %,$(B)/test/%-bench,analyze execution feed)
ARCHIVES := $(call link_of,rtexec/cli)
$(BENCHES_COMPILE): $(B)/%.compiles: %.cpp | $(LIBRARIES) $(BUILD)/.packages-CHECK
	@mkdir -p $(@D)
	$(call say,CHECK,$<)
	$(Q)$(CXX) $(CPPFLAGS) -MF $@.d -MT $@ $(BEFORE) $(CXXFLAGS) -fsyntax-only $< && touch $@

BENCHES := $(patsubst test/bench/%_bench.cpp,$(B)/test/%-bench,$(wildcard test/bench/*_bench.cpp))
$(B)/test/%-bench: $(B)/test/bench/%_bench.o $(ARCHIVES) | $(BUILD)/.packages-BENCH
	$(call say,LINK,$@)
	$(Q)$(CXX) $(LDFLAGS) -o $@ $(filter %.o,$^) $(ARCHIVES) $(LIBS_all) -lbenchmark
# This one is part of the checks too: it does without the benchmarks' library.
$(B)/test/bandwidth-bench: $(B)/test/bench/bandwidth_bench.o $(ARCHIVES)
	$(call say,LINK,$@)
	$(Q)$(CXX) $(LDFLAGS) -o $@ $(filter %.o,$^) $(ARCHIVES) $(LIBS_all)
$(B)/test/regulation-trials: $(B)/test/image/regulation_trials.o $(ARCHIVES)
	$(call say,LINK,$@)
	$(Q)$(CXX) $(LDFLAGS) -o $@ $(filter %.o,$^) $(ARCHIVES) $(LIBS_all)
$(patsubst $(B)/test/%-bench,$(B)/test/bench/%_bench.o,$(filter-out %/bandwidth-bench,$(BENCHES))): | $(BUILD)/.packages-BENCH
bench: $(PROGRAM) $(BENCHES) $(BUILD)/models/resnet50-224.onnx ## measure the figures of test/bench/README.md, as ratios within one run
	@test/run-benches $(B) $(filter-out %/swap-bench %/analyze-bench %/bandwidth-bench %/winograd-bench,$(BENCHES))

$(B)/test/analyze-bench: $(call object,test/support/ctf_writer.cpp test/support/trace_writer.cpp)
$(B)/test/execution-bench $(B)/test/feed-bench: $(call object,test/support/test_files.cpp)
.PHONY: soak
HOURS ?= 2
soak: $(PROGRAM) ## run a task set for HOURS=2 with a fault every minute: does anything grow, or get lost? (SOAK_OPTIONS=)
	@python3 test/soak/soak.py --rtexec $(PROGRAM) --hours $(HOURS) --folder $(BUILD)/soak --json $(BUILD)/soak.json $(SOAK_OPTIONS)

.PHONY: bench-bandwidth
bench-bandwidth: $(B)/test/bandwidth-bench ## what regulating memory bandwidth costs, beside a bare thread on perf_event, by a stand-in event
	@$< costs
.PHONY: bench-winograd
bench-winograd: $(B)/test/winograd-bench ## Winograd convolutions of 256 to 2048: throughput and worst case (WINOGRAD="--runs 100000 --device cuda")
	@$< $(WINOGRAD)

.PHONY: bench-analyze
bench-analyze: $(B)/test/analyze-bench ## events per second and memory of reading a trace, beside babeltrace2's dummy sink (ANALYZE_EVENTS=20000000)
	@mkdir -p $(BUILD)/analyze && $< $(BUILD)/analyze

SWAP_MODELS ?= $(foreach model,resnet152 densenet201 resnext152-32x4d yolov3,$(BUILD)/models/$(model)-416.onnx)
.PHONY: bench-swap
bench-swap: $(PROGRAM) $(B)/test/swap-bench $(SWAP_MODELS) ## on a machine with an NVIDIA GPU: what swapping costs, beside RT-Swap's figures (SWAP_MODELS=FILES: other networks)
	@$(B)/test/swap-bench $(SWAP_MODELS) --json $(BUILD)/swap-bench.json
