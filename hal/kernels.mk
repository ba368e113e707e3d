# Device kernels. They are compiled for the architecture of each board and embedded in the library. nvcc compiles
# cubins, and PTX for newer GPUs. For architectures that nvcc does not support (nvcc 13: TX2's sm_62 and Xavier's
# sm_72), clang compiles PTX. clang uses the oldest sufficient PTX version, because old drivers translate the PTX. All
# modes share the kernels. Without a compiler for the kernels, the program is built without kernels.
CUDA_HOME ?= /usr/local/cuda
first_of = $(firstword $(foreach name,$(1),$(shell command -v $(name) 2>/dev/null)))
NVCC ?= $(call first_of,$(CUDA_HOME)/bin/nvcc nvcc)
KERNEL_CLANG ?= $(call first_of,clang-19 clang-16 clang-14 clang)
CCACHE ?= $(call first_of,ccache)
KERNEL_COMPONENTS := hal tasks
kernels_of = $(sort $(wildcard $(KERNELS_IN_$(1):%=%/*.cu)))
# The architectures of the board, or of this machine's GPUs. `make dist` for machines like this one compiles the kernels
# for the architectures of all boards.
GPUS_HERE = $(sort $(subst .,,$(shell nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null)))
KERNEL_ARCHITECTURES := $(or $(call board_says,gpu_architecture),$(if $(filter dist,$(MAKECMDGOALS)),62 72 75 80 90,$(GPUS_HERE)))
NVCC_TARGETS := $(if $(NVCC),$(patsubst sm_%,%,$(shell $(NVCC) --list-gpu-code 2>/dev/null)))
CLANG_TARGETS := $(if $(KERNEL_CLANG),$(patsubst sm_%,%,$(filter sm_%,$(shell $(KERNEL_CLANG) --target=nvptx64 --print-supported-cpus 2>&1 </dev/null))))
CLANG_PTX_VERSION := $(if $(KERNEL_CLANG),$(if $(shell $(KERNEL_CLANG) --help-hidden 2>/dev/null | grep -- --cuda-feature),--cuda-feature=+ptx63,-Xclang -target-feature -Xclang +ptx63))
BY_NVCC := $(filter $(NVCC_TARGETS),$(KERNEL_ARCHITECTURES))
BY_CLANG := $(filter $(CLANG_TARGETS),$(filter-out $(BY_NVCC),$(KERNEL_ARCHITECTURES)))
BY_NONE := $(filter-out $(BY_NVCC) $(BY_CLANG),$(KERNEL_ARCHITECTURES))
K := $(BUILD)/kernels
images = $(foreach component,$(KERNEL_COMPONENTS),$(foreach kernel,$(basename $(notdir $(call kernels_of,$(component)))),$(1:%=$(K)/$(component)/$(kernel).sm_%)))
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

KERNELS_LEFT_OUT := $(if $(KERNEL_ARCHITECTURES),\
  $(if $(BY_NONE),no compiler for device kernels of $(BY_NONE:%=sm_%): built without those; apt-get install clang-19 adds PTX for all),\
  no GPU here: built without device kernels; make dist has those of all boards)
$(B)/kernel_images: ALWAYS
	@mkdir -p $(@D)
	@echo '$(KERNEL_IMAGES)' | cmp -s - $@ || { echo '$(KERNEL_IMAGES)' > $@; \
	  $(if $(KERNELS_LEFT_OUT),echo '  $(strip $(KERNELS_LEFT_OUT))',:); }

# A table of images for each component. The header that declares the table is in the folder of the component's kernels.
define kernel_table
GENERATED_$(1) += $(B)/$(1)/kernel_images.cpp
$(B)/$(1)/kernel_images.cpp: hal/cuda/make-kernel-table $(B)/kernel_images $(filter $(K)/$(1)/%,$(KERNEL_IMAGES))
	@mkdir -p $$(@D)
	$$(Q)$$< $(1) $(KERNEL_HEADER_$(1)) $(filter $(K)/$(1)/%,$(KERNEL_IMAGES)) > $$@
endef
$(foreach component,$(KERNEL_COMPONENTS),$(eval $(call kernel_table,$(component))))
.PHONY: kernels
kernels: $(KERNEL_COMPONENTS:%=$(B)/%/kernel_images.cpp) ## compile the device kernels only
