// The report of a bring-up: its items, asked one after the other, and their answers. Plain values, which can also be
// read back from an earlier report's JSON.
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
  std::string time; // begin, in UTC: "2026-11-26T05:06:09Z"
  bool emulated = false;
  bool complete = false; // every item has answered; incomplete reports are not kept
  std::vector<Entry> entries;

  [[nodiscard]] std::size_t count(Outcome outcome) const;
};

/// Callbacks while items are asked.
struct Observer {
  std::function<void(const Item& item)> begins;
  std::function<void(const Entry& entry)> answered;
};

/// Asks the items of `asked` in this order, until subject.going_on() returns false. An interrupted item has no entry.
/// An exception from an item is its failure.
[[nodiscard]] Report bring_up(const Subject& subject, std::span<const Item> asked, const Observer& observer);

/// Returns the name for scripts: "passed", "failed", "skipped".
[[nodiscard]] const char* name(Outcome outcome);
/// Returns a text with the significant digits: "12.5 us".
[[nodiscard]] std::string text_of(const Figure& figure);

[[nodiscard]] nlohmann::json to_json(const Report& report);
/// Reads the report that `rtexec bringup --json` wrote into `file`. Returns bad_input if it cannot.
[[nodiscard]] Result<Report> read_report(const std::filesystem::path& file);

} // namespace rtexec::bringup
