# The variables and the general targets; `make help` lists all targets. The rules are in the fragments that this file
# includes, one for each component.
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

FOLDERS := config policies hal tasks traces rtexec
TEST_FOLDERS := $(addprefix test/,$(FOLDERS) support soundness)

include rtexec/package/toolchain.mk
include config/config.mk policies/policies.mk hal/hal.mk tasks/tasks.mk traces/traces.mk hal/kernels.mk rtexec/rtexec.mk test/alone.mk
include rtexec/package/objects.mk
include config/demo.mk test/bench/bench.mk test/test.mk rtexec/package/package.mk boards/image/image.mk

.PHONY: clean help
clean: ## remove all that was built
	rm -rf $(BUILD)

help: ## list the targets
	@awk -F ':[^#]*## ' '/^[a-z][a-z -]*:[^#]*## / {split($$1, t, " "); printf "  make %-18s %s\n", t[1], $$2}' $(MAKEFILE_LIST)
	@echo "  variables: BOARD=host MODE=release|debug|asan|tsan V=1 (show commands) NVCC= KERNEL_CLANG= (empty: do without) KERNEL_ARCHITECTURES="...""

-include $(shell find $(B) $(K) -name '*.d' 2>/dev/null)
