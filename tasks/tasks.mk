# What is run: the workload interface, inference back ends, load generators.
$(call component,tasks,hal config)
LIBS_tasks := -lonnx -lonnx_proto -lprotobuf -ljpeg -lm
KERNELS_IN_tasks := tasks/engine/cuda/kernels tasks/loads/benchmarks/cuda
KERNEL_HEADER_tasks := tasks/engine/cuda/network_kernel_images.hpp
ALONE += tasks/engine/cuda/row_layout.cpp tasks/engine/host/kernels/% tasks/loads/benchmarks/%

# Nobody reads what a root reports as errno, or which exceptions floats raised; and bounds of a variable shall stay bounds, not become branches. (Said of a function alone, in an
# attribute, this keeps g++ 12 from vectorising what is inlined into it.)
$(call flags,tasks/engine/host/kernels,-fno-math-errno -fno-trapping-math $(if $(filter fuzz,$(MODE)),,-fno-thread-jumps))
# At -O2 alone g++ 12 vectorises no loop whose length it does not know.
$(call flags,tasks/engine/host/kernels/integer_steps.cpp,$(if $(filter release,$(MODE)),-fvect-cost-model=dynamic))
# The host and the device give the same bits of floats: no product becomes part of a sum. What a root reports as errno nobody reads.
$(call flags,tasks/loads/benchmarks,-ffp-contract=off -fno-math-errno)
