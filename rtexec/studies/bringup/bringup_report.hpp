// The report of a bring-up: its items, checked one after the other, and their answers. Plain values, which can also be
// read from the JSON of an earlier report.
#pragma once

#include <rtexec/result.hpp>
#include "rtexec/studies/bringup/item.hpp"

#include <cstddef>
#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace rtexec::bringup {

struct Entry {
  std::string name, title;
  Answer answer;
  Duration took{0};
};

struct Report {
  std::string board, machine, version;
  std::string time; // the beginning, in UTC: "2026-11-26T05:06:09Z"
  bool emulated = false;
  bool complete = false; // true if every item was checked; an incomplete report is not saved
  std::vector<Entry> entries;

  [[nodiscard]] std::size_t count(Outcome outcome) const;
};

/// Callbacks before and after the check of each item, for the display of the progress.
struct Observer {
  std::function<void(const Item& item)> begins;
  std::function<void(const Entry& entry)> answered;
};

/// Runs the checks of the items `asked` in this order, until subject.going_on() returns false. The report has no entry
/// for an interrupted item. If an item throws an exception, the item fails.
[[nodiscard]] Report bring_up(const Subject& subject, std::span<const Item> asked, const Observer& observer);

/// Returns the name of an outcome for scripts: "passed", "failed", "skipped".
[[nodiscard]] const char* name(Outcome outcome);
/// Returns a figure as text with its significant digits: "12.5 us".
[[nodiscard]] std::string text_of(const Figure& figure);

[[nodiscard]] nlohmann::json to_json(const Report& report);
/// Reads a report that `rtexec bringup --json` has written into `file`. Returns bad_input if it cannot be read.
[[nodiscard]] Result<Report> read_report(const std::filesystem::path& file);

} // namespace rtexec::bringup
