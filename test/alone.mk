# Which sources of tests are compiled alone: those that several programs link, and what computes much; and which have flags of their own.
APART += test/tasks/onnx_oracle
ALONE += test/hal/fake_cuda_driver.cpp test/hal/assembled_root.cpp test/policies/swap_exhaustive.cpp test/policies/tiny_devices.cpp \
  test/support/ctf_writer.cpp test/support/trace_writer.cpp test/support/test_files.cpp test/tasks/cuda% test/tasks/isolated_nodes.cpp \
  test/tasks/random_onnx.cpp %/soundness_budget.cpp %/benchmark_traffic_test.cpp
