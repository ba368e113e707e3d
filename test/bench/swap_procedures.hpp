// Swapping as in RT-Swap's paper (RTSS 2023, section IV-A and Fig. 3), written with the driver's functions: chunk after
// chunk on one stream, waiting for each copy, with physical memory created and released every time.
#pragma once

#include "test/bench/swap_gpu.hpp"

#include <array>
#include <cstdlib>
#include <functional>

namespace rtexec::bench {

enum class Step : std::size_t {
  allocate_host,
  copy_out,
  unmap,
  release,
  create,
  map,
  set_access,
  copy_in,
  free_host,
  count
};
inline constexpr std::size_t step_count = static_cast<std::size_t>(Step::count);
inline constexpr std::array<const char*, step_count> step_names{
    "allocate host", "copy out", "unmap", "release", "create", "map", "set access", "copy in", "free host"};

/// The host memory for the contents: page-locked memory allocated beforehand, or memory that each swap-out allocates
/// and each swap-in releases.
enum class HostSide { reserved, page_locked, pageable };

/// The times of the steps, in ms.
struct SwapTimes {
  std::array<double, step_count> steps{};
  double out = 0, in = 0;
};

class PaperSwap {
 public:
  /// A piece of physical memory, of which `contents` bytes are copied.
  struct Piece {
    Bytes size, contents;
  };

  static Result<std::unique_ptr<PaperSwap>> prepare(hal::CudaDevice& device, const std::vector<Piece>& pieces,
                                                    HostSide host) {
    std::unique_ptr<PaperSwap> swap(new PaperSwap(device, host));
    if (const auto made = swap->lay_out(pieces); !made) return Unexpected(made.error());
    return swap;
  }
  ~PaperSwap() {
    for (const Slot& slot : slots_) {
      if (slot.mapped) (void)driver_.unmap(slot.at, slot.piece.size.count);
      if (slot.created) (void)driver_.release(slot.handle);
    }
    if (base_ != 0) (void)driver_.address_free(base_, size_.count);
    if (host_ == HostSide::page_locked && memory_) (void)driver_.free_host(memory_);
    if (host_ == HostSide::pageable) std::free(memory_);
  }
  PaperSwap(const PaperSwap&) = delete;
  PaperSwap& operator=(const PaperSwap&) = delete;

  /// Swaps everything out and in `runs` times, after one warm-up. Returns the median of each step.
  Result<SwapTimes> measure(int runs) {
    std::array<std::vector<double>, step_count> steps;
    std::vector<double> outs, ins;
    for (int run = 0; run <= runs; ++run) {
      spent_.fill(Duration{0});
      const Instant begin = hal::now();
      if (const auto done = swap_out(); !done) return Unexpected(done.error());
      const Instant between = hal::now();
      if (const auto done = swap_in(); !done) return Unexpected(done.error());
      const Instant end = hal::now();
      if (run == 0) continue;
      outs.push_back(milliseconds(between - begin));
      ins.push_back(milliseconds(end - between));
      for (std::size_t i = 0; i < step_count; ++i) steps[i].push_back(milliseconds(spent_[i]));
    }
    SwapTimes times{.out = median(outs), .in = median(ins)};
    std::ranges::transform(steps, times.steps.begin(), median);
    return times;
  }

 private:
  struct Slot {
    Piece piece;
    api::DevicePointer at = 0;
    std::size_t offset = 0; // in host memory
    api::AllocationHandle handle = 0;
    bool created = false, mapped = false;
  };

  PaperSwap(hal::CudaDevice& device, HostSide host)
      : device_(device), driver_(device.driver()), stream_(device.stream(hal::EngineKind::copy_in)), host_(host) {}

  template <class Call> Result<> step(Step which, Call call) {
    const auto number = static_cast<std::size_t>(which);
    const Instant begin = hal::now();
    const api::Code code = call();
    spent_[number] += hal::now() - begin;
    return device_.checked(code, step_names[number]);
  }

  Result<> lay_out(const std::vector<Piece>& pieces) {
    for (const Piece& piece : pieces) {
      slots_.push_back({.piece = piece, .at = size_.count, .offset = contents_.count});
      size_ += piece.size;
      contents_ += piece.contents;
    }
    if (const auto reserved =
            device_.checked(driver_.address_reserve(&base_, size_.count, 0, 0, 0), "reserving addresses");
        !reserved)
      return reserved;
    for (Slot& slot : slots_) {
      slot.at += base_;
      if (const auto made = make_resident(slot); !made) return made;
    }
    if (host_ != HostSide::reserved) return {};
    auto memory = hal::StoreMemory::open(device_, round_up(contents_, hal::page_size()),
                                         hal::HostMemoryKind::page_locked, "the memory of swapped chunks");
    if (!memory) return Unexpected(memory.error());
    reserved_ = std::move(*memory);
    memory_ = reserved_.base();
    return {};
  }

