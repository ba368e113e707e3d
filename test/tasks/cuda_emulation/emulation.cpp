#include "test/tasks/cuda_emulation/emulation.hpp"

#include "test/support/sanitized.hpp"

#include <csetjmp>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

namespace rtexec::test::emulation {

constinit thread_local Position position{};

namespace {

constexpr std::size_t stack_size = 256U << 10U;
constexpr std::size_t max_shared = 227U << 10U; // maximum for a block on sm_90
constexpr unsigned max_blocks_yz = 65535;
constexpr unsigned max_in_cluster = 8;
constexpr int max_idle_turns = 1 << 20;
constexpr int warp = 32;
constexpr unsigned char poison = 0xff; // NaN, as float and as half

/// Memory whose end is followed by a page that faults.
class Guarded {
 public:
  explicit Guarded(std::size_t size)
      : page_(static_cast<std::size_t>(::sysconf(_SC_PAGESIZE))), size_((size + page_ - 1) / page_ * page_) {
    void* map = ::mmap(nullptr, size_ + 2 * page_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap");
    map_ = static_cast<char*>(map);
    if (::mprotect(begin(), size_, PROT_READ | PROT_WRITE) != 0)
      throw std::system_error(errno, std::generic_category(), "mprotect");
  }
  ~Guarded() { ::munmap(map_, size_ + 2 * page_); }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;
  [[nodiscard]] char* begin() const { return map_ + page_; }
  [[nodiscard]] char* end() const { return begin() + size_; }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  std::size_t page_, size_;
  char* map_ = nullptr;
};

/// A stack that runs threads of a block, one after another, until one must wait for others. Then the remaining threads
/// continue on another stack.
struct Fiber {
  Guarded stack{stack_size};
  ucontext_t context{};
  std::jmp_buf resume{};
  bool entered = false;
  Position position{}; // position of its thread while it waits
};

struct Copy {
  char* to;
  const void* from;
  bool valid;
};

/// The copies of one thread. They arrive when they are awaited.
struct Copies {
  std::vector<Copy> open;
  std::deque<std::vector<Copy>> groups;

  static void arrive(const std::vector<Copy>& copies) {
    for (const auto& copy : copies) {
      if (copy.valid) std::memcpy(copy.to, copy.from, 16);
      else std::memset(copy.to, 0, 16);
    }
  }
  void arrive_all() {
    for (const auto& group : groups) arrive(group);
    arrive(open);
    groups.clear();
    open.clear();
  }
};

struct Warp {
  void* operands[warp] = {};
  Fiber* waiting[warp] = {};
  void (*combine)(void* const (&operands)[warp]) = nullptr;
  int arrived = 0;
};

/// Shared memory and threads of one block. Addresses have 32 bits: the block's rank in its cluster, then dynamic or
/// static, then the offset.
class Block {
 public:
  static constexpr SharedAddress rank_unit = 1U << 24U, static_unit = 1U << 20U;

  int begun = 0, ended = 0;
  std::vector<Fiber*> at_barrier;
  std::vector<Warp> warps;
  std::vector<Copies> copies;

  void begin(int threads, std::size_t dynamic_size) {
    dynamic_size_ = (dynamic_size + 15U) / 16U * 16U;
    std::memset(static_.begin(), poison, static_used_);
    std::memset(dynamic(), poison, dynamic_size_);
    slots_.clear();
    static_used_ = 0;
    begun = ended = 0;
    at_barrier.clear();
    warps.assign(static_cast<std::size_t>((threads + warp - 1) / warp), {});
    copies.assign(static_cast<std::size_t>(threads), {});
  }

  /// Returns null if there is no room.
  void* slot(const void* key, std::size_t size, std::size_t alignment) {
    for (const auto& slot : slots_)
      if (slot.key == key) return slot.memory;
    const auto at = (static_used_ + alignment - 1) / alignment * alignment;
    if (at + size > max_shared) return nullptr;
    static_used_ = at + size;
    slots_.push_back({key, static_.begin() + at});
    return slots_.back().memory;
  }
  /// Returns dynamic shared memory, aligned to 16 bytes. The byte after the last one faults.
  [[nodiscard]] char* dynamic() const { return dynamic_.end() - dynamic_size_; }

