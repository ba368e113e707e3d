# rtexec: run `make help` for the targets.
MAKEFLAGS += --no-builtin-rules --no-print-directory
.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
SHELL := /bin/bash

BOARD ?= host
MODE ?= release
BUILD ?= build
PREFIX ?= /usr/local
DESTDIR ?=
JOBS ?= $(shell nproc)
ifeq ($(filter -j%,$(MAKEFLAGS))$(MAKELEVEL),0)
MAKEFLAGS += -j$(JOBS)
endif
Q := $(if $(V),,@)
say = @$(if $(V),:,printf '  %-7s %s\n' '$(1)' '$(2)')

# What the board's file says of building for it; of a board that says nothing this machine is meant.
HERE := $(shell uname -m)
ifeq ($(wildcard boards/$(BOARD).toml),)
$(error BOARD=$(BOARD): no boards/$(BOARD).toml; there are $(sort $(patsubst boards/%.toml,%,$(wildcard boards/*.toml))))
endif
board_says = $(shell sed -n '/^\[build\]/,/^$$/s/^$(1) = "\(.*\)"/\1/p' boards/$(BOARD).toml)
MACHINE := $(or $(call board_says,machine),$(HERE))
TRIPLET := $(MACHINE)-linux-gnu
# Another machine's programs: by Debian's cross compiler, against libraries unpacked into a folder.
CROSS := $(if $(filter-out $(HERE),$(MACHINE)),$(TRIPLET)-)
UNPACKED := $(abspath $(BUILD))/sysroot-$(MACHINE)
SYSROOT := $(if $(CROSS),$(UNPACKED))
CPU := $(call board_says,cpu)

VERSION := $(shell sed -n 's/^#define RTEXEC_VERSION_[A-Z]* //p' config/include/rtexec/version.hpp | paste -sd.)
SOVERSION := 0
B := $(BUILD)/$(BOARD)-$(MODE)

# ---- packages -------------------------------------------------------------------------------------------------------
PACKAGES_BUILD := g++ pkg-config python3 libsodium-dev libtomlplusplus-dev libonnx-dev libprotobuf-dev protobuf-compiler libstb-dev \
  libcli11-dev nlohmann-json3-dev help2man lttng-tools liblttng-ust-dev liblttng-ctl-dev babeltrace2 libbabeltrace2-dev liburing-dev \
  libboost-dev libboost-math-dev libgtest-dev libgmock-dev libjpeg-dev zlib1g-dev
PACKAGES_IMAGE := libarchive-tools kmod openssl zstd
PACKAGES_CHECK := $(PACKAGES_IMAGE) clang-format python3-venv chromium chromium-driver clang clang-19 cmake abigail-tools xz-utils parallel perl shellcheck libbenchmark-dev \
  iceoryx libiceoryx-binding-c-dev systemd-container
PACKAGES_BENCH := libbenchmark-dev rt-tests iceoryx libiceoryx-binding-c2
PACKAGES_FUZZ := clang-19 libclang-rt-19-dev
PACKAGES_DIST := patchelf xz-utils
PACKAGES_CROSS := g++-$(subst _,-,$(MACHINE))-linux-gnu qemu-user-static
PACKAGES_UNPACK := mmdebstrap
PACKAGES_EMULATE := qemu-system-arm qemu-system-x86 device-tree-compiler e2fsprogs

# installed(NAMES): a stamp that is older than nothing once every package is there; missing ones are installed (as root).
define package_stamp
$(BUILD)/.packages-$(1): test/install-packages Makefile
	@mkdir -p $$(@D)
	@test/install-packages $$(PACKAGES_$(1))
	@touch $$@
endef
$(foreach set,BUILD CHECK BENCH FUZZ DIST CROSS UNPACK IMAGE EMULATE,$(eval $(call package_stamp,$(set))))

# What every object needs: the packages, and of another machine its libraries.
LIBRARIES := $(BUILD)/.packages-BUILD $(if $(CROSS),$(SYSROOT)/.made)
$(UNPACKED)/.made: boards/image/unpack-packages Makefile | $(BUILD)/.packages-UNPACK $(if $(CROSS),$(BUILD)/.packages-CROSS)
	@$< $(MACHINE) $(@D) $(filter %-dev,$(PACKAGES_BUILD) $(PACKAGES_CHECK) $(PACKAGES_BENCH)) lttng-tools babeltrace2

# ---- flags ----------------------------------------------------------------------------------------------------------
WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wold-style-cast -Wnon-virtual-dtor -Woverloaded-virtual -Werror
MODEFLAGS_release := -O2 -DNDEBUG
MODEFLAGS_debug := -O0 -g
# Under a sanitizer g++ warns of what is not so, as its manual says: the other builds have the warnings.
MODEFLAGS_asan := -w -O1 -g1 -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
MODEFLAGS_tsan := -w -O1 -g1 -fsanitize=thread
MODEFLAGS_fuzz := -O1 -g -fsanitize=address,undefined,fuzzer-no-link -fno-sanitize-recover=all
ifndef MODEFLAGS_$(MODE)
$(error MODE=$(MODE) is not known: use debug, release, asan or tsan)
endif
ifeq ($(MODE),fuzz)
CXX := clang++-19
WARNINGS := -Wall -Wextra
else
CXX := $(CROSS)g++ $(if $(CROSS),--sysroot=$(SYSROOT))
# Its own garbage collection, which it would begin at 128 MiB, takes a twentieth of its time.
COMPILER_MEMORY := --param ggc-min-heapsize=400000
endif
# What users of the library see of each room lies in ROOM/include/rtexec, and is included as <rtexec/...> everywhere.
PUBLIC_INCLUDES := $(patsubst %/rtexec,-I%,$(wildcard */include/rtexec))
CXXFLAGS += -std=c++23 -fPIC -fvisibility=hidden -pthread $(WARNINGS) $(COMPILER_MEMORY) $(MODEFLAGS_$(MODE)) $(CPU:%=-mcpu=%) -I. $(PUBLIC_INCLUDES)
# Names of files in programs, as a header of the sysroot has them, do not tell where the sysroot lay.
CPPFLAGS += $(if $(SYSROOT),-ffile-prefix-map=$(SYSROOT)=) -MMD -MP -DRTEXEC_VERSION='"$(VERSION)"' -DONNX_ML=1 -DONNX_NAMESPACE=onnx
LDFLAGS += -pthread $(MODEFLAGS_$(MODE))
LIBS_hal := -luring -lz
LIBS_tasks := -lonnx -lonnx_proto -lprotobuf -ljpeg -lm
LIBS_traces := -llttng-ust -llttng-ctl -lbabeltrace2 -ldl
LIBS_verifier := -l:libsodium.a
LIBS_all := $(LIBS_tasks) $(LIBS_hal) $(LIBS_traces)

# ---- sources --------------------------------------------------------------------------------------------------------
ROOMS := config policies hal tasks traces rtexec
sources = $(shell find $(1) -name '*.cpp' -not -path 'rtexec/examples/*' 2>/dev/null | sort)
$(foreach room,$(ROOMS),$(eval SRC_$(room) := $(call sources,$(room))))
SRC_program := $(filter rtexec/command/%,$(SRC_rtexec))
SRC_supervisor := $(filter rtexec/supervisor/%,$(SRC_rtexec))
SRC_verifier := $(filter rtexec/verifier/%,$(SRC_rtexec))
SRC_daemon := rtexec/daemon/main.cpp
SRC_preload := $(filter rtexec/preload/%,$(SRC_rtexec))
SRC_rtexec := $(filter-out rtexec/command/% rtexec/supervisor/% rtexec/verifier/% rtexec/preload/% $(SRC_daemon),$(SRC_rtexec))
# Files of one folder are compiled together, up to UNITY lines, because most of a small file's cost is its headers; UNITY= compiles each alone.
# So are those always that other programs link, or that have flags of their own: what computes much.
UNITY ?= $(if $(filter fuzz,$(MODE)),,4000)
ALONE := config/types.cpp policies/bandwidth.cpp tasks/dnn/cuda/row_layout.cpp traces/report/perfetto.cpp rtexec/daemon/main.cpp rtexec/supervisor/% rtexec/verifier/% rtexec/preload/% tasks/dnn/kernels/% tasks/kernels/% \
  test/hal/fake_cuda_driver.cpp test/hal/assembled_root.cpp test/policies/swap_exhaustive.cpp test/policies/tiny_devices.cpp test/support/ctf_writer.cpp test/support/trace_writer.cpp test/support/files.cpp \
  test/tasks/cuda% test/tasks/isolated_nodes.cpp test/tasks/random_onnx.cpp %/adversary.cpp %/benchmark_traffic_test.cpp
GROUPED := $(if $(UNITY),$(filter-out $(ALONE),$(SRC_program) $(foreach room,$(ROOMS),$(SRC_$(room))) $(call sources,$(addprefix test/,$(ROOMS) support soundness))))
# What groups them is in Python. Where there is none it is installed with the packages, and make begins anew.
ifeq ($(shell command -v python3),)
GROUPED :=
ifneq ($(filter-out help clean,$(or $(MAKECMDGOALS),all)),)
include $(BUILD)/.packages-BUILD
endif
endif
$(foreach assignment,$(if $(GROUPED),$(shell test/make-unity $(B)/unity $(UNITY) $(GROUPED))),$(eval $(assignment)))
object = $(sort $(foreach source,$(1),$(or $(UNIT_$(source)),$(B)/$(basename $(source))).o))
# The files of boards/ travel inside the library.
BUILTIN_BOARDS := $(B)/config/builtin_boards
$(BUILTIN_BOARDS).cpp: $(wildcard boards/*.toml)
	@mkdir -p $(@D)
	@{ set -e; echo '#include "config/builtin_boards.hpp"'; \
	   echo 'namespace rtexec::config {'; \
	   echo 'std::span<const BuiltinBoard> builtin_boards() {'; \
	   echo '  static constexpr BuiltinBoard boards[] = {'; \
	   for board in $(^:boards/%.toml=%); do printf '{"%s", R"toml(' $$board; cat boards/$$board.toml; echo ')toml"},'; done; \
	   echo '}; return boards; } }'; } > $@
# So does the page of traces/report.
PAGE_FILES := $(B)/traces/report/page_files
$(PAGE_FILES).cpp: $(foreach type,html css js,traces/report/page.$(type))
	@mkdir -p $(@D)
	@{ set -e; echo '#include "traces/report/page.hpp"'; \
	   echo 'rtexec::traces::PageFiles rtexec::traces::page_files() { return {'; \
	   for file in $^; do printf 'R"page('; cat $$file; echo ')page",'; done; \
	   echo '}; }'; } > $@
$(BUILTIN_BOARDS).o $(PAGE_FILES).o: %.o: %.cpp | $(LIBRARIES)
	$(call say,CXX,$<)
	$(Q)$(CXX) $(CPPFLAGS) $(CXXFLAGS) -c $< -o $@


# ---- device kernels -------------------------------------------------------------------------------------------------
# Compiled for each board's architecture and embedded in their rooms: cubins by nvcc and its PTX for newer GPUs; PTX by clang for what nvcc
# cannot target (nvcc 13: TX2's sm_62 and Xavier's sm_72), in the oldest PTX version that will do, because old drivers translate it.
# Shared by all modes. Without a compiler for them the program is built without kernels.
CUDA_HOME ?= /usr/local/cuda
first_of = $(firstword $(foreach name,$(1),$(shell command -v $(name) 2>/dev/null)))
NVCC ?= $(call first_of,$(CUDA_HOME)/bin/nvcc nvcc)
KERNEL_CLANG ?= $(call first_of,clang-19 clang-16 clang-14 clang)
CCACHE ?= $(call first_of,ccache)
KERNEL_ROOMS := hal tasks
KERNELS_IN_hal := hal/cuda/kernels
KERNELS_IN_tasks := tasks/dnn/cuda/kernels tasks/kernels/cuda
kernels_of = $(sort $(wildcard $(KERNELS_IN_$(1):%=%/*.cu)))
# Those of the board, or of this machine's GPUs; a folder for other machines like this one gets them for all boards.
GPUS_HERE = $(sort $(subst .,,$(shell nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null)))
KERNEL_ARCHITECTURES := $(or $(call board_says,gpu_architecture),$(if $(filter dist,$(MAKECMDGOALS)),62 72 75 80 90,$(GPUS_HERE)))
NVCC_TARGETS := $(if $(NVCC),$(patsubst sm_%,%,$(shell $(NVCC) --list-gpu-code 2>/dev/null)))
CLANG_TARGETS := $(if $(KERNEL_CLANG),$(patsubst sm_%,%,$(filter sm_%,$(shell $(KERNEL_CLANG) --target=nvptx64 --print-supported-cpus 2>&1 </dev/null))))
CLANG_PTX_VERSION := $(if $(KERNEL_CLANG),$(if $(shell $(KERNEL_CLANG) --help-hidden 2>/dev/null | grep -- --cuda-feature),--cuda-feature=+ptx63,-Xclang -target-feature -Xclang +ptx63))
BY_NVCC := $(filter $(NVCC_TARGETS),$(KERNEL_ARCHITECTURES))
BY_CLANG := $(filter $(CLANG_TARGETS),$(filter-out $(BY_NVCC),$(KERNEL_ARCHITECTURES)))
BY_NONE := $(filter-out $(BY_NVCC) $(BY_CLANG),$(KERNEL_ARCHITECTURES))
K := $(BUILD)/kernels
images = $(foreach room,$(KERNEL_ROOMS),$(foreach kernel,$(basename $(notdir $(call kernels_of,$(room)))),$(1:%=$(K)/$(room)/$(kernel).sm_%)))
NVCC_CUBINS := $(addsuffix .cubin,$(call images,$(BY_NVCC)))
NVCC_PTX := $(addsuffix .ptx,$(call images,$(lastword $(BY_NVCC))))
CLANG_PTX := $(addsuffix .ptx,$(call images,$(BY_CLANG)))
KERNEL_IMAGES := $(NVCC_CUBINS) $(NVCC_PTX) $(CLANG_PTX)

KERNEL_FLAGS = -std=c++17 -I. -MMD -MP -MT $@ -MF $@.d
NVCC_FLAGS := -O3 -Werror all-warnings --expt-relaxed-constexpr
architecture = $(patsubst .sm_%,%,$(suffix $(basename $@)))
source_of = $(filter %/$(basename $(basename $(notdir $(1)))).cu,$(call kernels_of,$(notdir $(patsubst %/,%,$(dir $(1))))))
kernel_source = $(call source_of,$@)
$(foreach image,$(KERNEL_IMAGES),$(eval $(image): $(call source_of,$(image))))
CUBINS_OF_PTX := $(NVCC_PTX:.ptx=.cubin)
$(filter-out $(CUBINS_OF_PTX),$(NVCC_CUBINS)):
	@mkdir -p $(@D)
	$(call say,NVCC,$(kernel_source) sm_$(architecture))
	$(Q)$(CCACHE) $(NVCC) $(KERNEL_FLAGS) $(NVCC_FLAGS) -arch=sm_$(architecture) -c -cubin $(kernel_source) -o $@
$(CUBINS_OF_PTX): %.cubin: %.ptx
	$(call say,PTXAS,$(kernel_source) sm_$(architecture))
	$(Q)$(NVCC) $(filter-out --expt%,$(NVCC_FLAGS)) -arch=sm_$(architecture) -cubin $< -o $@
$(NVCC_PTX):
	@mkdir -p $(@D)
	$(call say,NVCC,$(kernel_source) compute_$(architecture))
	$(Q)$(CCACHE) $(NVCC) $(KERNEL_FLAGS) $(NVCC_FLAGS) -arch=compute_$(architecture) -c -ptx $(kernel_source) -o $@
$(CLANG_PTX):
	@mkdir -p $(@D)
	$(call say,CLANG,$(kernel_source) sm_$(architecture))
	$(Q)$(CCACHE) $(KERNEL_CLANG) $(KERNEL_FLAGS) -O3 -Wall -Wextra -Wno-unused-parameter -Wno-pass-failed -Werror \
	  -x cuda --cuda-device-only --cuda-gpu-arch=sm_$(architecture) --cuda-path=/nonexistent -nocudainc -nocudalib $(CLANG_PTX_VERSION) \
	  -S $(kernel_source) -o $@

# A table of images for each room, declared beside its kernels; the assembler takes in the files.
KERNEL_TABLES := $(KERNEL_ROOMS:%=$(B)/%/kernel_images.cpp)
room_images = $(filter $(K)/$(1)/%,$(KERNEL_IMAGES))
KERNELS_LEFT_OUT := $(if $(KERNEL_ARCHITECTURES),\
  $(if $(BY_NONE),no compiler for device kernels of $(BY_NONE:%=sm_%): built without those; apt-get install clang-19 adds PTX for all),\
  no GPU here: built without device kernels; make dist has those of all boards)
$(B)/kernel_images: ALWAYS
	@mkdir -p $(@D)
	@echo '$(KERNEL_IMAGES)' | cmp -s - $@ || { echo '$(KERNEL_IMAGES)' > $@; \
	  $(if $(KERNELS_LEFT_OUT),echo '  $(strip $(KERNELS_LEFT_OUT))',:); }
$(foreach room,$(KERNEL_ROOMS),$(eval $(B)/$(room)/kernel_images.cpp: $(call room_images,$(room))))
$(KERNEL_TABLES): $(B)/%/kernel_images.cpp: $(B)/kernel_images
	@mkdir -p $(@D)
	$(Q){ set -e; echo '#include "$(dir $(firstword $(KERNELS_IN_$*)))kernel_images.hpp"'; \
	   for file in $(call room_images,$*); do name=$${file##*/}; symbol=kernel_image_$*_$${name//./_}; \
	     echo "asm(\".pushsection .rodata\\n.balign 64\\n$$symbol: .incbin \\\"$$file\\\"\\n$${symbol}_end: .byte 0\\n.popsection\");"; \
	     echo "extern \"C\" __attribute__((visibility(\"hidden\"))) const char $$symbol[], $${symbol}_end[];"; done; \
	   echo 'namespace rtexec::$*::cuda {'; \
	   echo 'std::span<const KernelImage> kernel_images() {'; \
	   echo '  static const KernelImage images[] = {'; \
	   for file in $(call room_images,$*); do name=$${file##*/}; symbol=kernel_image_$*_$${name//./_}; sm=$${name#*.sm_}; \
	     ptx=false; [[ $$name != *.ptx ]] || ptx=true; \
	     echo "    {\"$${name%%.*}\", $${sm%.*}, $$ptx, $$symbol, static_cast<std::size_t>($${symbol}_end - $$symbol)},"; done; \
	   echo '    {}};'; \
	   echo '  return std::span(images).first($(words $(call room_images,$*)));'; \
	   echo '} }'; } > $@
KERNEL_OBJECTS := $(KERNEL_ROOMS:%=$(B)/%/kernel_images.o)
$(KERNEL_OBJECTS): $(B)/%/kernel_images.o: $(B)/%/kernel_images.cpp | $(LIBRARIES)
	@mkdir -p $(@D)
	$(call say,CXX,$<)
	$(Q)$(CXX) $(CPPFLAGS) $(CXXFLAGS) -c $< -o $@
.PHONY: kernels ALWAYS
kernels: $(KERNEL_TABLES) ## compile the device kernels only

# ---- rooms ----------------------------------------------------------------------------------------------------------
OBJECTS = $(call object,$(SRC_$(1))) $(if $(filter config,$(1)),$(BUILTIN_BOARDS).o) $(if $(filter traces,$(1)),$(PAGE_FILES).o) $(filter $(B)/$(1)/%,$(KERNEL_OBJECTS))
LIBRARY_OBJECTS := $(foreach room,$(ROOMS),$(call OBJECTS,$(room)))
# A room's archive; what it may use follows it on the link line.
archive = $(B)/$(1)/$(1).a
NEEDS_config :=
NEEDS_policies := config
NEEDS_hal := config
NEEDS_tasks := hal config
NEEDS_traces := policies config
NEEDS_rtexec := tasks hal traces policies config
link_of = $(foreach room,$(1) $(NEEDS_$(1)),$(call archive,$(room)))
libs_of = $(foreach room,$(1) $(NEEDS_$(1)),$(LIBS_$(room)))

TEST_ROOMS := $(foreach room,$(ROOMS),$(if $(wildcard test/$(room)/*.cpp),$(room)))
TEST_PROGRAMS := $(TEST_ROOMS:%=$(B)/test/%-tests)
SOUNDNESS := $(B)/test/soundness-tests

PROGRAM := $(B)/bin/rtexec
SUPERVISOR := $(B)/bin/rtexec-supervisor
DAEMON := $(B)/bin/rtexecd
SUPERVISOR_OBJECTS := $(call object,$(SRC_supervisor))
VERIFIER := $(B)/bin/rtexec-verify
VERIFIER_OBJECTS := $(call object,$(SRC_verifier))
PRELOAD := $(B)/lib/librtexec-preload.so
PRELOAD_OBJECTS := $(call object,$(SRC_preload))
STATIC := $(B)/lib/librtexec.a
SHARED := $(B)/lib/librtexec.so.$(VERSION)

# What runs while building: this program, or that of this machine.
RUNNABLE := $(if $(CROSS),$(BUILD)/host-release/bin/rtexec,$(PROGRAM))
ifneq ($(CROSS),)
RUN_HERE := $(addprefix $(dir $(RUNNABLE)),rtexec rtexec-supervisor rtexecd)
$(RUN_HERE) &: ALWAYS
	@$(MAKE) BOARD=host MODE=release $(RUN_HERE)
endif

.PHONY: all
all: $(PROGRAM) $(SUPERVISOR) $(VERIFIER) $(DAEMON) $(PRELOAD) $(STATIC) $(SHARED) ## build the program and the libraries

# Headers that are compiled once and put before every file, with the same flags but for the level of optimization: not under sanitizers, where each file has to name what it
# uses, nor with ccache, which would find none of its files again. Of strings in them g++ 12 says that they overflow, which it does not otherwise.
PRECOMPILED := $(if $(filter release debug,$(MODE)),$(if $(findstring ccache,$(CXX)),,config test/support))
precompiled = $(patsubst %,$(B)/%/precompiled.hpp.gch,$(filter $(1),$(PRECOMPILED)))
before_all = $(patsubst %,-Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread -Wno-restrict -include $(B)/%/precompiled.hpp,$(filter $(1),$(PRECOMPILED)))
BEFORE = $(call before_all,config)
define precompiled_header
$(call precompiled,$(1)): $(1)/precompiled.hpp | $(LIBRARIES)
	@mkdir -p $$(@D)
	$$(call say,CXX,$$<)
	$$(Q)cp $$< $$(@:.gch=) && $$(CXX) $$(CPPFLAGS) $$(CXXFLAGS) -w -x c++-header $$< -o $$@
endef
$(foreach folder,$(PRECOMPILED),$(eval $(call precompiled_header,$(folder))))

$(B)/%.o: %.cpp $(call precompiled,config) | $(LIBRARIES)
	@mkdir -p $(@D)
	$(call say,CXX,$<)
	$(Q)$(CXX) $(CPPFLAGS) $(BEFORE) $(CXXFLAGS) -c $< -o $@

# What the files of a group see of each other: names of the same kind, and unnamed types. What a program does not use of a group, it leaves out.
IN_GROUPS = -Wno-shadow -Wshadow=local -Wno-subobject-linkage -ffunction-sections -fdata-sections
$(B)/unity/%.o: $(B)/unity/%.cpp $(call precompiled,config) | $(LIBRARIES)
	$(call say,CXX,$(patsubst $(B)/unity/%.cpp,%,$<) ($(shell grep -c include $<) files))
	$(Q)$(CXX) $(CPPFLAGS) $(BEFORE) $(CXXFLAGS) $(IN_GROUPS) $(if $(findstring /unity/test/,$@),$(FOREIGN_HEADERS)) -c $< -o $@

# Tests hold our declarations of CUDA and of iceoryx against their headers, where those are.
FOREIGN_HEADERS := $(addprefix -isystem ,$(patsubst %/cuda.h,%,$(wildcard $(CUDA_HOME)/include/cuda.h)) $(wildcard /usr/include/iceoryx/v2.*))
$(B)/test/%.o: test/%.cpp $(call precompiled,config) | $(LIBRARIES)
	@mkdir -p $(@D)
	$(call say,CXX,$<)
	$(Q)$(CXX) $(CPPFLAGS) $(BEFORE) $(CXXFLAGS) $(FOREIGN_HEADERS) -c $< -o $@

# What runs once, or mostly reads and writes text, takes longer to compile than to run, and so do the tests of the rooms; not for fuzzers, which run for long.
# (At that level g++ 12 calls <regex> uninitialized.)
TEXTS := config rtexec/bringup rtexec/c_api rtexec/command rtexec/json rtexec/report rtexec/study rtexec/view traces/report
ROOM_TESTS := $(call object,$(call sources,$(addprefix test/,$(ROOMS) support)))
$(ROOM_TESTS): $(call precompiled,test/support)
$(ROOM_TESTS): private BEFORE = $(call before_all,test/support)
ifneq ($(MODE),fuzz)
$(call object,$(call sources,$(TEXTS))) $(ROOM_TESTS): private \
  MODEFLAGS_$(MODE) := $(patsubst -O1,-Og,$(patsubst -O2,-Og,$(MODEFLAGS_$(MODE)))) -Wno-maybe-uninitialized
endif
# Benchmarks are not part of the checks, but each check looks whether they compile.
BENCH_SOURCES := $(wildcard test/bench/*.cpp)
BENCHES_COMPILE := $(BENCH_SOURCES:%.cpp=$(B)/%.compiles)
# Those that have parts of the tests are linked in each check, too.
BENCHES_OF_TESTS := $(patsubst %,$(B)/test/%-bench,analyze execution feed)
$(BENCHES_COMPILE): $(B)/%.compiles: %.cpp | $(LIBRARIES) $(BUILD)/.packages-CHECK
	@mkdir -p $(@D)
	$(call say,CHECK,$<)
	$(Q)$(CXX) $(CPPFLAGS) -MF $@.d -MT $@ $(BEFORE) $(CXXFLAGS) -fsyntax-only $< && touch $@

# Of these, what computes little: by clang, which takes 0.6 of g++'s time where it does not optimize. The sanitizers' builds have it by g++.
ifeq ($(MODE),release)
QUICK_TESTS := $(filter-out $(B)/test/tasks/cuda% $(B)/unity/test/tasks/onnx_oracle/% %/adversary.o %/benchmark_traffic_test.o,$(call object,$(call sources,$(addprefix test/,config hal tasks traces rtexec)))) $(BENCHES_COMPILE)
QUICK_HEADER := $(B)/test/support/precompiled.hpp.pch
$(QUICK_TESTS): $(QUICK_HEADER)
$(QUICK_TESTS): private BEFORE := -include-pch $(QUICK_HEADER)
$(QUICK_TESTS) $(QUICK_HEADER): private CXX := clang++-19 $(if $(CROSS),--target=$(TRIPLET) --sysroot=$(SYSROOT))
$(QUICK_TESTS) $(QUICK_HEADER): private COMPILER_MEMORY :=
$(QUICK_TESTS): private IN_GROUPS :=
$(QUICK_TESTS) $(QUICK_HEADER): private WARNINGS := -Wall -Wextra -Werror -Wno-deprecated-declarations
$(QUICK_TESTS) $(QUICK_HEADER): private MODEFLAGS_release := -O0 -DNDEBUG
$(QUICK_HEADER): test/support/precompiled.hpp | $(LIBRARIES) $(BUILD)/.packages-CHECK
	@mkdir -p $(@D)
	$(call say,CLANG,$<)
	$(Q)$(CXX) $(CPPFLAGS) $(CXXFLAGS) -fpch-instantiate-templates -x c++-header $< -o $@
endif

# liblttng-ust publishes probes by RCU, which ThreadSanitizer cannot see.
$(B)/traces/provider/%.o: MODEFLAGS_tsan := -w -O1 -g1

define room_archive
$(call archive,$(1)): $(call OBJECTS,$(1))
	$$(call say,AR,$$@)
	$$(Q)rm -f $$@ && $(CROSS)ar rcs $$@ $$(filter %.o,$$^)
endef
$(foreach room,$(ROOMS),$(eval $(call room_archive,$(room))))

# The device kernels as C++ over an emulation of the device, for the tests of tasks/ on a machine without a GPU. They enter themselves in a
# registry by static initialisation, so they are linked as objects.
EMULATED := $(foreach room,$(KERNEL_ROOMS),$(patsubst %.cu,$(B)/test/emulated/%.o,$(call kernels_of,$(room))))
$(EMULATED): $(B)/test/emulated/%.o: %.cu | $(LIBRARIES)
	@mkdir -p $(@D)
	$(call say,CXX,$< (emulated))
	$(Q)$(CXX) -x c++ $(CPPFLAGS) $(CXXFLAGS) -Wno-unknown-pragmas -Wno-sign-conversion -DRTEXEC_EMULATION \
	  -include test/tasks/cuda_emulation/primitives.hpp -c $< -o $@

# Nobody reads what a root reports as errno, or which exceptions floats raised; and bounds of a variable shall stay bounds, not become branches. (Said of a function alone, in an
# attribute, this keeps g++ 12 from vectorising what is inlined into it.)
$(call object,$(call sources,tasks/dnn/kernels)): private CXXFLAGS += -fno-math-errno -fno-trapping-math $(if $(filter fuzz,$(MODE)),,-fno-thread-jumps)

# At -O2 alone g++ 12 vectorises no loop whose length it does not know.
$(B)/tasks/dnn/kernels/integer_steps.o: private MODEFLAGS_release += -fvect-cost-model=dynamic

# The host and the device give the same bits of floats: no product becomes part of a sum. What a root reports as errno nobody reads.
$(call object,$(call sources,tasks/kernels)) $(filter $(B)/test/emulated/tasks/kernels/%,$(EMULATED)): private CXXFLAGS += -ffp-contract=off -fno-math-errno

define room_tests
$(B)/test/$(1)-tests: $(call object,$(call sources,test/$(1) test/support)) $(if $(filter tasks,$(1)),$(EMULATED)) $(if $(filter tasks rtexec,$(1)),$(B)/test/hal/fake_cuda_driver.o) $(if $(filter rtexec,$(1)),$(B)/test/hal/assembled_root.o) $(if $(filter rtexec,$(1)),$(filter-out %/main.o,$(SUPERVISOR_OBJECTS) $(VERIFIER_OBJECTS)) $(patsubst %,$(B)/rtexec/preload/%.o,functions job_gate pending_frees segments)) $(call link_of,$(1))
	$$(call say,LINK,$$@)
	$$(Q)$(CXX) $(LDFLAGS) -o $$@ $$(filter %.o,$$^) $(call link_of,$(1)) -lgmock -lgtest -lgtest_main $(call libs_of,$(1)) $(if $(filter rtexec,$(1)),$(LIBS_verifier))
endef
$(foreach room,$(TEST_ROOMS),$(eval $(call room_tests,$(room))))

ARCHIVES := $(call link_of,rtexec)
$(PROGRAM): $(call object,$(SRC_program)) $(ARCHIVES)
$(DAEMON): $(call object,$(SRC_daemon)) $(ARCHIVES)
$(PROGRAM) $(DAEMON):
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CXX) $(LDFLAGS) -o $@ $(filter %.o,$^) $(ARCHIVES) $(LIBS_all)

# Small, and able to start where nothing else is: it needs no library, and not what most sources are given.
$(SUPERVISOR_OBJECTS) $(VERIFIER_OBJECTS): private BEFORE :=
$(SUPERVISOR): $(SUPERVISOR_OBJECTS)
$(VERIFIER): $(VERIFIER_OBJECTS)
$(SUPERVISOR) $(VERIFIER):
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CXX) $(LDFLAGS) $(if $(filter release debug,$(MODE)),-static) -o $@ $^ $(if $(filter $(VERIFIER),$@),$(LIBS_verifier))

$(STATIC): $(LIBRARY_OBJECTS)
	$(call say,AR,$@)
	@mkdir -p $(@D)
	$(Q)rm -f $@ && $(CROSS)ar rcs $@ $^

# Instances of the standard library's templates are visible in spite of -fvisibility=hidden: this list hides them.
EXPORTS := rtexec/package/exports.map
$(SHARED): $(LIBRARY_OBJECTS) $(EXPORTS)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CXX) $(LDFLAGS) -shared -Wl,-soname,librtexec.so.$(SOVERSION) -Wl,--version-script,$(EXPORTS) -o $@ $(LIBRARY_OBJECTS) $(LIBS_all)
	$(Q)ln -sf librtexec.so.$(VERSION) $(@D)/librtexec.so.$(SOVERSION) && ln -sf librtexec.so.$(SOVERSION) $(@D)/librtexec.so

# It comes into programs of all kinds, which may have another C++ library: it has its own, and nobody sees it.
PRELOAD_EXPORTS := rtexec/preload/exports.map
ALL_DEFINED := -Wl,-z,defs -Wl,--gc-sections
$(PRELOAD): $(PRELOAD_OBJECTS) $(ARCHIVES) $(PRELOAD_EXPORTS)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CXX) $(LDFLAGS) -shared -static-libstdc++ -static-libgcc -Wl,-soname,$(@F) -Wl,--version-script,$(PRELOAD_EXPORTS) \
	  $(if $(filter release debug,$(MODE)),$(ALL_DEFINED)) -o $@ $(PRELOAD_OBJECTS) $(ARCHIVES) -l:liburing.a

# ---- demo -----------------------------------------------------------------------------------------------------------
ORDER ?=
LATE ?=
DEMO_MODELS := yolov3-tiny:320 resnet18:224 resnet50:224 googlenet:224 densenet201:224 resnext50:224
MODELS := $(foreach model,$(DEMO_MODELS),$(BUILD)/models/$(subst :,-,$(model)).onnx)
DEMO_PROFILE := $(BUILD)/demo-swap.profile.toml
DEMO := $(BUILD)/demo$(if $(LATE),-late)$(ORDER:%=-%)

$(BUILD)/models/%.onnx: | $(PROGRAM)
	@mkdir -p $(@D)
	$(Q)name='$*'; $(PROGRAM) model "$${name%-*}" --size "$${name##*-}" -o $@

# A profile is of one machine: measured where it runs, whenever the task set, its models or the program changed.
$(DEMO_PROFILE): config/demo-swap.toml $(MODELS) $(PROGRAM)
	@echo "measuring the execution times of the demo's networks on this machine"
	$(Q)$(PROGRAM) profile config/demo-swap.toml -o $@ --jobs 15 --margin 1.25
$(DEMO).toml: $(DEMO_PROFILE) config/demo-set
	$(Q)config/demo-set $(PROGRAM) $< $@ '$(ORDER)' '$(LATE)'

.PHONY: run
run: $(PROGRAM) $(DEMO).toml ## run six networks for 30 s that need twice the device's memory (ORDER=static-priority, LATE=1: one misses its deadlines)
	@rm -rf $(DEMO).trace $(DEMO).json
	@$(PROGRAM) run $(DEMO).toml $(if $(ORDER),--order $(ORDER)) $(if $(LATE),--force --flight-recorder,--trace) $(DEMO).trace --json $(DEMO).json; status=$$?; \
	  case $$status in \
	    0|4) trace=$$(ls -dv $(DEMO).trace/snapshot-* 2>/dev/null | tail -n 1); trace=$${trace:-$(DEMO).trace}; \
	      $(PROGRAM) analyze $$trace --html $(DEMO).html > $(DEMO).txt || [ $$? = 4 ] || exit $$?; \
	      if [ -z '$(LATE)' ]; then config/demo-bounds $(DEMO).toml; else sed -n '/^Misses/,/^$$/p' $(DEMO).txt; status=0; fi; \
	      echo "what happened: $(DEMO).html, as text $(DEMO).txt; report: $(DEMO).json; trace: $$trace" ;; \
	    3) echo "the execution times may have been measured beside other load; to measure anew: rm $(DEMO_PROFILE) && make run$(if $(ORDER), ORDER=$(ORDER))" ;; \
	  esac; exit $$status

# ---- checks ---------------------------------------------------------------------------------------------------------
.PHONY: check check-all borders format check-sanitizers check-asan check-tsan check-gpu check-fuzz bench
borders: | $(BUILD)/.packages-CHECK
	@test/check-borders
format: | $(BUILD)/.packages-CHECK
	@test/check-format

# A driver and a runtime of CUDA in software, and programs that use them.
P := $(B)/test/preload
STAND_INS := $(P)/libcuda.so.1 $(P)/libcudart.so.13 $(P)/libearly.so $(P)/libcrash.so
PRELOAD_TESTS := $(P)/calls $(P)/calls-linked $(P)/questions $(P)/tenant $(P)/practices
$(P)/libcuda.so.1: $(P)/stand_in_driver.o
$(P)/libcudart.so.13: $(P)/stand_in_runtime.o
$(P)/libearly.so: $(P)/early_allocator.o
$(P)/libcrash.so: $(P)/crash.o
$(STAND_INS):
	$(call say,LINK,$@)
	$(Q)$(CXX) $(LDFLAGS) -shared -Wl,-Bsymbolic -Wl,-soname,$(@F) -o $@ $(filter %.o,$^)
$(P)/calls: $(P)/calls.o
$(P)/questions: $(P)/questions.o
$(P)/tenant: $(P)/tenant.o $(P)/libcuda.so.1
$(P)/practices: $(P)/practices.o $(P)/libcuda.so.1
$(P)/calls-linked: $(P)/calls-linked.o $(P)/libcuda.so.1
$(P)/calls-linked.o: test/preload/calls.cpp $(call precompiled,config) | $(LIBRARIES)
	@mkdir -p $(@D)
	$(call say,CXX,$< (linked with the driver))
	$(Q)$(CXX) $(CPPFLAGS) $(BEFORE) $(CXXFLAGS) -DLINKED -c $< -o $@
$(PRELOAD_TESTS):
	$(call say,LINK,$@)
	$(Q)$(CXX) $(LDFLAGS) -rdynamic -o $@ $^

check: all borders format $(TEST_PROGRAMS) $(STAND_INS) $(PRELOAD_TESTS) $(SOUNDNESS) $(B)/test/bandwidth-bench $(B)/test/regulation-trials $(BENCHES_COMPILE) $(BENCHES_OF_TESTS) $(BUILD)/venv/.made ## build and run all tests
	@test/run-tests $(B) $(TEST_PROGRAMS)

check-all: ## the same with all operator cases, of which check runs a subset that covers each pair of parameters, and all rounds of random tests
	@RTEXEC_ALL_CASES=1 $(MAKE) check

.PHONY: compile-commands
compile-commands: ## write compile_commands.json, for clangd and other tools that read single files
	@$(MAKE) -n -B V=1 UNITY= all $(TEST_PROGRAMS) $(SOUNDNESS) $(BENCHES) | test/compile-commands

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
	@set -e; for room in $(CROSS_TESTS); do $(EMULATOR) $(B)/test/$$room-tests --gtest_brief=1 --gtest_filter=-$(NOT_EMULATED); done

.PHONY: sanitized
sanitized: $(TEST_PROGRAMS) | $(BUILD)/.packages-CHECK
	@test/run-tests $(B) $(TEST_PROGRAMS)

GPU_TESTS := $(filter %/hal-tests %/tasks-tests %/rtexec-tests,$(TEST_PROGRAMS))
FUZZ_SECONDS ?= 60
FUZZERS := toml onnx protocol
check-gpu: $(PROGRAM) $(GPU_TESTS) ## on a machine with an NVIDIA GPU: device rules, kernels, operators and networks on it
	@test/check-gpu $(B)

# Attacks the admission tests for as long as it takes: SOUNDNESS_SETS=1000000 SOUNDNESS_JOBS=1000000000 SOUNDNESS_TINY=50000.
SOUNDNESS_OBJECTS := $(call object,$(call sources,test/soundness) test/rtexec/adversary.cpp test/policies/swap_exhaustive.cpp test/policies/tiny_devices.cpp)
$(SOUNDNESS): $(SOUNDNESS_OBJECTS) $(ARCHIVES)
	$(call say,LINK,$@)
	$(Q)$(CXX) $(LDFLAGS) -o $@ $(SOUNDNESS_OBJECTS) $(ARCHIVES) $(LIBS_all)
.PHONY: check-soundness
check-soundness: $(SOUNDNESS) ## attack the admission tests: a million accepted sets, a billion jobs (SOUNDNESS_SETS=, SOUNDNESS_JOBS=, SOUNDNESS_TINY=, SOUNDNESS_SEED=, SOUNDNESS_TESTS=, SOUNDNESS_SHARD=K/N)
	@$(SOUNDNESS) $(BUILD)/soundness$(if $(SOUNDNESS_SHARD),-$(subst /,-of-,$(SOUNDNESS_SHARD))).json

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
ifeq ($(MODE),fuzz)
$(LIBRARY_OBJECTS): | $(BUILD)/.packages-FUZZ
endif

$(BUILD)/venv/.made: test/requirements.txt | $(BUILD)/.packages-CHECK
	@test/make-venv $(@D) $< && touch $@

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
$(B)/test/execution-bench $(B)/test/feed-bench: $(call object,test/support/files.cpp)
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

# ---- installation ---------------------------------------------------------------------------------------------------
PUBLIC_HEADERS := $(wildcard */include/rtexec/*.h */include/rtexec/*.hpp)
# The documents link to each other, so they keep their places.
DOCUMENTS := README.md CHANGELOG.md LICENSE $(wildcard $(ROOMS:%=%/*.md) $(ROOMS:%=%/*/*.md) boards/*.md boards/*/*.md test/*.md test/*/*.md config/*.toml rtexec/view/*.jpg rtexec/examples/*)
# A page for the program and one for each command, made of what --help prints; what help2man knows no section for gets one.
COMMANDS := analyze bringup calibrate calibrate-bandwidth calibrate-cut calibrate-memory check completion config experiment experiment-init experiment-isolation experiment-memory help infer model probe profile ps restore \
  run simulate sweep top
MAN := $(B)/man/rtexec.1 $(B)/man/rtexec-supervisor.1 $(B)/man/rtexecd.8 $(COMMANDS:%=$(B)/man/rtexec-%.1)
help_page = help2man --no-info --section 1 --version-string='rtexec $(VERSION)' --include=$(B)/man/see-also --name
$(B)/man/see-also: Makefile
	@mkdir -p $(@D)
	@{ echo '[see also]'; printf '.BR %s (1),\n' rtexec $(COMMANDS:%=rtexec\\-%); echo '.BR rtexecd (8)'; } > $@
man_sections = -e 's/^\.SS "Exit codes:"/.SH "EXIT STATUS"/; s/^\.SS "\(Arguments\|Subcommands\):"/.SH "\U\1"/'
$(B)/man/rtexec.1: $(RUNNABLE) $(B)/man/see-also
	$(call say,MAN,$@)
	$(Q)$(help_page) 'run periodic DNN tasks with promised deadlines' $< -o $@.new
	$(Q)sed $(man_sections) $@.new > $@ && rm $@.new
$(B)/man/rtexec-supervisor.1: $(dir $(RUNNABLE))rtexec-supervisor $(B)/man/see-also
	$(call say,MAN,$@)
	$(Q)$(subst rtexec $(VERSION),rtexec-supervisor $(VERSION),$(help_page)) 'run a task set, and run it again where it ends or is stuck' $< -o $@
$(B)/man/rtexecd.8: $(dir $(RUNNABLE))rtexecd $(B)/man/see-also
	$(call say,MAN,$@)
	$(Q)$(subst --section 1,--section 8,$(subst rtexec $(VERSION),rtexecd $(VERSION),$(help_page))) 'schedule one device among processes that are not ours, with deadlines' $< -o $@.new
	$(Q)sed $(man_sections) $@.new > $@ && rm $@.new
$(B)/man/rtexec-%.1: $(RUNNABLE) $(B)/man/see-also
	$(call say,MAN,$@)
	$(Q)command='$(subst -, ,$*)'; $(help_page) "$$($< $$command --help | sed -n 1p)" "$< $$command" -o $@.new
	$(Q)sed $(man_sections) -e 's/^\.TH RTEXEC /.TH RTEXEC-'$$(tr a-z A-Z <<< '$*')' /; s/^rtexec \\- /rtexec-$* \\- /' $@.new > $@ && rm $@.new
.PHONY: man
man: $(MAN)
all: man

COMPLETIONS := $(addprefix $(B)/completion/,bash zsh fish)
$(COMPLETIONS): $(RUNNABLE)
	@mkdir -p $(@D)
	$(Q)$< completion $(@F) > $@
all: $(COMPLETIONS)

# What tells other builds where the library is: templates, where @NAME@ stands for what is known here.
PACKAGE_FILES := $(addprefix $(B)/package/,rtexec.pc rtexec-c.pc rtexecConfig.cmake rtexecConfigVersion.cmake rtexec@.service rtexecd.service)
LIBS_private := -pthread $(subst $(SYSROOT)/,/,$(LIBS_all))
$(PACKAGE_FILES): $(B)/package/%: rtexec/package/%.in Makefile config/include/rtexec/version.hpp ALWAYS
	@mkdir -p $(@D)
	@sed 's|@PREFIX@|$(PREFIX)|; s|@VERSION@|$(VERSION)|; s|@SOVERSION@|$(SOVERSION)|; s|@LIBS@|$(LIBS_private)|' $< > $@

ROOT := $(DESTDIR)$(PREFIX)
ifneq ($(and $(CROSS),$(filter install,$(MAKECMDGOALS))),)
ifeq ($(DESTDIR),)
$(error BOARD=$(BOARD) is another machine ($(MACHINE)): install into a copy of its files, with DESTDIR=FOLDER)
endif
endif
DOC := $(ROOT)/share/doc/rtexec
.PHONY: install
install: all $(MAN) $(COMPLETIONS) $(PACKAGE_FILES) ## install program, libraries, headers, examples, boards, documents, completion (DESTDIR=, PREFIX=/usr/local)
	$(call say,INSTALL,$(ROOT))
	$(Q)install -D -t $(ROOT)/bin $(PROGRAM) $(SUPERVISOR) $(DAEMON)
	$(Q)install -D -m 644 -t $(ROOT)/lib $(STATIC) $(SHARED) $(PRELOAD)
	$(Q)cp -P $(B)/lib/librtexec.so $(B)/lib/librtexec.so.$(SOVERSION) $(ROOT)/lib
	$(Q)install -D -m 644 -t $(ROOT)/include/rtexec-$(SOVERSION)/rtexec $(PUBLIC_HEADERS)
	$(Q)install -D -m 644 -t $(ROOT)/lib/pkgconfig $(filter %.pc,$(PACKAGE_FILES))
	$(Q)install -D -m 644 -t $(ROOT)/lib/systemd/system $(filter %.service,$(PACKAGE_FILES))
	$(Q)install -D -m 644 -t $(ROOT)/lib/cmake/rtexec $(filter %.cmake,$(PACKAGE_FILES))
	$(Q)install -D -m 644 -t $(ROOT)/share/rtexec/boards boards/*.toml
	$(Q)install -D -m 644 -t $(ROOT)/share/rtexec/python rtexec/python/rtexec_client.py
	$(Q)install -D -m 644 -t $(ROOT)/share/man/man1 $(filter %.1,$(MAN))
	$(Q)install -D -m 644 -t $(ROOT)/share/man/man8 $(filter %.8,$(MAN))
	$(Q)install -D -m 644 $(B)/completion/bash $(ROOT)/share/bash-completion/completions/rtexec
	$(Q)install -D -m 644 $(B)/completion/zsh $(ROOT)/share/zsh/site-functions/_rtexec
	$(Q)install -D -m 644 $(B)/completion/fish $(ROOT)/share/fish/vendor_completions.d/rtexec.fish
	$(Q)set -e; for file in $(DOCUMENTS); do install -D -m 644 $$file $(DOC)/$$file; done
	$(Q)ln -sfn rtexec/examples $(DOC)/examples
	$(if $(DESTDIR),,$(Q)[ "$$(id -u)" != 0 ] || /sbin/ldconfig)

.PHONY: abi
abi: $(SHARED) | $(BUILD)/.packages-CHECK ## record names and types of the library's interface, against which checks hold it
	@rm -rf $(B)/abi && install -D -m 644 -t $(B)/abi/rtexec $(PUBLIC_HEADERS)
	@test/check-abi $(SHARED) $(B)/abi --record

# ---- a folder for another machine -----------------------------------------------------------------------------------
DIST ?= $(BUILD)/rtexec-$(VERSION)-$(if $(CROSS),$(BOARD),$(MACHINE))
DIST_BENCHES ?= $(BENCHES)
# NAME:SIZE:CLASSES each.
DIST_MODELS ?= efficientnet_b0:224:10
DIST_ARCHIVE ?= $(DIST).tar.xz
DIST_PROGRAMS := $(GPU_TESTS) $(DIST_BENCHES)
.PHONY: dist
dist: $(PROGRAM) $(SUPERVISOR) $(VERIFIER) $(DAEMON) $(PRELOAD) $(RUNNABLE) $(DIST_PROGRAMS) | $(BUILD)/.packages-DIST ## make a folder, and an archive of it, that runs on another Linux machine (DIST=FOLDER)
	$(call say,DIST,$(DIST))
	$(Q)SYSROOT=$(SYSROOT) TRIPLET=$(TRIPLET) RTEXEC=$(RUNNABLE) test/make-dist $(B) '$(DIST)' $(DIST_PROGRAMS) $(DIST_MODELS)
	$(Q)[ -z '$(DIST_ARCHIVE)' ] || { tar -C '$(dir $(DIST))' --owner=0 --group=0 --sort=name -c '$(notdir $(DIST))' | xz -9 > '$(DIST_ARCHIVE)' && \
	  du -sh --apparent-size '$(DIST)' '$(DIST_ARCHIVE)'; }

# ---- what a board boots ---------------------------------------------------------------------------------------------
IMAGE ?= $(BUILD)/image-$(BOARD)
# Task sets: a folder with tasks.toml, safe.toml and all that they name.
IMAGE_SET := $(B)/image-set
SET ?= $(IMAGE_SET)
# A board's own kernel in place of Debian's, and a folder of files that come over all others: its modules and driver.
KERNEL ?=
OVERLAY ?=
IMAGE_BASE := $(BUILD)/image-base-$(MACHINE)
$(IMAGE_BASE)/.made: boards/image/unpack-packages Makefile | $(BUILD)/.packages-UNPACK
	@$< $(MACHINE) $(@D) busybox-static libc6 rt-tests linux-image-rt-$(if $(filter aarch64,$(MACHINE)),arm64,amd64)
$(IMAGE_SET)/.made: $(wildcard boards/image/set/*) $(RUNNABLE)
	@mkdir -p $(@D) && cp boards/image/set/*.toml $(@D)
	$(Q)set -e; for size in 32 48; do $(RUNNABLE) model lenet5 --size $$size -o $(@D)/lenet5-$$size.onnx; done
	@touch $@

# The program and all that it needs, without models and tests.
IMAGE_DIST := $(B)/image-dist
$(IMAGE_DIST)/.made: $(PROGRAM) $(SUPERVISOR) $(VERIFIER) $(DAEMON) $(PRELOAD) $(RUNNABLE) $(UNPACKED)/.made test/make-dist | $(BUILD)/.packages-DIST
	$(Q)SYSROOT=$(UNPACKED) TRIPLET=$(TRIPLET) RTEXEC=$(RUNNABLE) test/make-dist $(B) $(@D)
	@touch $@

.PHONY: image emulate deploy
image: $(IMAGE_DIST)/.made $(IMAGE_BASE)/.made $(if $(filter $(IMAGE_SET),$(SET)),$(IMAGE_SET)/.made) | $(BUILD)/.packages-IMAGE ## make what a board boots: kernel, one initramfs, its command line (SET=FOLDER of task sets, KERNEL=, OVERLAY=, KEY= signs it)
	$(call say,IMAGE,$(IMAGE))
	$(Q)TRIPLET=$(TRIPLET) RTEXEC=$(RUNNABLE) boards/image/make-image $(BOARD) $(IMAGE_DIST) $(IMAGE_BASE) $(UNPACKED) '$(SET)' '$(IMAGE)' '$(KERNEL)' '$(OVERLAY)' '$(KEY)'
.PHONY: image-check image-faults image-verification image-regulation image-latency
IMAGE_BOARDS := tx2 xavier
image-check image-faults image-verification image-regulation: $(BUILD)/host-release/bin/rtexec | $(BUILD)/.packages-EMULATE
image-check: ## images of tx2 and xavier in an emulator: bring-up, two task sets, recorded
	@set -e; for board in $(IMAGE_BOARDS); do $(MAKE) BOARD=$$board image; done
	@test/image/check $(BUILD) $(IMAGE_BOARDS)
image-faults: ## the image of tx2 in an emulator, whose executive and supervisor are killed, whose boots fail
	@$(MAKE) BOARD=tx2 image
	@test/image/check-faults $(BUILD) tx2
image-verification: ## the image of BOARD in an emulator, signed and not, whose files change
	@$(MAKE) image IMAGE=$(BUILD)/image-$(BOARD)
	@[ -e $(BUILD)/image-test.key ] || openssl genpkey -algorithm ed25519 -out $(BUILD)/image-test.key
	@$(MAKE) image IMAGE=$(BUILD)/image-$(BOARD)-signed KEY=$(BUILD)/image-test.key
	@test/image/check-verification $(BUILD) $(BOARD)
image-regulation: ## the image of xavier in an emulator: memory bandwidth budgets of cores and clusters, a swap store on poll queues
	@$(MAKE) BOARD=xavier image $(BUILD)/xavier-release/test/bandwidth-bench $(BUILD)/xavier-release/test/regulation-trials
	@test/image/check-regulation $(BUILD)
image-latency: $(B)/test/bandwidth-bench image | $(BUILD)/.packages-EMULATE ## BOARD=host where KVM boots it: release latency beside cyclictest, what regulation costs
	@test/image/check-latency $(BUILD)
emulate: image | $(BUILD)/.packages-EMULATE ## boot the image of a board in an emulator, on this terminal
	@boards/image/emulate '$(IMAGE)'

HOST ?=
deploy: $(IMAGE_DIST)/.made ## copy the program to a board and bring it up there: BOARD=tx2 HOST=user@board (SET=FOLDER: task sets, too)
	@[ -n '$(HOST)' ] || { echo 'deploy: HOST=user@board says where the board is' >&2; exit 2; }
	@boards/image/deploy $(BOARD) $(IMAGE_DIST) '$(filter-out $(IMAGE_SET),$(SET))' '$(HOST)'

.PHONY: clean help
clean: ## remove all that was built
	rm -rf $(BUILD)

help: ## list the targets
	@awk -F ':[^#]*## ' '/^[a-z][a-z -]*:[^#]*## / {split($$1, t, " "); printf "  make %-18s %s\n", t[1], $$2}' $(MAKEFILE_LIST)
	@echo "  variables: BOARD=host MODE=release|debug|asan|tsan V=1 (show commands) NVCC= KERNEL_CLANG= (empty: do without) KERNEL_ARCHITECTURES="...""

-include $(shell find $(B) $(K) -name '*.d' 2>/dev/null)
