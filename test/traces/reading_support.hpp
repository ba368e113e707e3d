// A small recording written without a run, and the results of reading it.
#pragma once

#include "test/support/test_files.hpp"
#include "test/support/trace_writer.hpp"
#include "traces/reading/reader.hpp"

#include <filesystem>
#include <vector>

namespace rtexec::traces::test {

/// Collects the results of reading a folder.
struct Reading final : RecordHandler {
  void record(const Record& record) override {
    if (record.kind != RecordKind::other) records.push_back(record);
  }
  void loss(const Loss& loss) override {
    losses.push_back(loss);
    records_before_loss = records.size();
  }

  [[nodiscard]] bool stops() const override { return records.size() >= most; }

  std::size_t most = SIZE_MAX; // maximum number of records to read
  RunSetup setup;
  std::vector<Record> records; // all records except those of the set-up
  std::vector<Loss> losses;
  std::size_t records_before_loss = 0; // the number of records before the last loss
  Result<ReadSummary> summary = ReadSummary{};
};

inline void read_into(Reading& reading, const std::filesystem::path& folder) {
  reading.summary = read_records(folder, reading.setup, reading);
}

inline Instant ms(std::int64_t count) { return Instant(std::chrono::milliseconds(count)); }

/// Returns a record of the start of job `number` of task 0.
inline Record start_of(std::uint64_t number, Instant time) {
  Record record;
  record.kind = RecordKind::job_start;
  record.time = record.at = time;
  record.job.number = number;
  return record;
}

/// Writes `jobs` starts, on each of `cores` cores in turn, one each millisecond from 1 s on. The set-up is at 500 ms.
inline void write_small_trace(const std::filesystem::path& folder, unsigned cores, std::uint64_t jobs,
                              const rtexec::test::CtfOptions& options = {}) {
  rtexec::test::TraceWriter writer(folder, cores, options);
  RunSetup setup;
  setup.version = "1.2.3";
  setup.tasks.resize(1);
  setup.tasks[0].name = "front";
  writer.write(setup, ms(500));
  for (std::uint64_t i = 0; i < jobs; ++i)
    writer.write(static_cast<unsigned>(i % cores), start_of(i, ms(1000 + static_cast<std::int64_t>(i))));
}

} // namespace rtexec::traces::test
