// The table of functions.inc as data: what each function that the library stands before is called, which ABI it has,
// and how it is treated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace rtexec::preload {

enum class Treatment : std::uint8_t {
  lookup,         // answers with functions of ours
  make_context,   // passed on: there may be several contexts after it
  allocate,       // gives memory of the arena
  allocate_apart, // passed on: memory that is never swapped
  map,            // addresses and chunks that the program maps itself: in slots, where they can be
  free,           // memory of the arena is freed by us, other memory by the driver
  look_at,        // opens a job before it: the driver looks at memory that it names, which has to be there
  look_at_again,  // likewise where the driver refuses without: what may take long
  tell,           // answers for memory of the arena, or of the process's own limit
  run_and_wait,   // opens a job before it; the device may be idle after it
  run,            // opens a job before it
  run_there,      // likewise where it is about memory of the arena
  wait,           // the device may be idle after it
  capture,        // between two of these, work of a stream is recorded and not executed
  end,            // a stream, a context or all work of a device is gone after it
};

/// Which stream a null handle means.
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

/// In the order of Id.
[[nodiscard]] std::span<const Row> rows() noexcept;
[[nodiscard]] inline const Row& row_of(Id id) noexcept { return rows()[static_cast<std::size_t>(id)]; }
/// By its name in libcuda.so.1.
[[nodiscard]] std::optional<Id> find_symbol(std::string_view symbol) noexcept;

} // namespace rtexec::preload
