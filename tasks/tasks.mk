# The code that tasks execute: the workload interface, inference back ends, load generators.
$(call component,tasks,hal config)
LIBS_tasks := -lonnx -lonnx_proto -lprotobuf -ljpeg -lm
KERNELS_IN_tasks := tasks/engine/cuda/kernels tasks/loads/benchmarks/cuda
KERNEL_HEADER_tasks := tasks/engine/cuda/network_kernel_images.hpp
ALONE += tasks/engine/cuda/row_layout.cpp tasks/engine/host/kernels/% tasks/loads/benchmarks/%

# No code reads errno after a square root, or the exception flags of floats. -fno-thread-jumps keeps clamps of variables
# as clamps, instead of turning them into branches. As an attribute of a single function, these options would keep
# g++ 12 from vectorising the code that is inlined into the function.
$(call flags,tasks/engine/host/kernels,-fno-math-errno -fno-trapping-math $(if $(filter fuzz,$(MODE)),,-fno-thread-jumps))
# With -O2 alone g++ 12 does not vectorise a loop of unknown length.
$(call flags,tasks/engine/host/kernels/integer_steps.cpp,$(if $(filter release,$(MODE)),-fvect-cost-model=dynamic))
# Host and device must compute the same bits of floats. Therefore no product is fused with a sum. No code reads errno
# after a square root.
$(call flags,tasks/loads/benchmarks,-ffp-contract=off -fno-math-errno)
