// CUDA kernels on the CPU: the same .cu files, compiled as C++ with RTEXEC_EMULATION defined and primitives.hpp
// included first, enter themselves in a registry under their names. Threads of a block are fibers of the calling
// thread, blocks run one after another; so results are repeatable, and memory that kernels are given is plain memory,
// which tests may guard. The blocks of a cluster run together.
//
// What a device leaves undefined is made visible: shared memory holds NaN before a block begins, asynchronous copies
// arrive no earlier than they are awaited, accesses beyond dynamic shared memory fault. A kernel that breaks a rule (a
// barrier or an exchange that not all reach, a misaligned copy, a thread that never waits for the kernel before) ends
// in std::logic_error, which says what happened where.
#pragma once

#include "tasks/engine/cuda/kernels/network_arguments.hpp"

#include <cstddef>
#include <span>
#include <string_view>

namespace rtexec::test::emulation {

using tasks::cuda::Launch;

/// `arguments` as for cuLaunchKernel: arguments[0] is the address of the kernel's argument struct, which is copied. The
/// name in the launch is not looked at. Threads of the process may launch at the same time. Throws std::logic_error.
using EmulatedKernel = void (*)(const Launch& launch, void** arguments);

/// Null where there is no kernel of this name.
[[nodiscard]] EmulatedKernel find_kernel(std::string_view name);
/// The kernel that the launch names.
void launch(const Launch& launch, void** arguments);

/// Fibers and sanitizers do not go together: null where launches work, else why they cannot be made in this build.
[[nodiscard]] const char* unavailable();

/// The order in which threads of a block begin, for launches of the calling thread: a kernel that lacks a barrier fails
/// under one of them.
enum class Order { forward, reverse };
void set_order(Order order);

/// Memory that other kernels write and read, for launches of the calling thread: until the threads of a block have
/// waited for the kernel before, it holds NaN, and what they write there is lost. So a kernel that starts too early
/// gives a wrong result. Empty: none.
void set_others(std::span<std::byte> memory);

// For the kernels' side of this header.

struct Registration {
  Registration(const char* name, EmulatedKernel kernel);
};

/// A kernel's code for one thread.
using Body = void (*)(const void* arguments);
void run(const Launch& launch, const char* name, int max_threads, Body body, const void* arguments);

struct Position {
  Launch launch;
  int thread, block_x, block_y, block_z;
  int rank;    // of the block in its cluster
  bool waited; // for the kernel before
};
extern constinit thread_local Position position;

void wait_for_previous();
/// All threads of the block arrive before one goes on.
void barrier();
/// All lanes of the warp arrive; then `combine` is called once with what each gave, in the order of lanes.
void together(void* operand, void (*combine)(void* const (&operands)[32]));
/// The block's memory for `key`, the same for all its threads.
[[nodiscard]] void* static_shared(const void* key, std::size_t size, std::size_t alignment);
[[nodiscard]] char* dynamic_shared();

/// A byte of shared memory, of this block or another one of its cluster, in 32 bits.
using SharedAddress = unsigned;
[[nodiscard]] SharedAddress shared_address(const void* pointer);
[[nodiscard]] SharedAddress in_block_of_cluster(SharedAddress address, int rank);
/// Null, and the kernel's end, where `size` bytes from there are not in the block's memory, or the block has ended.
[[nodiscard]] char* shared_pointer(SharedAddress address, std::size_t size);
/// All threads of the cluster arrive before one goes on.
void cluster_barrier();
/// By a thread that waits for what another one writes, again and again until it is there.
void let_others_run();

void must_be_aligned(const void* pointer, unsigned bytes);
void copy_later(SharedAddress to, const void* from, bool valid);
void commit_copies();
void await_copies(int pending);

} // namespace rtexec::test::emulation
