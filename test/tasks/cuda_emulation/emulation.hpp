// CUDA kernels on the CPU: the same .cu files, compiled as C++ with RTEXEC_EMULATION defined and primitives.hpp
// included first, register themselves under their names. Threads of a block are fibers of the calling thread, and
// blocks run one after another, so results are repeatable. Memory passed to kernels is plain memory, which tests may
// guard. The blocks of a cluster run together.
//
// Behaviour that a device leaves undefined is made visible. Shared memory holds NaN before a block begins, asynchronous
// copies arrive no earlier than they are awaited, and accesses beyond dynamic shared memory fault. A kernel that breaks
// a rule (a barrier or an exchange that not all threads reach, a misaligned copy, a thread that never waits for the
// previous kernel) causes std::logic_error, which says what happened where.
#pragma once

#include "tasks/engine/cuda/kernels/network_arguments.hpp"

#include <cstddef>
#include <span>
#include <string_view>

namespace rtexec::test::emulation {

using tasks::cuda::Launch;

/// Launches a kernel. `arguments` are as for cuLaunchKernel: arguments[0] is the address of the kernel's argument
/// struct, which is copied. The name in the launch is ignored. Several threads may launch at the same time. Throws
/// std::logic_error.
using EmulatedKernel = void (*)(const Launch& launch, void** arguments);

/// Returns null if there is no kernel of this name.
[[nodiscard]] EmulatedKernel find_kernel(std::string_view name);
/// Launches the kernel that the launch names.
void launch(const Launch& launch, void** arguments);

/// Returns null if launches work, else the reason why this build does not support them: fibers do not work with
/// sanitizers.
[[nodiscard]] const char* unavailable();

/// The order in which threads of a block begin, for launches of the calling thread. A kernel that lacks a barrier fails
/// under one of the two orders.
enum class Order { forward, reverse };
void set_order(Order order);

/// Sets the memory shared with other kernels, for launches of the calling thread; empty: none. Until the threads of a
/// block have waited for the previous kernel, it holds NaN, and their writes to it are lost. So a kernel that starts
/// too early gives a wrong result.
void set_others(std::span<std::byte> memory);

// Functions for the kernels.

struct Registration {
  Registration(const char* name, EmulatedKernel kernel);
};

/// A kernel's code for one thread.
using Body = void (*)(const void* arguments);
void run(const Launch& launch, const char* name, int max_threads, Body body, const void* arguments);

struct Position {
  Launch launch;
  int thread, block_x, block_y, block_z;
  int rank;    // rank of the block in its cluster
  bool waited; // the thread has waited for the previous kernel
};
extern constinit thread_local Position position;

void wait_for_previous();
/// Waits until all threads of the block have arrived.
void barrier();
/// Waits until all lanes of the warp have arrived, then calls `combine` once with the lanes' operands, in the order of
/// lanes.
void together(void* operand, void (*combine)(void* const (&operands)[32]));
/// Returns the block's memory for `key`, the same for all its threads.
[[nodiscard]] void* static_shared(const void* key, std::size_t size, std::size_t alignment);
[[nodiscard]] char* dynamic_shared();

/// The address of a byte of shared memory in 32 bits, in this block or another one of its cluster.
using SharedAddress = unsigned;
[[nodiscard]] SharedAddress shared_address(const void* pointer);
[[nodiscard]] SharedAddress in_block_of_cluster(SharedAddress address, int rank);
/// Returns the pointer. Ends the kernel with an error and returns null if `size` bytes from there are not in the
/// block's memory, or the block has ended.
[[nodiscard]] char* shared_pointer(SharedAddress address, std::size_t size);
/// Waits until all threads of the cluster have arrived.
void cluster_barrier();
/// Lets other threads run. A thread that waits for another one's write calls it repeatedly.
void let_others_run();

void must_be_aligned(const void* pointer, unsigned bytes);
void copy_later(SharedAddress to, const void* from, bool valid);
void commit_copies();
void await_copies(int pending);

} // namespace rtexec::test::emulation
