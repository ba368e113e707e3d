// The table of call_table.inc as data: name, ABI and treatment of each intercepted function. "Passed on" means that the
// driver's own function is called unchanged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace rtexec::preload {

enum class Treatment : std::uint8_t {
  lookup,         // returns this library's function for a name
  make_context,   // passed on; afterwards the process may have several contexts
  allocate,       // allocates memory from the arena
  allocate_apart, // passed on: allocates memory that the library never swaps
  map,            // reserves, creates or maps the program's own chunks; uses slots if possible
  free,           // frees arena memory; for other memory, the call is passed on
  look_at,        // opens a job first, because the driver accesses memory that must be resident
  /// Passed on. If the driver refuses the call while no job is open, opens a job and calls the driver again.
  look_at_again,
  tell,         // answers the query for arena memory, or reports the process's own memory limit
  run_and_wait, // opens a job first; the device may be idle afterwards
  run,          // opens a job first
  run_there,    // opens a job first if the memory in its arguments is in the arena
  wait,         // the device may be idle afterwards
  capture,      // begins or ends a capture, which records a stream's work without executing it
  end,          // destroys a stream or a context, or resets a device
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
  int since; // CUDA version as 1000 * major + 10 * minor
  Streams streams;
  Treatment treatment;
};

/// Returns the rows in the order of Id.
[[nodiscard]] std::span<const Row> rows() noexcept;
[[nodiscard]] inline const Row& row_of(Id id) noexcept { return rows()[static_cast<std::size_t>(id)]; }
/// Returns the Id of the function with this name in libcuda.so.1, if the table has it.
[[nodiscard]] std::optional<Id> find_symbol(std::string_view symbol) noexcept;

} // namespace rtexec::preload
