#include "rtexec/sharing/preload/symbols.hpp"

#include <array>
#include <atomic>
#include <dlfcn.h>

// The exported functions. wrappers.cpp defines their stubs.
#define FUNCTION(symbol, asked, since, streams, treatment, arguments) extern "C" void symbol();
#include "rtexec/sharing/preload/call_table.inc"
#undef FUNCTION

/// The C library's dlsym, to which the stub of dlsym jumps.
extern "C" {
[[gnu::visibility("hidden")]] constinit std::atomic<rtexec::preload::DlSym> rtexec_preload_real_dlsym{nullptr};
}

namespace rtexec::preload {
namespace {

/// The oldest version of dlsym, which every C library of this machine has. With this version, dlvsym() never fails. A
/// failure would allocate memory, which is not allowed because the caller may be the program's own malloc.
#if defined(__x86_64__)
constexpr const char* dlsym_version = "GLIBC_2.2.5";
#elif defined(__aarch64__)
constexpr const char* dlsym_version = "GLIBC_2.17";
#else
#error "the version of dlsym on this machine is not known"
#endif

constexpr std::size_t count = [] {
  std::size_t rows = 0;
#define FUNCTION(symbol, asked, since, streams, treatment, arguments) ++rows;
#include "rtexec/sharing/preload/call_table.inc"
#undef FUNCTION
  return rows;
}();

constinit std::atomic<void*> library{nullptr};
constinit std::array<std::atomic<void*>, count> real{};

} // namespace

DlSym real_dlsym() noexcept {
  DlSym found = rtexec_preload_real_dlsym.load(std::memory_order_acquire);
  if (found == nullptr) [[unlikely]] {
    found = reinterpret_cast<DlSym>(::dlvsym(RTLD_NEXT, "dlsym", dlsym_version));
    rtexec_preload_real_dlsym.store(found, std::memory_order_release);
  }
  return found;
}

void* driver_library() noexcept {
  void* found = library.load(std::memory_order_acquire);
  if (found == nullptr) [[unlikely]] {
    found = ::dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (found != nullptr) library.store(found, std::memory_order_release);
  }
  return found;
}

void* real_function(Id id) noexcept {
  auto& place = real[static_cast<std::size_t>(id)];
  void* found = place.load(std::memory_order_acquire);
  if (found == nullptr) [[unlikely]] {
    void* from = driver_library();
    if (from == nullptr) return nullptr;
    found = real_dlsym()(from, row_of(id).symbol);
    if (found != nullptr) place.store(found, std::memory_order_release);
  }
  return found;
}

void* exported_function(Id id) noexcept {
  static constexpr void (*exported[])() = {
#define FUNCTION(symbol, asked, since, streams, treatment, arguments) &::symbol,
#include "rtexec/sharing/preload/call_table.inc"
#undef FUNCTION
  };
  return reinterpret_cast<void*>(exported[static_cast<std::size_t>(id)]);
}

} // namespace rtexec::preload