  [[nodiscard]] SharedAddress address(const void* pointer) const {
    const auto* byte = static_cast<const char*>(pointer);
    if (byte >= dynamic() && byte < dynamic_.end()) return static_cast<SharedAddress>(byte - dynamic());
    return static_unit + static_cast<SharedAddress>(byte - static_.begin());
  }
  [[nodiscard]] char* pointer(SharedAddress address, std::size_t size) const {
    const std::size_t offset = address % static_unit;
    const bool is_static = address % rank_unit >= static_unit;
    if (offset + size > (is_static ? static_used_ : dynamic_size_)) return nullptr;
    return (is_static ? static_.begin() : dynamic()) + offset;
  }

 private:
  struct Slot {
    const void* key;
    void* memory;
  };
  Guarded static_{max_shared}, dynamic_{max_shared};
  std::vector<Slot> slots_;
  std::size_t static_used_ = max_shared; // initial value, or the amount used by the previous block
  std::size_t dynamic_size_ = 0;
};

/// Runs the blocks of one kernel on the calling thread. It is kept from launch to launch, for its stacks.
class Machine {
 public:
  Order order = Order::forward;
  std::span<std::byte> others; // memory of other kernels

  void run(const Launch& launch, const char* name, Body body, const void* arguments) {
    name_ = name;
    body_ = body;
    arguments_ = arguments;
    threads_ = static_cast<int>(launch.threads);
    while (blocks_.size() < launch.cluster_z) blocks_.push_back(std::make_unique<Block>());
    position = {};
    position.launch = launch;
    for (unsigned z = 0; z < launch.grid_z; z += launch.cluster_z)
      for (unsigned y = 0; y < launch.grid_y; ++y)
        for (unsigned x = 0; x < launch.grid_x; ++x) {
          position.block_x = static_cast<int>(x);
          position.block_y = static_cast<int>(y);
          position.block_z = static_cast<int>(z);
          run_cluster(static_cast<int>(launch.cluster_z));
        }
  }

  Block& block() { return *blocks_[static_cast<std::size_t>(position.rank)]; }
  Copies& copies() { return block().copies[static_cast<std::size_t>(position.thread)]; }

  void wait_for_previous() {
    position.waited = true;
    if (others.empty()) return;
    if (static_cast<int>(at_wait_.size()) + 1 == threads_ * cluster_) give_others_back();
    meet(at_wait_, threads_ * cluster_);
  }
  void barrier() { meet(block().at_barrier, threads_); }
  void cluster_barrier() { meet(at_cluster_barrier_, threads_ * cluster_); }

  void let_others_run() {
    if (++idle_turns_ > max_idle_turns) fail("it waits for what nobody writes");
    ready_.push_back(running_);
    suspend();
  }

  void together(void* operand, void (*combine)(void* const (&operands)[warp])) {
    auto& own = block().warps[static_cast<std::size_t>(position.thread / warp)];
    if (own.arrived > 0 && own.combine != combine) fail("the lanes of a warp are at different exchanges");
    own.combine = combine;
    own.operands[position.thread % warp] = operand;
    own.waiting[own.arrived++] = running_;
    if (own.arrived < warp) return suspend();
    combine(own.operands);
    own.arrived = 0;
    idle_turns_ = 0;
    for (auto* fiber : own.waiting)
      if (fiber != running_) ready_.push_back(fiber);
  }

  void* static_shared(const void* key, std::size_t size, std::size_t alignment) {
    auto* memory = block().slot(key, size, alignment);
    if (!memory) fail("more static shared memory than a block may have");
    return memory;
  }

  SharedAddress shared_address(const void* pointer) {
    return static_cast<SharedAddress>(position.rank) * Block::rank_unit + block().address(pointer);
  }
  char* shared_pointer(SharedAddress address, std::size_t size) {
    const auto rank = static_cast<int>(address / Block::rank_unit);
    if (rank >= cluster_) fail("shared memory of a block that is not in the cluster");
    auto& of = *blocks_[static_cast<std::size_t>(rank)];
    if (of.ended == threads_) fail("shared memory of a block that has ended");
    auto* pointer = of.pointer(address, size);
    if (!pointer) fail("an access beyond shared memory");
    return pointer;
  }

  /// Reports an error of the kernel, which ends. Its threads that are under way, including this one, are abandoned.
  void fail(const std::string& what) {
    if (error_.empty()) error_ = where() + ", thread " + std::to_string(position.thread) + ": " + what;
    for (;;) suspend();
  }

