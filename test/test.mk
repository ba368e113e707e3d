# Tests: programs of them, what they stand in for, and the checks.
# What tests are compiled like: as what runs once, with the headers of tests before them.
TESTED := $(filter $(notdir $(wildcard test/*)),$(FOLDERS))
COMPONENT_TESTS := $(call object,$(call sources,$(addprefix test/,$(TESTED) support)))
$(COMPONENT_TESTS): $(call precompiled,test/support/test_precompiled)
$(COMPONENT_TESTS): private BEFORE = $(call before_all,test/support/test_precompiled)
ifneq ($(MODE),fuzz)
$(COMPONENT_TESTS): private MODEFLAGS_$(MODE) := $(QUICKLY_COMPILED)
endif

# Tests hold our declarations of CUDA and of iceoryx against their headers, where those are.
FOREIGN_HEADERS := $(addprefix -isystem ,$(patsubst %/cuda.h,%,$(wildcard $(CUDA_HOME)/include/cuda.h)) $(wildcard /usr/include/iceoryx/v2.*))
$(B)/test/%.o: test/%.cpp $(call precompiled,config/precompiled) | $(LIBRARIES)
	@mkdir -p $(@D)
	$(call say,CXX,$<)
	$(Q)$(CXX) $(CPPFLAGS) $(BEFORE) $(CXXFLAGS) $(FOREIGN_HEADERS) -c $< -o $@

# Of the tests, what computes little: by clang, which takes 0.6 of g++'s time where it does not optimize. The sanitizers' builds have it by g++.
ifeq ($(MODE),release)
QUICK_TESTS := $(filter-out $(B)/test/tasks/cuda% $(B)/unity/test/tasks/onnx_oracle/% %/soundness_budget.o %/benchmark_traffic_test.o,$(call object,$(call sources,$(addprefix test/,config hal tasks traces rtexec)))) $(BENCHES_COMPILE)
QUICK_HEADER := $(B)/test/support/test_precompiled.hpp.pch
$(QUICK_TESTS): $(QUICK_HEADER)
$(QUICK_TESTS): private BEFORE := -include-pch $(QUICK_HEADER)
$(QUICK_TESTS) $(QUICK_HEADER): private CXX := clang++-19 $(if $(CROSS),--target=$(TRIPLET) --sysroot=$(SYSROOT))
$(QUICK_TESTS) $(QUICK_HEADER): private COMPILER_MEMORY :=
$(QUICK_TESTS): private IN_GROUPS :=
$(QUICK_TESTS) $(QUICK_HEADER): private WARNINGS := -Wall -Wextra -Werror -Wno-deprecated-declarations
$(QUICK_TESTS) $(QUICK_HEADER): private MODEFLAGS_release := -O0 -DNDEBUG
$(QUICK_HEADER): test/support/test_precompiled.hpp | $(LIBRARIES) $(BUILD)/.packages-CHECK
	@mkdir -p $(@D)
	$(call say,CLANG,$<)
	$(Q)$(CXX) $(CPPFLAGS) $(CXXFLAGS) -fpch-instantiate-templates -x c++-header $< -o $@
endif

# The device kernels as C++ over an emulation of the device, for the tests of tasks/ on a machine without a GPU. They enter themselves in a
# registry by static initialisation, so they are linked as objects.
EMULATED := $(foreach component,$(KERNEL_COMPONENTS),$(patsubst %.cu,$(B)/test/emulated/%.o,$(call kernels_of,$(component))))
$(EMULATED): $(B)/test/emulated/%.o: %.cu | $(LIBRARIES)
	@mkdir -p $(@D)
	$(call say,CXX,$< (emulated))
	$(Q)$(CXX) -x c++ $(CPPFLAGS) $(CXXFLAGS) -Wno-unknown-pragmas -Wno-sign-conversion -DRTEXEC_EMULATION \
	  -include test/tasks/cuda_emulation/primitives.hpp -c $< -o $@
$(foreach folder,$(FLAGGED),$(eval $(filter $(B)/test/emulated/$(folder)/%,$(EMULATED)): private CXXFLAGS += $$(FLAGS_$(folder))))

# A program for each folder of tests, and what its tests borrow of others.
TEST_PROGRAMS := $(TESTED:%=$(B)/test/%-tests)
SIMULATED_DRIVER := $(B)/test/cuda/simulated_driver.o
# The driver's functions are local to this object: rtexec-tests has the preloaded library as well, which defines functions of these names.
FAKE_DRIVER := $(B)/test/cuda/fake_driver.o
$(FAKE_DRIVER): $(B)/test/hal/fake_cuda_driver.o $(SIMULATED_DRIVER)
	$(call say,LINK,$@)
	$(Q)$(CXX) -r -nostdlib -o $@ $^
	$(Q)$(CROSS)objcopy --wildcard --localize-symbol='cu*' $@
BORROWS_hal := $(SIMULATED_DRIVER)
BORROWS_tasks := $(EMULATED) $(FAKE_DRIVER)
BORROWS_rtexec := $(FAKE_DRIVER) $(B)/test/hal/assembled_root.o
TESTS_rtexec := rtexec/cli rtexec/studies rtexec/sharing/preload rtexec/sharing rtexec/bindings rtexec/supervisor rtexec/verifier rtexec/runtime $(BELOW_RTEXEC)
define test_program
$(B)/test/$(1)-tests: $(call object,$(call sources,test/$(1) test/support)) $(BORROWS_$(1)) $(if $(TESTS_$(1)),$(TESTS_$(1):%=$(B)/%.a),$(call link_of,$(1)))
	$$(call say,LINK,$$@)
	$$(Q)$(CXX) $(LDFLAGS) -o $$@ $$(filter %.o,$$^) $$(filter %.a,$$^) -lgmock -lgtest -lgtest_main $(foreach component,$(or $(TESTS_$(1)),$(1) $(NEEDS_$(1))),$(LIBS_$(component)))
endef
$(foreach folder,$(TESTED),$(eval $(call test_program,$(folder))))

# A driver and a runtime of CUDA in software, and programs that use them.
P := $(B)/test/preload
STAND_INS := $(P)/libcuda.so.1 $(P)/libcudart.so.13 $(P)/libearly.so $(P)/libcrash.so
PRELOAD_TESTS := $(P)/calls $(P)/calls-linked $(P)/questions $(P)/sample_client $(P)/practices
$(P)/libcuda.so.1: $(P)/stand_in_driver.o $(SIMULATED_DRIVER)
$(P)/libcudart.so.13: $(P)/stand_in_runtime.o
$(P)/libearly.so: $(P)/early_allocator.o
$(P)/libcrash.so: $(P)/crash.o
$(STAND_INS):
	$(call say,LINK,$@)
	$(Q)$(CXX) $(LDFLAGS) -shared -Wl,-Bsymbolic -Wl,-soname,$(@F) -o $@ $(filter %.o,$^)
$(P)/calls: $(P)/calls.o
$(P)/questions: $(P)/questions.o
$(P)/sample_client: $(P)/sample_client.o $(P)/libcuda.so.1
$(P)/practices: $(P)/practices.o $(P)/libcuda.so.1
$(P)/calls-linked: $(P)/calls-linked.o $(P)/libcuda.so.1
$(P)/calls-linked.o: test/preload/calls.cpp $(call precompiled,config/precompiled) | $(LIBRARIES)
	@mkdir -p $(@D)
	$(call say,CXX,$< (linked with the driver))
	$(Q)$(CXX) $(CPPFLAGS) $(BEFORE) $(CXXFLAGS) -DLINKED -c $< -o $@
$(PRELOAD_TESTS):
	$(call say,LINK,$@)
	$(Q)$(CXX) $(LDFLAGS) -rdynamic -o $@ $^

SOUNDNESS := $(B)/test/soundness-tests
# Attacks the admission tests for as long as it takes: SOUNDNESS_SETS=1000000 SOUNDNESS_JOBS=1000000000 SOUNDNESS_TINY=50000.
SOUNDNESS_OBJECTS := $(call object,$(call sources,test/soundness) test/rtexec/studies/soundness_budget.cpp test/policies/swap_exhaustive.cpp test/policies/tiny_devices.cpp)
$(SOUNDNESS): $(SOUNDNESS_OBJECTS) $(ARCHIVES)
	$(call say,LINK,$@)
	$(Q)$(CXX) $(LDFLAGS) -o $@ $(SOUNDNESS_OBJECTS) $(ARCHIVES) $(LIBS_all)
.PHONY: check-soundness
check-soundness: $(SOUNDNESS) ## attack the admission tests: a million accepted sets, a billion jobs (SOUNDNESS_SETS=, SOUNDNESS_JOBS=, SOUNDNESS_TINY=, SOUNDNESS_SEED=, SOUNDNESS_TESTS=, SOUNDNESS_SHARD=K/N)
	@$(SOUNDNESS) $(BUILD)/soundness$(if $(SOUNDNESS_SHARD),-$(subst /,-of-,$(SOUNDNESS_SHARD))).json

FUZZ_SECONDS ?= 60
FUZZERS := toml onnx protocol
check-fuzz: ## feed broken TOML files, ONNX files, messages and random networks to their readers, a minute each (FUZZ_SECONDS=60, FUZZ_SEED=)
	@$(MAKE) MODE=fuzz fuzz
.PHONY: fuzz
fuzz: $(FUZZERS:%=$(B)/test/%-fuzz) $(B)/test/networks
	@test/run-fuzzers $(FUZZ_SECONDS) $(filter %-fuzz,$^)
	@$(B)/test/networks --time $(FUZZ_SECONDS) --seed $(or $(FUZZ_SEED),$$(date +%s))
$(B)/test/networks: $(call object,test/fuzz/networks.cpp test/tasks/isolated_nodes.cpp test/tasks/random_onnx.cpp) $(call link_of,tasks)
	$(call say,LINK,$@)
	$(Q)$(CXX) $(LDFLAGS) -o $@ $^ $(call libs_of,tasks)
$(B)/test/%-fuzz: $(B)/test/fuzz/%_fuzz.o $(call link_of,tasks)
	$(call say,LINK,$@)
	$(Q)$(CXX) $(LDFLAGS) -fsanitize=fuzzer -o $@ $^ $(call libs_of,tasks)

.PHONY: check check-all borders format check-sanitizers check-asan check-tsan check-gpu check-fuzz
borders: | $(BUILD)/.packages-CHECK
	@test/check-borders
format: | $(BUILD)/.packages-CHECK
	@test/check-format

# clang-tidy reads groups of files, larger than those that are compiled, because most of its time goes into headers. Make skips a group that passed
# until one of its files changes. Only files that ALONE names one by one stay apart here.
ifneq ($(filter tidied,$(MAKECMDGOALS)),)
TIDY_SOURCES := $(MAINS) $(foreach component,$(COMPONENTS),$(SRC_$(component)))
$(foreach assignment,$(if $(FILES),,$(shell rtexec/package/make-unity $(B)/tidy 8000 $(FOLDERS) -- $(filter-out $(foreach each,$(ALONE),$(if $(findstring %,$(each)),,$(each))),$(TIDY_SOURCES)))),$(eval TIDY_$(assignment)))
TIDY_FILES := $(or $(FILES),$(sort $(foreach source,$(TIDY_SOURCES),$(or $(TIDY_UNIT_$(source):%=%.cpp),$(source)))))
tidied: $(TIDY_FILES:%=$(B)/tidy/%.passed)
	@echo "tidy: no findings in $(words $^) groups of files"
endif
TIDY_FLAGS = -x c++ $(filter -std=% -D% -I%,$(CPPFLAGS) $(CXXFLAGS)) $(if $(findstring test/,$<),$(FOREIGN_HEADERS))
$(B)/tidy/%.passed: % .clang-tidy | $(LIBRARIES) $(BUILD)/.packages-TIDY
	@mkdir -p $(@D)
	$(eval TIDY_BEGUN += $<)
	$(call say,TIDY,$(words $(TIDY_BEGUN))/$(words $(TIDY_FILES)) $<)
	$(Q)clang-tidy-19 --quiet $< -- $(TIDY_FLAGS) 2>$@.log || { grep -v 'warnings generated' $@.log >&2; exit 1; }
	$(Q)$(CXX) $(TIDY_FLAGS) -MM -MP -MT $@ -MF $@.d $< && touch $@
.PHONY: tidy tidied
tidy: ## check the product, or FILES="a.cpp b.hpp", by clang-tidy
	@$(MAKE) -k tidied

check: all borders format $(TEST_PROGRAMS) $(STAND_INS) $(PRELOAD_TESTS) $(SOUNDNESS) $(B)/test/bandwidth-bench $(B)/test/regulation-trials $(BENCHES_COMPILE) $(BENCHES_OF_TESTS) $(BUILD)/venv/.made ## build and run all tests
	@test/run-tests $(B) $(TEST_PROGRAMS)

check-all: ## the same with all operator cases, of which check runs a subset that covers each pair of parameters, and all rounds of random tests
	@RTEXEC_ALL_CASES=1 $(MAKE) check

.PHONY: compile-commands
compile-commands: ## write compile_commands.json, for clangd and other tools that read single files
	@$(MAKE) -n -B V=1 UNITY= PRECOMPILED= all $(TEST_PROGRAMS) $(SOUNDNESS) $(BENCHES) | rtexec/package/compile-commands

# One after the other: real-time tests go wrong beside a compiler.
check-sanitizers: ## the unit tests under the address, undefined-behaviour and thread sanitizers
	@$(MAKE) check-asan
	@$(MAKE) check-tsan
check-asan check-tsan: check-%:
	@$(MAKE) MODE=$* sanitized
# Another machine's programs, in an emulator of its processor: what asks nothing of kernel and machine.
CROSS_TESTS := config policies
# Reads /proc/self/stat, which the emulator makes up.
NOT_EMULATED := Process.IsAliveUntilItEnds
EMULATOR := $(if $(CROSS),qemu-$(MACHINE)-static -L $(SYSROOT))
.PHONY: check-cross
check-cross: $(PROGRAM) $(CROSS_TESTS:%=$(B)/test/%-tests) ## BOARD=tx2 and the like: its programs in an emulator of its processor
	@$(EMULATOR) $(PROGRAM) --version
	@set -e; for folder in $(CROSS_TESTS); do $(EMULATOR) $(B)/test/$$folder-tests --gtest_brief=1 --gtest_filter=-$(NOT_EMULATED); done

.PHONY: sanitized
sanitized: $(TEST_PROGRAMS) | $(BUILD)/.packages-CHECK
	@test/run-tests $(B) $(TEST_PROGRAMS)

GPU_TESTS := $(filter %/hal-tests %/tasks-tests %/rtexec-tests,$(TEST_PROGRAMS))
check-gpu: $(PROGRAM) $(GPU_TESTS) ## on a machine with an NVIDIA GPU: device rules, kernels, operators and networks on it
	@test/check-gpu $(B)

$(BUILD)/venv/.made: test/requirements.txt | $(BUILD)/.packages-CHECK
	@test/make-venv $(@D) $< && touch $@
