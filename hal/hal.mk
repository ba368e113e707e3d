# The component hal, which gives access to the machine: cores, counters, devices, memory, storage, clocks.
$(call component,hal,config)
LIBS_hal := -luring -lz
KERNELS_IN_hal := hal/cuda/kernels
KERNEL_HEADER_hal := hal/cuda/kernel_images.hpp
