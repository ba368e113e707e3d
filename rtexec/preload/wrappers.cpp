// What the library exports: for each row of the table a stub, which jumps where the row's target says. That is at first
// the row's wrapper; in a process that takes no part the driver's own function, as soon as the wrapper has found it.
#include "rtexec/preload/library.hpp"
#include "rtexec/preload/proc_address.hpp"
#include "rtexec/preload/signatures.hpp"
#include "rtexec/preload/symbols.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace rtexec::preload {
namespace {

using namespace abi;

/// Where the stub of a row goes.
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
  static constexpr Treatment treatment_of(Id which) noexcept {
    constexpr Treatment treatments[] = {
#define FUNCTION(symbol, asked, since, streams, treatment, arguments) Treatment::treatment,
#include "rtexec/preload/functions.inc"
#undef FUNCTION
    };
    return treatments[static_cast<std::size_t>(which)];
  }

  static Code treat(Real real, Arguments... arguments) noexcept {
    if constexpr (treatment_of(id) == Treatment::lookup) {
      return look_up(real, arguments...);
    } else {
      return real(arguments...);
    }
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
#include "rtexec/preload/functions.inc"
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
#include "rtexec/preload/functions.inc"
#undef FUNCTION