  Result<> make_resident(Slot& slot) {
    const api::AllocationProperties properties;
    if (const auto done =
            step(Step::create, [&] { return driver_.create(&slot.handle, slot.piece.size.count, &properties, 0); });
        !done)
      return done;
    slot.created = true;
    if (const auto done =
            step(Step::map, [&] { return driver_.map(slot.at, slot.piece.size.count, 0, slot.handle, 0); });
        !done)
      return done;
    slot.mapped = true;
    const api::AccessDescriptor access{.location = {}, .flags = api::AccessFlags::read_write};
    return step(Step::set_access, [&] { return driver_.set_access(slot.at, slot.piece.size.count, &access, 1); });
  }

  Result<> copy(Step which, api::DevicePointer to, api::DevicePointer from, Bytes size) {
    return step(which, [&] {
      const auto code = driver_.copy_async(to, from, size.count, stream_);
      return code == api::Code::success ? driver_.stream_synchronize(stream_) : code;
    });
  }
  api::DevicePointer host_place(const Slot& slot) const {
    return pointer(static_cast<std::byte*>(memory_) + slot.offset);
  }

  Result<> swap_out() {
    if (host_ != HostSide::reserved)
      if (const auto taken = step(Step::allocate_host, [&] { return allocate_host(); }); !taken) return taken;
    for (Slot& slot : slots_) {
      if (const auto done = copy(Step::copy_out, host_place(slot), slot.at, slot.piece.contents); !done) return done;
      if (const auto done = step(Step::unmap, [&] { return driver_.unmap(slot.at, slot.piece.size.count); }); !done)
        return done;
      slot.mapped = false;
      if (const auto done = step(Step::release, [&] { return driver_.release(slot.handle); }); !done) return done;
      slot.created = false;
    }
    return {};
  }

  Result<> swap_in() {
    for (Slot& slot : slots_) {
      if (const auto done = make_resident(slot); !done) return done;
      if (const auto done = copy(Step::copy_in, slot.at, host_place(slot), slot.piece.contents); !done) return done;
    }
    return host_ == HostSide::reserved ? Result<>() : step(Step::free_host, [&] { return free_host(); });
  }

  api::Code allocate_host() {
    if (host_ == HostSide::page_locked)
      return driver_.allocate_host(&memory_, contents_.count, api::host_alloc_portable_and_mapped);
    memory_ = std::malloc(contents_.count);
    return memory_ ? api::Code::success : api::Code::out_of_memory;
  }
  api::Code free_host() {
    void* const memory = std::exchange(memory_, nullptr);
    if (host_ == HostSide::page_locked) return driver_.free_host(memory);
    std::free(memory);
    return api::Code::success;
  }

  hal::CudaDevice& device_;
  const api::Driver& driver_;
  api::Stream stream_;
  HostSide host_;
  std::vector<Slot> slots_;
  api::DevicePointer base_ = 0;
  Bytes size_, contents_;
  hal::StoreMemory reserved_;
  void* memory_ = nullptr;
  std::array<Duration, step_count> spent_{};
};

/// Returns uniform chunks. The volume is rounded up.
inline std::vector<PaperSwap::Piece> uniform_pieces(Bytes volume, Bytes chunk) {
  return std::vector<PaperSwap::Piece>(round_up(volume, chunk).count / chunk.count, {chunk, chunk});
}

/// Returns the pieces of mo-vmm: each object has a chunk of its own, of which only the object is copied. The largest
/// objects come first until they reach `volume`, repeatedly if all of them are smaller.
inline std::vector<PaperSwap::Piece> object_pieces(Bytes volume, std::vector<Bytes> objects) {
  std::ranges::sort(objects, std::greater());
  std::vector<PaperSwap::Piece> pieces;
  Bytes taken;
  for (std::size_t i = 0; taken < volume; ++i) {
    const Bytes object = std::min(objects[i % objects.size()], volume - taken);
    pieces.push_back({round_up(object, MiB * 2), object});
    taken += object;
  }
  return pieces;
}

} // namespace rtexec::bench
