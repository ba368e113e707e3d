# The tools of the build: the board, the compiler and its flags, packages.

TOOLCHAIN := $(lastword $(MAKEFILE_LIST))

# The target of the build, as the board's file describes it. If the file has no description, the target is this machine.
HERE := $(shell uname -m)
ifeq ($(wildcard boards/$(BOARD).toml),)
$(error BOARD=$(BOARD): no boards/$(BOARD).toml; there are $(sort $(patsubst boards/%.toml,%,$(wildcard boards/*.toml))))
endif
board_says = $(shell sed -n '/^\[build\]/,/^$$/s/^$(1) = "\(.*\)"/\1/p' boards/$(BOARD).toml)
MACHINE := $(or $(call board_says,machine),$(HERE))
TRIPLET := $(MACHINE)-linux-gnu
# Programs for another machine are built by Debian's cross compiler, against libraries that are unpacked into a folder.
CROSS := $(if $(filter-out $(HERE),$(MACHINE)),$(TRIPLET)-)
UNPACKED := $(abspath $(BUILD))/sysroot-$(MACHINE)
SYSROOT := $(if $(CROSS),$(UNPACKED))
CPU := $(call board_says,cpu)

VERSION := $(shell sed -n 's/^#define RTEXEC_VERSION_[A-Z]* //p' rtexec/include/rtexec/version.hpp | paste -sd.)
SOVERSION := 0
B := $(BUILD)/$(BOARD)-$(MODE)
Q := $(if $(V),,@)
say = @$(if $(V),:,printf '  %-7s %s\n' '$(1)' '$(2)')

# ---- packages ----
PACKAGES_BUILD := g++ pkg-config python3 libsodium-dev libtomlplusplus-dev libonnx-dev libprotobuf-dev protobuf-compiler libstb-dev \
  libcli11-dev nlohmann-json3-dev help2man lttng-tools liblttng-ust-dev liblttng-ctl-dev babeltrace2 libbabeltrace2-dev liburing-dev \
  libboost-dev libboost-math-dev libgtest-dev libgmock-dev libjpeg-dev zlib1g-dev
PACKAGES_IMAGE := libarchive-tools kmod openssl zstd
PACKAGES_CHECK := $(PACKAGES_IMAGE) clang-format python3-venv chromium chromium-driver clang clang-19 cmake abigail-tools xz-utils parallel perl shellcheck libbenchmark-dev \
  iceoryx libiceoryx-binding-c-dev systemd-container
PACKAGES_BENCH := libbenchmark-dev rt-tests iceoryx libiceoryx-binding-c2
PACKAGES_TIDY := clang-tidy-19
PACKAGES_FUZZ := clang-19 libclang-rt-19-dev
PACKAGES_DIST := patchelf xz-utils
PACKAGES_CROSS := g++-$(subst _,-,$(MACHINE))-linux-gnu qemu-user-static
PACKAGES_UNPACK := mmdebstrap
PACKAGES_EMULATE := qemu-system-arm qemu-system-x86 device-tree-compiler e2fsprogs

# package_stamp(SET): the rule for a stamp, a file that exists once every package of the set is installed. Missing
# packages are installed (as root).
define package_stamp
$(BUILD)/.packages-$(1): rtexec/package/install-packages $(TOOLCHAIN)
	@mkdir -p $$(@D)
	@rtexec/package/install-packages $$(PACKAGES_$(1))
	@touch $$@
endef
$(foreach set,BUILD CHECK TIDY BENCH FUZZ DIST CROSS UNPACK IMAGE EMULATE,$(eval $(call package_stamp,$(set))))

# The prerequisites of every object: the packages and, for another machine, the libraries of that machine.
LIBRARIES := $(BUILD)/.packages-BUILD $(if $(filter fuzz,$(MODE)),$(BUILD)/.packages-FUZZ) $(if $(CROSS),$(SYSROOT)/.made)
$(UNPACKED)/.made: boards/image/unpack-packages $(TOOLCHAIN) | $(BUILD)/.packages-UNPACK $(if $(CROSS),$(BUILD)/.packages-CROSS)
	@$< $(MACHINE) $(@D) $(filter %-dev,$(PACKAGES_BUILD) $(PACKAGES_CHECK) $(PACKAGES_BENCH)) lttng-tools babeltrace2

# ---- flags ----
WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wold-style-cast -Wnon-virtual-dtor -Woverloaded-virtual -Werror
MODEFLAGS_release := -O2 -DNDEBUG
MODEFLAGS_debug := -O0 -g
# Under a sanitizer g++ gives false warnings, as its manual states. The other builds have the warnings enabled.
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
# The garbage collection of the compiler, which would begin at 128 MiB, takes a twentieth of the compiler's time.
COMPILER_MEMORY := --param ggc-min-heapsize=400000
endif
CXXFLAGS += -std=c++23 -fPIC -fvisibility=hidden -pthread $(WARNINGS) $(COMPILER_MEMORY) $(MODEFLAGS_$(MODE)) $(CPU:%=-mcpu=%) -I. -Irtexec/include
# Names of files in programs, such as the name of a header of the sysroot, do not show where the sysroot was.
CPPFLAGS += $(if $(SYSROOT),-ffile-prefix-map=$(SYSROOT)=) -MMD -MP -DRTEXEC_VERSION='"$(VERSION)"' -DONNX_ML=1 -DONNX_NAMESPACE=onnx
LDFLAGS += -pthread $(MODEFLAGS_$(MODE))

# ---- functions by which fragments declare their components ----
# component(FOLDER,OTHERS): the component's sources become an archive. A program that links this archive links the
# archives of OTHERS behind it. A fragment may set LIBS_FOLDER (libraries) and GENERATED_FOLDER (sources that a program
# generates). A fragment may also add to TEXTS, ALONE, APART, BARE and MAINS of objects.mk.
component = $(eval COMPONENTS += $(1))$(eval NEEDS_$(1) := $(2))
archive = $(B)/$(1).a
link_of = $(foreach each,$(1) $(NEEDS_$(1)),$(call archive,$(each)))
libs_of = $(foreach each,$(1) $(NEEDS_$(1)),$(LIBS_$(each)))
# flags(FOLDER or FILE,FLAGS): adds flags for compiling the sources of the folder, or the file.
flags = $(eval FLAGGED += $(1))$(eval FLAGS_$(1) := $(2))