 private:
  void run_cluster(int size) {
    cluster_ = size;
    for (int rank = 0; rank < size; ++rank)
      blocks_[static_cast<std::size_t>(rank)]->begin(threads_, position.launch.shared);
    at_cluster_barrier_.clear();
    at_wait_.clear();
    idle_turns_ = 0;
    take_others_away();
    beginning_ = 0;
    const Position first = position;
    for (int ended = 0; ended < size && error_.empty();) {
      if (!ready_.empty()) {
        auto* fiber = ready_.front();
        ready_.pop_front();
        position = fiber->position;
        resume(fiber);
      } else if (beginning_ < size) {
        position = first;
        resume(idle_fiber());
      } else {
        position = first;
        deadlock();
      }
      while (ended < size && blocks_[static_cast<std::size_t>(ended)]->ended == threads_) ++ended;
    }
    position = first;
    if (!error_.empty()) give_up();
  }

  void take_others_away() {
    others_kept_.assign(others.begin(), others.end());
    if (!others.empty()) std::memset(others.data(), poison, others.size());
  }
  void give_others_back() {
    if (!others_kept_.empty()) std::memcpy(others.data(), others_kept_.data(), others.size());
    others_kept_.clear();
  }

  /// Waits until `all` threads have arrived.
  void meet(std::vector<Fiber*>& waiting, int all) {
    waiting.push_back(running_);
    if (static_cast<int>(waiting.size()) < all) return suspend();
    for (auto* fiber : waiting)
      if (fiber != running_) ready_.push_back(fiber);
    waiting.clear();
  }

  [[nodiscard]] std::string where() const {
    return "kernel " + std::string(name_) + ", block (" + std::to_string(position.block_x) + ", " +
           std::to_string(position.block_y) + ", " + std::to_string(position.block_z) + ")";
  }

  void deadlock() {
    error_ = where() + ": threads wait for others that never come:";
    for (int rank = 0; rank < cluster_; ++rank) {
      const auto& of = *blocks_[static_cast<std::size_t>(rank)];
      error_ += " " + std::to_string(of.at_barrier.size()) + " of " + std::to_string(threads_) + " are at a barrier, " +
                std::to_string(of.ended) + " have ended;";
    }
    error_ += " " + std::to_string(at_cluster_barrier_.size()) + " are at a barrier of the cluster";
  }

  /// Abandons the stacks, which are in use; the next launch gets new ones.
  [[noreturn]] void give_up() {
    const auto what = std::exchange(error_, {});
    give_others_back();
    idle_.clear();
    fibers_.clear();
    ready_.clear();
    throw std::logic_error(what);
  }

  Fiber* idle_fiber() {
    if (idle_.empty()) {
      fibers_.push_back(std::make_unique<Fiber>());
      return fibers_.back().get();
    }
    auto* fiber = idle_.back();
    idle_.pop_back();
    return fiber;
  }

  void resume(Fiber* fiber) {
    running_ = fiber;
    if (_setjmp(scheduler_) != 0) return;
    if (fiber->entered) _longjmp(fiber->resume, 1);
    fiber->entered = true;
    ::getcontext(&fiber->context);
    fiber->context.uc_stack.ss_sp = fiber->stack.begin();
    fiber->context.uc_stack.ss_size = fiber->stack.size();
    fiber->context.uc_link = nullptr;
    ::makecontext(&fiber->context, &Machine::enter, 0);
    ::setcontext(&fiber->context);
  }

  /// Switches from a fiber to the scheduler until the fiber is resumed.
  void suspend() {
    auto* fiber = running_;
    fiber->position = position;
    if (_setjmp(fiber->resume) == 0) _longjmp(scheduler_, 1);
  }

  static void enter();
  [[noreturn]] void run_threads() {
    for (;;) {
      const Position first = position;
      while (begin_thread(first)) {
        body_(arguments_);
        if (!position.waited) fail("it has not waited for the kernel before");
        copies().arrive_all();
        ++block().ended;
      }
      idle_.push_back(running_);
      suspend();
    }
  }

  /// Makes this fiber the next thread that has not begun.
  bool begin_thread(const Position& first) {
    if (beginning_ < cluster_ && blocks_[static_cast<std::size_t>(beginning_)]->begun == threads_) ++beginning_;
    if (beginning_ == cluster_) return false;
    auto& of = *blocks_[static_cast<std::size_t>(beginning_)];
    position = first;
    position.rank = beginning_;
    position.block_z = first.block_z + beginning_ - first.rank;
    position.thread = order == Order::forward ? of.begun : threads_ - 1 - of.begun;
    position.waited = false;
    ++of.begun;
    return true;
  }

