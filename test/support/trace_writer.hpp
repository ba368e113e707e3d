// Writes recordings of rtexec without running it: job records and a run's set-up, as events of the tracepoint provider.
#pragma once

#include "test/support/ctf_writer.hpp"
#include "traces/reading/record.hpp"
#include "traces/reading/recorded_setup.hpp"

#include <filesystem>
#include <string>
#include <string_view>

namespace rtexec::test {

class TraceWriter {
 public:
  /// Writes as an older version of rtexec does: events of records lack the field `lacks`, which must be the last field
  /// of each event that has it.
  TraceWriter(const std::filesystem::path& folder, unsigned cores, const CtfOptions& options = {},
              std::string_view lacks = {});

  /// Writes the events of the set-up at `time` into stream setup_0.
  void write(const traces::RunSetup& setup, Instant time);
  /// Writes the record at its own time into stream events_CORE. The record must not be of kind `other`.
  void write(unsigned core, const traces::Record& record);

  static constexpr std::size_t setup_channel = 0, event_channel = 1;
  [[nodiscard]] CtfWriter& ctf() { return ctf_; }

 private:
  std::string lacks_;
  CtfWriter ctf_;
};

} // namespace rtexec::test
