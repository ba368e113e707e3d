// Writes recordings of rtexec by hand: records of jobs, and the set-up of a run, as the provider's events.
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
  /// As an older version, whose events of records lack the field `lacks`, the last one of each that has it.
  TraceWriter(const std::filesystem::path& folder, unsigned cores, const CtfOptions& options = {},
              std::string_view lacks = {});

  /// The events of the set-up, at `time`, in stream setup_0.
  void write(const traces::RunSetup& setup, Instant time);
  /// At its time, in stream events_CORE; not of kind `other`.
  void write(unsigned core, const traces::Record& record);

  static constexpr std::size_t setup_channel = 0, event_channel = 1;
  [[nodiscard]] CtfWriter& ctf() { return ctf_; }

 private:
  std::string lacks_;
  CtfWriter ctf_;
};

} // namespace rtexec::test
