// The table of call_table.inc as data: name, ABI and treatment of each function that the library intercepts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace rtexec::preload {

enum class Treatment : std::uint8_t {
  lookup,         // returns functions of this library
  make_context,   // passed on; afterwards there may be several contexts
  allocate,       // allocates from the arena
  allocate_apart, // passed on: allocates memory that is never swapped
  map,            // reserves, creates or maps memory of the program's own: uses slots if possible
  free,           // frees memory of the arena itself; passed on for other memory
  look_at,        // opens a job first: the driver accesses the named memory, which must be resident
  look_at_again,  // may take long: opens a job and calls again only if the driver refuses without one
  tell,           // answers for memory of the arena, or by the process's own limit
  run_and_wait,   // opens a job first; the device may be idle afterwards
  run,            // opens a job first
  run_there,      // opens a job first if its memory is in the arena
  wait,           // the device may be idle afterwards
  capture,        // begins or ends a capture, during which work of a stream is recorded and not executed
  end,            // destroys a stream or a context, or resets a device
};

/// The meaning of a null stream handle: the legacy default stream, or the thread's own stream.
enum class Streams : std::uint8_t { shared, own };

enum class Id : std::uint16_t {
#define FUNCTION(symbol, asked, since, streams, treatment, arguments) symbol,
#include "rtexec/sharing/preload/call_table.inc"
#undef FUNCTION
};

struct Row {
  const char* symbol;
  const char* asked;
  int since; // 1000 times the major number of CUDA's version and 10 times the minor one
  Streams streams;
  Treatment treatment;
};

/// Returns the rows in the order of Id.
[[nodiscard]] std::span<const Row> rows() noexcept;
[[nodiscard]] inline const Row& row_of(Id id) noexcept { return rows()[static_cast<std::size_t>(id)]; }
/// Returns the function with this name in libcuda.so.1.
[[nodiscard]] std::optional<Id> find_symbol(std::string_view symbol) noexcept;

} // namespace rtexec::preload
