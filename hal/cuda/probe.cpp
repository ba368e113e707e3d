#include "hal/cuda/cuda_device.hpp"
#include "hal/digest_of.hpp"

#include <algorithm>
#include <vector>

namespace rtexec::hal {
namespace {

using cuda::Code;

// The first compute capability, 7.5, on which mappings may change while kernels run. On 7.0 and 7.2 the kernels faulted
constexpr int first_that_remaps_safely = 75;

Result<> survived(const CudaDevice& device) {
  const auto fault = device.fault();
  return fault ? fail(Errc::device_fault, "probing " + device.name() + " ended it: " + fault->what + ".") : Result<>();
}

/// Two pieces of memory; the first is mapped read-only at `reading` and read-write at `writing`.
class Bench {
 public:
  Bench(CudaDevice& device, Bytes size) : device_(device), driver_(device.driver()), size_(size) {}
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;
  ~Bench() {
    (void)device_.wait(EngineKind::compute);
    if (event_ != nullptr) (void)driver_.event_destroy(event_);
    for (const Mapping& each : {reading_, writing_}) {
      if (each.mapped) (void)driver_.unmap(each.base, size_.count);
      if (each.base != 0) (void)driver_.address_free(each.base, size_.count);
    }
    for (const auto each : pieces_) {
      if (each != 0) (void)driver_.release(each);
    }
  }

  Result<> set_up(const cuda::AllocationProperties& properties) {
    location_ = properties.location;
    for (auto& each : pieces_) {
      if (auto made = device_.checked(driver_.create(&each, size_.count, &properties, 0), "creating memory to probe");
          !made)
        return made;
    }
    for (auto* each : {&reading_, &writing_}) {
      if (auto made = device_.checked(driver_.address_reserve(&each->base, size_.count, 0, 0, 0),
                                      "reserving addresses to probe");
          !made)
        return made;
    }
    if (auto made =
            device_.checked(driver_.event_create(&event_, cuda::event_disable_timing), "making an event to probe");
        !made)
      return made;
    // Fill the second piece with a pattern of its own, at the address where the first piece will be mapped
    const bool filled = map(writing_, 1, cuda::AccessFlags::read_write) && fill(0x17) && unmap(writing_);
    if (filled && map(writing_, 0, cuda::AccessFlags::read_write)) return {};
    if (auto alive = survived(device_); !alive) return alive;
    return fail(Errc::unsupported, device_.name() + " cannot map memory at an address and write to it.");
  }

  bool shows_through() { return map(reading_, 0, cuda::AccessFlags::read) && fill(0x5a) && holds(reading_, 0x5a); }

  /// True if the driver refuses to copy into the read-only mapping. The trial is a copy, because a refused copy
  /// only returns an error code. A kernel that wrote through the mapping would cause a fault, and a fault makes the
  /// device unusable.
  bool read_only_holds() {
    if (!reading_.mapped || !fill(0x2b)) return false;
    const std::vector<std::byte> other(4096);
    if (driver_.copy_async(reading_.base, address(other.data()), other.size(), stream()) == Code::success) return false;
    return holds(writing_, 0x2b) && fill(0x2c) && holds(reading_, 0x2c);
  }

  /// True if the device's digest of a pattern equals the host's digest.
  bool digests() {
    std::vector<std::byte> pattern(std::min<std::size_t>(size_.count, 1 << 20));
    for (std::size_t i = 0; i < pattern.size(); ++i) pattern[i] = std::byte(i * i >> 8);
    const auto* there = reinterpret_cast<const std::byte*>(writing_.base); // NOLINT: driver addresses are integers
    const Bytes size{pattern.size()};
    Digest digest;
    return device_.check(driver_.copy_async(writing_.base, address(pattern.data()), pattern.size(), stream())) &&
           device_.wait(EngineKind::compute) && device_.digest(there, size, digest) &&
           digest == digest_of(pattern.data(), size);
  }

