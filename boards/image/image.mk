# Makes the image that a board boots, and runs it in an emulator.
IMAGE ?= $(BUILD)/image-$(BOARD)
# IMAGE_SET, SET: a folder of task sets, with tasks.toml, safe.toml and all files that they name.
IMAGE_SET := $(B)/image-set
SET ?= $(IMAGE_SET)
# KERNEL: a board's own kernel, in place of Debian's kernel. OVERLAY: a folder of files that replace files of the image
# or are added to it, such as the kernel's modules and the driver.
KERNEL ?=
OVERLAY ?=
IMAGE_BASE := $(BUILD)/image-base-$(MACHINE)
$(IMAGE_BASE)/.made: boards/image/unpack-packages $(TOOLCHAIN) | $(BUILD)/.packages-UNPACK
	@$< $(MACHINE) $(@D) busybox-static libc6 rt-tests linux-image-rt-$(if $(filter aarch64,$(MACHINE)),arm64,amd64)
$(IMAGE_SET)/.made: $(wildcard boards/image/set/*) $(RUNNABLE)
	@mkdir -p $(@D) && cp boards/image/set/*.toml $(@D)
	$(Q)set -e; for size in 32 48; do $(RUNNABLE) model lenet5 --size $$size -o $(@D)/lenet5-$$size.onnx; done
	@touch $@

# The program and all files that it needs, without models and tests.
IMAGE_DIST := $(B)/image-dist
$(IMAGE_DIST)/.made: $(PROGRAM) $(SUPERVISOR) $(VERIFIER) $(DAEMON) $(PRELOAD) $(RUNNABLE) $(UNPACKED)/.made rtexec/package/make-dist | $(BUILD)/.packages-DIST
	$(Q)SYSROOT=$(UNPACKED) TRIPLET=$(TRIPLET) RTEXEC=$(RUNNABLE) rtexec/package/make-dist $(B) $(@D)
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
