// The exported functions. Each row of call_table.inc describes a function of the driver, and has a stub, which jumps to
// the row's target. Initially, the target is the row's wrapper. In a process that takes no part, the wrapper replaces
// the target by the driver's own function, as soon as the wrapper finds this function.
#include "rtexec/sharing/preload/preloaded_library.hpp"
#include "rtexec/sharing/preload/client_process.hpp"
#include "rtexec/sharing/preload/proc_address.hpp"
#include "rtexec/sharing/preload/signatures.hpp"
#include "rtexec/sharing/preload/symbols.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

namespace rtexec::preload {
namespace {

using namespace abi;

/// The address to which the stub of the row `id` of call_table.inc jumps.
template <Id id> struct Target;

template <Id id, class Signature> struct Wrapper;
template <Id id, class... Arguments> struct Wrapper<id, Code(Arguments...)> {
  using Real = Code (*)(Arguments...);

  static Code call(Arguments... arguments) noexcept {
    const auto real = reinterpret_cast<Real>(real_function(id));
    if (real == nullptr) return driver_library() == nullptr ? Code::stub_library : Code::not_found;
    if (!takes_part()) {
      Target<id>::get().store(real, std::memory_order_release);
      return real(arguments...);
    }
    return treat(real, arguments...);
  }

 private:
  static constexpr bool uses_device(Treatment treatment) noexcept {
    switch (treatment) {
    case Treatment::run:
    case Treatment::run_and_wait:
    case Treatment::allocate:
    case Treatment::allocate_apart:
    case Treatment::map:
    case Treatment::look_at:
    case Treatment::look_at_again: return true;
    default: return false;
    }
  }

  static constexpr Treatment treatment_of(Id which) noexcept {
    constexpr Treatment treatments[] = {
#define FUNCTION(symbol, asked, since, streams, treatment, arguments) Treatment::treatment,
#include "rtexec/sharing/preload/call_table.inc"
#undef FUNCTION
    };
    return treatments[static_cast<std::size_t>(which)];
  }

  static constexpr bool has_own_streams() noexcept {
    constexpr Streams streams_of[] = {
#define FUNCTION(symbol, asked, since, streams, treatment, arguments) Streams::streams,
#include "rtexec/sharing/preload/call_table.inc"
#undef FUNCTION
    };
    return streams_of[static_cast<std::size_t>(id)] == Streams::own;
  }

  static Code treat(Real real, Arguments... arguments) noexcept {
    constexpr Treatment treatment = treatment_of(id);
    if constexpr (treatment == Treatment::lookup) return look_up(real, arguments...);
    else if constexpr (treatment == Treatment::run) return run(real, arguments...);
    else if constexpr (treatment == Treatment::run_there) return run_there(real, arguments...);
    else if constexpr (treatment == Treatment::capture) return capture(real, arguments...);
    else if constexpr (treatment == Treatment::run_and_wait) return noticed(run(real, arguments...));
    else if constexpr (treatment == Treatment::wait) return noticed(real(arguments...));
    else if constexpr (treatment == Treatment::make_context) return make_context(real, arguments...);
    else if constexpr (treatment == Treatment::allocate) return or_pass_on(real, allocated(arguments...), arguments...);
    else if constexpr (treatment == Treatment::map) return mapped(real, arguments...);
    else if constexpr (treatment == Treatment::free) return or_pass_on(real, freed(arguments...), arguments...);
    else if constexpr (treatment == Treatment::look_at) return look(real, arguments...);
    else if constexpr (treatment == Treatment::look_at_again) return look_again(real, arguments...);
    else if constexpr (treatment == Treatment::tell) return or_pass_on(real, told(arguments...), arguments...);
    else if constexpr (treatment == Treatment::end) return ended(real, arguments...);
    else {
      static_assert(treatment == Treatment::allocate_apart);
      return apart(real, arguments...);
    }
  }
  static Code make_context(Real real, Arguments... arguments) noexcept {
    const Code code = real(arguments...);
    if (code == Code::success) ClientProcess::notice_context(*first(arguments...));
    return code;
  }
  static Context* first(Context* context, auto...) noexcept { return context; }
  static Code apart(Real real, Arguments... arguments) noexcept {
    if (ClientProcess::enter() == nullptr && turned_away()) return Code::not_permitted;
    say_once(Occasion::apart,
             "memory of arrays, graphs and other processes, managed memory, and chunks of special kinds are not "
             "managed: they are never swapped, and not counted");
    return real(arguments...);
  }

  static Code or_pass_on(Real real, std::optional<Code> answer, Arguments... arguments) noexcept {
    return answer ? *answer : pass_on(real, arguments...);
  }
  /// Passes the call on to the driver. If the function uses the device, ClientProcess::enter() must have been called
  /// before.
  static Code pass_on(Real real, Arguments... arguments) noexcept {
    if constexpr (uses_device(treatment_of(id))) {
      if (turned_away()) return Code::not_permitted;
    }
    return real(arguments...);
  }

  // ---- work ----

  static Code run(Real real, Arguments... arguments) noexcept {
    ClientProcess* process = ClientProcess::enter();
    if (process == nullptr) return pass_on(real, arguments...);
    Stream stream = nullptr;
    (find_stream(stream, arguments), ...);
    const auto pass = process->submit(stream, has_own_streams());
    if (pass == ClientProcess::Pass::refused) return refused(*process);
    if (pass == ClientProcess::Pass::recorded) return record(real, arguments...);
    const Code code = real(arguments...);
    process->submitted(pass, stream, has_own_streams());
    return code;
  }
  template <class Argument> static void find_stream(Stream& stream, Argument argument) noexcept {
    if constexpr (std::is_same_v<Argument, Stream>) stream = argument;
    else if constexpr (std::is_same_v<Argument, const LaunchConfig*>)
      stream = argument != nullptr ? argument->stream : nullptr;
  }

  static Code refused(const ClientProcess& process) noexcept {
    return process.has_left() ? deinitialized : Code::out_of_memory;
  }
  static Code run_there(Real real, Stream stream, DevicePointer pointer, auto value, unsigned flags) noexcept {
    const ClientProcess* process = ClientProcess::existing();
    const bool ours = process != nullptr && process->owns(pointer);
    return ours ? run(real, stream, pointer, value, flags) : real(stream, pointer, value, flags);
  }
  /// Records work in a capture. For copies and fills, the memory must be resident, because the driver accesses it
  /// during the capture. For kernels, the memory need not be resident, because the driver does not know which memory a
  /// kernel uses.
  static Code record(Real real, Arguments... arguments) noexcept {
    constexpr bool is_looked_at = std::string_view(row_name()).starts_with("cuMem");
    if constexpr (is_looked_at) return look(real, arguments...);
    else return real(arguments...);
  }
  static Code look(Real real, Arguments... arguments) noexcept {
    ClientProcess* process = ClientProcess::enter();
    if (process == nullptr) return pass_on(real, arguments...);
    if (!process->stand()) return refused(*process);
    const Code code = real(arguments...);
    process->stood();
    return code;
  }

  static Code look_again(Real real, Arguments... arguments) noexcept {
    static_cast<void>(ClientProcess::enter());
    const Code code = pass_on(real, arguments...);
    return code == Code::invalid_value ? look(real, arguments...) : code;
  }

  static Code noticed(Code code) noexcept {
    ClientProcess* process = ClientProcess::existing();
    if (process != nullptr && code == Code::success) process->synchronised();
    return code;
  }

  static Code capture(Real real, Arguments... arguments) noexcept {
    constexpr bool ends = std::string_view(row_name()).starts_with("cuStreamEndCapture");
    if constexpr (!ends) return ClientProcess::capture_begins([&] { return real(arguments...); });
    Stream stream = nullptr;
    (find_stream(stream, arguments), ...);
    const bool recorded = ClientProcess::captures(named(stream));
    const Code code = real(arguments...);
    if (recorded && !ClientProcess::captures(named(stream))) ClientProcess::capture_ends(); // for any `code`
    return code;
  }
  static constexpr const char* row_name() noexcept {
    constexpr const char* names[] = {
#define FUNCTION(symbol, asked, since, streams, treatment, arguments) #asked,
#include "rtexec/sharing/preload/call_table.inc"
#undef FUNCTION
    };
    return names[static_cast<std::size_t>(id)];
  }

  static Code ended(Real real, Arguments... arguments) noexcept {
    ClientProcess* process = ClientProcess::existing();
    if (process != nullptr) (ends(*process, arguments), ...);
    return real(arguments...);
  }
  static void ends(ClientProcess& process, Stream stream) noexcept { process.stream_ends(stream); }
  static void ends(ClientProcess& process, Context context) noexcept {
    if (context == process.context())
      process.leave("its context is destroyed: CUDA's functions are passed on from now on");
    else process.other_context_ends();
  }
  static void ends(ClientProcess& process, Ordinal device) noexcept {
    if (device == process.device()) process.leave("its device is reset: CUDA's functions are passed on from now on");
  }

  // ---- memory ----

  static std::optional<Code> allocated(DevicePointer* pointer, std::size_t size) noexcept {
    ClientProcess* process = ClientProcess::enter();
    return process != nullptr ? process->allocate(pointer, size) : std::nullopt;
  }
  static std::optional<Code> allocated(DevicePointer* pointer, std::size_t size, Stream stream) noexcept {
    stream = named(stream);
    if (!ClientProcess::captures(stream)) {
      ClientProcess* process = ClientProcess::enter();
      return process != nullptr ? process->allocate(pointer, size, stream) : std::nullopt;
    }
    say_once(Occasion::captured, "memory that a graph allocates is not managed: it is never swapped, and not counted");
    return std::nullopt;
  }
  static std::optional<Code> allocated(DevicePointer* pointer, std::size_t size, void*, Stream stream) noexcept {
    return allocated(pointer, size, stream);
  }
  static std::optional<Code> allocated(DevicePointer* pointer, std::size_t* pitch, std::size_t width,
                                       std::size_t height, unsigned) noexcept {
    constexpr std::size_t unit = client::Arena::granule.count;
    if (pitch == nullptr || width == 0 || height == 0 || width > SIZE_MAX - unit) return std::nullopt;
    const std::size_t rounded = (width + unit - 1) / unit * unit;
    if (height > SIZE_MAX / rounded) return std::nullopt;
    const auto code = allocated(pointer, rounded * height);
    if (code == Code::success) *pitch = rounded;
    return code;
  }
  /// Calls the client's function for this Id. The choice depends on the Id, because several functions have the same
  /// argument types.
  static Code mapped(Real real, Arguments... arguments) noexcept {
    ClientProcess* process = ClientProcess::enter();
    if (process == nullptr) return pass_on(real, arguments...);
    const auto answer = [&] {
      if constexpr (id == Id::cuMemAddressReserve)
        return [&](DevicePointer* pointer, std::size_t size, std::size_t alignment, DevicePointer wanted,
                   unsigned long long) { return process->reserve_addresses(pointer, size, alignment, wanted); };
      else if constexpr (id == Id::cuMemAddressFree)
        return [&](auto... all) { return process->free_addresses(all...); };
      else if constexpr (id == Id::cuMemCreate)
        return [&](AllocationHandle* handle, std::size_t size, const AllocationProperties* properties,
                   unsigned long long) { return process->create_chunk(handle, size, properties); };
      else if constexpr (id == Id::cuMemRelease) return [&](auto handle) { return process->release_chunk(handle); };
      else if constexpr (id == Id::cuMemMap) return [&](auto... all) { return process->map_chunk(all...); };
      else if constexpr (id == Id::cuMemUnmap) return [&](auto... all) { return process->unmap(all...); };
      else {
        static_assert(id == Id::cuMemSetAccess);
        return [&](auto... all) { return process->set_access(all...); };
      }
    }()(arguments...);
    if constexpr (id == Id::cuMemCreate) return answer ? *answer : apart(real, arguments...);
    else return or_pass_on(real, answer, arguments...);
  }

  static std::optional<Code> freed(DevicePointer pointer) noexcept {
    ClientProcess* process = ClientProcess::existing();
    return process != nullptr ? process->free(pointer) : std::nullopt;
  }
  static std::optional<Code> freed(DevicePointer pointer, Stream stream) noexcept {
    ClientProcess* process = ClientProcess::existing();
    if (process == nullptr) return std::nullopt;
    return process->free_behind(pointer, named(stream));
  }
  static Stream named(Stream stream) noexcept {
    return stream == nullptr && has_own_streams() ? ClientProcess::own_stream() : stream;
  }

  // ---- queries of memory ----

  static std::optional<Code> told(std::size_t* free, std::size_t* total) noexcept {
    ClientProcess* process = ClientProcess::enter();
    return process != nullptr ? process->memory_info(free, total) : std::nullopt;
  }
  static std::optional<Code> told(DevicePointer* base, std::size_t* size, DevicePointer pointer) noexcept {
    ClientProcess* process = ClientProcess::existing();
    return process != nullptr ? process->address_range(base, size, pointer) : std::nullopt;
  }
  static std::optional<Code> told(void* data, int attribute, DevicePointer pointer) noexcept {
    ClientProcess* process = ClientProcess::existing();
    return process != nullptr ? process->attribute(data, attribute, pointer) : std::nullopt;
  }
  static std::optional<Code> told(unsigned count, int* attributes, void** data, DevicePointer pointer) noexcept {
    ClientProcess* process = ClientProcess::existing();
    if (process == nullptr || !process->owns(pointer) || attributes == nullptr || data == nullptr) return std::nullopt;
    for (unsigned i = 0; i < count; ++i) (void)process->attribute(data[i], attributes[i], pointer);
    return Code::success;
  }
  /// The next two functions refuse to return a handle by which another process could open arena memory.
  static std::optional<Code> told(void*, DevicePointer pointer) noexcept { return handle(pointer); }
  static std::optional<Code> told(void*, DevicePointer pointer, std::size_t, int, unsigned long long) noexcept {
    return handle(pointer);
  }
  static std::optional<Code> told(AllocationHandle* kept, void* pointer) noexcept {
    ClientProcess* process = ClientProcess::existing();
    const auto code =
        process != nullptr ? process->retain_chunk(kept, reinterpret_cast<DevicePointer>(pointer)) : std::nullopt;
    return code ? code : handle(reinterpret_cast<DevicePointer>(pointer));
  }
  static std::optional<Code> told(void*, AllocationHandle chunk, int, unsigned long long) noexcept {
    ClientProcess* process = ClientProcess::existing();
    return process != nullptr && process->gave_chunk(chunk) ? refused_handle() : std::nullopt;
  }
  static std::optional<Code> told(AllocationProperties* properties, AllocationHandle chunk) noexcept {
    ClientProcess* process = ClientProcess::existing();
    if (process == nullptr || properties == nullptr || !process->gave_chunk(chunk)) return std::nullopt;
    *properties = {};
    properties->location.id = process->device();
    return Code::success;
  }
  static std::optional<Code> told(unsigned long long* access, const Location* location,
                                  DevicePointer pointer) noexcept {
    ClientProcess* process = ClientProcess::existing();
    if (process == nullptr || access == nullptr || location == nullptr || !process->owns(pointer)) return std::nullopt;
    const bool here = location->type == 1 && location->id == process->device();
    *access = static_cast<unsigned long long>(here ? hal::cuda::AccessFlags::read_write : hal::cuda::AccessFlags::none);
    return Code::success;
  }
  static std::optional<Code> handle(DevicePointer pointer) noexcept {
    ClientProcess* process = ClientProcess::existing();
    return process != nullptr && process->owns(pointer) ? refused_handle() : std::nullopt;
  }
  static std::optional<Code> refused_handle() noexcept {
    say_once(Occasion::ipc,
             "memory that may be swapped cannot be shared with other processes: the request for a handle fails as not "
             "supported. Run programs that share memory without RTEXEC_CLIENT");
    return Code::not_supported;
  }

  template <class... Rest>
  static Code look_up(Real real, const char* name, void** found, int version, std::uint64_t flags,
                      Rest... rest) noexcept {
    const Code code = real(name, found, version, flags, rest...);
    if (code == Code::success && name != nullptr && found != nullptr && *found != nullptr) {
      *found = translate(name, *found, version, flags);
    }
    return code;
  }
};

} // namespace

#define FUNCTION(symbol, asked, since, streams, treatment, arguments)                         \
  extern "C" {                                                                                \
  [[gnu::visibility("hidden")]] extern std::atomic<Code(*) arguments> rtexec_target_##symbol; \
  [[gnu::used]] constinit std::atomic<Code(*) arguments> rtexec_target_##symbol{              \
      &Wrapper<Id::symbol, Code arguments>::call};                                            \
  }                                                                                           \
  namespace {                                                                                 \
  template <> struct Target<Id::symbol> {                                                     \
    static auto& get() noexcept { return rtexec_target_##symbol; }                            \
  };                                                                                          \
  }
#include "rtexec/sharing/preload/call_table.inc"
#undef FUNCTION

} // namespace rtexec::preload

#if defined(__x86_64__)
#define STUB(symbol) "  endbr64\n  jmp *rtexec_target_" #symbol "(%rip)\n"
#elif defined(__aarch64__)
#define STUB(symbol) \
  "  adrp x16, rtexec_target_" #symbol "\n  ldr x16, [x16, #:lo12:rtexec_target_" #symbol "]\n  br x16\n"
#endif
#define FUNCTION(symbol, asked, since, streams, treatment, arguments)           \
  asm("  .text\n  .globl " #symbol "\n  .type " #symbol ", %function\n" #symbol \
      ":\n" STUB(symbol) "  .size " #symbol ", . - " #symbol "\n");
#include "rtexec/sharing/preload/call_table.inc"
#undef FUNCTION