  /// Returns the number of remaps, among `rounds`, during which the compute stream was busy throughout. Returns 0 if a
  /// call failed or the memory then had wrong contents.
  std::size_t remaps_under_load(std::size_t rounds) {
    if (!reading_.mapped) return 0;
    std::size_t met = 0;
    for (std::size_t round = 1; round <= rounds; ++round) {
      if (!load(round) || !unmap(reading_) || !map(reading_, round % 2, cuda::AccessFlags::read)) return 0;
      met += driver_.event_query(event_) == Code::not_ready;
    }
    const bool intact = device_.wait(EngineKind::compute) && holds(writing_, unsigned(rounds % 256)) &&
                        unmap(reading_) && map(reading_, 1, cuda::AccessFlags::read) && holds(reading_, 0x17);
    return intact ? met : 0;
  }

 private:
  struct Mapping {
    cuda::DevicePointer base = 0;
    bool mapped = false;
  };

  static cuda::DevicePointer address(const std::byte* pointer) {
    return reinterpret_cast<cuda::DevicePointer>(pointer);
  }
  cuda::Stream stream() const { return device_.stream(EngineKind::compute); }

  bool map(Mapping& place, std::size_t piece, cuda::AccessFlags access) {
    if (!device_.check(driver_.map(place.base, size_.count, 0, pieces_[piece], 0))) return false;
    place.mapped = true;
    const cuda::AccessDescriptor descriptor{location_, access};
    return device_.check(driver_.set_access(place.base, size_.count, &descriptor, 1)).has_value();
  }

  bool unmap(Mapping& place) {
    if (!device_.check(driver_.unmap(place.base, size_.count))) return false;
    place.mapped = false;
    return true;
  }

  bool set(unsigned value) {
    return device_
        .check(driver_.set_bytes_async(writing_.base, static_cast<unsigned char>(value), size_.count, stream()))
        .has_value();
  }

  bool fill(unsigned value) { return set(value) && device_.wait(EngineKind::compute); }

  bool load(std::size_t round) {
    for (unsigned i = 0; i < 10; ++i) {
      if (!set(i == 9 ? unsigned(round % 256) : i)) return false;
    }
    return device_.check(driver_.event_record(event_, stream())).has_value();
  }

  bool holds(const Mapping& place, unsigned value) {
    std::byte begin{};
    std::byte end{};
    const bool read = device_.check(driver_.copy_async(address(&begin), place.base, 1, stream())) &&
                      device_.check(driver_.copy_async(address(&end), place.base + size_.count - 1, 1, stream())) &&
                      device_.wait(EngineKind::compute);
    return read && begin == std::byte(value) && end == std::byte(value);
  }

  CudaDevice& device_;
  const cuda::Driver& driver_;
  Bytes size_;
  cuda::Location location_;
  std::array<cuda::AllocationHandle, 2> pieces_{};
  Mapping reading_, writing_;
  cuda::Event event_ = nullptr;
};

} // namespace

Result<DeviceCapabilities> probe_cuda_memory(CudaDevice& device, const cuda::AllocationProperties& properties,
                                             Bytes piece) {
  Bench bench(device, piece);
  if (auto ready = bench.set_up(properties); !ready) return Unexpected(ready.error());
  constexpr std::size_t rounds = 20;
  DeviceCapabilities can;
  can.shared_mapping = bench.shows_through();
  can.read_only_mapping = bench.read_only_holds();
  can.digest = bench.digests();
  const bool dare = device.architecture() >= first_that_remaps_safely;
  const std::size_t met = dare ? bench.remaps_under_load(rounds) : 0;
  can.remap_under_load = met > 0;
  can.note("one chunk at two addresses, written through one and read through the other", can.shared_mapping,
           "the write is not visible: chunks cannot be copied through the pool window");
  can.note("a copy by the driver into a read-only mapping is refused", can.read_only_mapping,
           "it is not detected: constants are not protected");
  can.note(std::to_string(rounds) + " remaps while the compute stream writes elsewhere (" + std::to_string(met) +
               " met work under way)",
           can.remap_under_load,
           dare ? "memory was lost, or no work was running: mappings change only while the engine is idle"
                : "not tried, since a fault would end this GPU: mappings change only while the engine is idle");
  can.note("a digest by the device is what the host computes", can.digest,
           "it is not, or this program has no kernel that the GPU takes: unchanged chunks are copied out, and none "
           "can be checked");
  if (auto alive = survived(device); !alive) return Unexpected(alive.error());
  return can;
}

} // namespace rtexec::hal