  std::vector<std::unique_ptr<Block>> blocks_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> idle_, at_cluster_barrier_, at_wait_;
  std::vector<std::byte> others_kept_; // the contents until all threads have waited
  std::deque<Fiber*> ready_;
  Fiber* running_ = nullptr;
  std::jmp_buf scheduler_{};
  int threads_ = 0, cluster_ = 1;
  int idle_turns_ = 0; // turns since lanes of a warp last met
  // The first block of the cluster with threads that have not begun.
  int beginning_ = 0;
  const char* name_ = nullptr;
  Body body_ = nullptr;
  const void* arguments_ = nullptr;
  std::string error_;
};

Machine& machine() {
  thread_local Machine own;
  return own;
}

void Machine::enter() { machine().run_threads(); }

std::map<std::string_view, EmulatedKernel>& registry() {
  static std::map<std::string_view, EmulatedKernel> kernels;
  return kernels;
}

} // namespace

Registration::Registration(const char* name, EmulatedKernel kernel) { registry().emplace(name, kernel); }

EmulatedKernel find_kernel(std::string_view name) {
  const auto found = registry().find(name);
  return found == registry().end() ? nullptr : found->second;
}

void launch(const Launch& launch, void** arguments) {
  const auto kernel = find_kernel(launch.name);
  if (!kernel) throw std::logic_error("there is no kernel " + std::string(launch.name));
  kernel(launch, arguments);
}

const char* unavailable() { return sanitized ? "the sanitizers cannot follow the emulation's fibers" : nullptr; }

void set_order(Order order) { machine().order = order; }
void set_others(std::span<std::byte> memory) { machine().others = memory; }

void run(const Launch& launch, const char* name, int max_threads, Body body, const void* arguments) {
  const auto refuse = [&](const char* what) { throw std::logic_error("kernel " + std::string(name) + ": " + what); };
  if (const auto* reason = unavailable()) refuse(reason);
  if (launch.threads < 1 || launch.threads > static_cast<unsigned>(max_threads))
    refuse("launched with more threads than it was compiled for, or none");
  if (launch.grid_x < 1 || launch.grid_y < 1 || launch.grid_z < 1) refuse("launched without blocks");
  if (launch.grid_y > max_blocks_yz || launch.grid_z > max_blocks_yz || launch.grid_x > 0x7fffffffU)
    refuse("launched with more blocks than a grid may have");
  if (launch.cluster_z < 1 || launch.cluster_z > max_in_cluster || launch.grid_z % launch.cluster_z != 0)
    refuse("launched with clusters that are too large, or do not fill the grid");
  if (launch.shared > max_shared) refuse("launched with more shared memory than a block may have");
  machine().run(launch, name, body, arguments);
}

void wait_for_previous() { machine().wait_for_previous(); }
void barrier() { machine().barrier(); }
void cluster_barrier() { machine().cluster_barrier(); }
void let_others_run() { machine().let_others_run(); }
void together(void* operand, void (*combine)(void* const (&operands)[32])) { machine().together(operand, combine); }
void* static_shared(const void* key, std::size_t size, std::size_t alignment) {
  return machine().static_shared(key, size, alignment);
}
char* dynamic_shared() { return machine().block().dynamic(); }
SharedAddress shared_address(const void* pointer) { return machine().shared_address(pointer); }
SharedAddress in_block_of_cluster(SharedAddress address, int rank) {
  return address % Block::rank_unit + static_cast<SharedAddress>(rank) * Block::rank_unit;
}
char* shared_pointer(SharedAddress address, std::size_t size) { return machine().shared_pointer(address, size); }

void must_be_aligned(const void* pointer, unsigned bytes) {
  if (reinterpret_cast<std::uintptr_t>(pointer) % bytes != 0)
    machine().fail("an access of " + std::to_string(bytes) + " bytes is not aligned to its size");
}

void copy_later(SharedAddress to, const void* from, bool valid) {
  if (to % 16 != 0 || reinterpret_cast<std::uintptr_t>(from) % 16 != 0)
    machine().fail("a copy of 16 bytes is not aligned to 16 bytes");
  machine().copies().open.push_back({machine().shared_pointer(to, 16), from, valid});
}
void commit_copies() {
  auto& own = machine().copies();
  own.groups.push_back(std::exchange(own.open, {}));
}
void await_copies(int pending) {
  auto& groups = machine().copies().groups;
  for (; groups.size() > static_cast<std::size_t>(pending); groups.pop_front()) Copies::arrive(groups.front());
}

} // namespace rtexec::test::emulation
