// A bring-up: its items, asked one after the other, and what they answered. Plain values; also what an earlier one
// said, read back from its JSON.
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
  std::string time; // when it began, UTC: "2026-11-26T05:06:09Z"
  bool emulated = false;
  bool complete = false; // every item has answered: no other report is kept
  std::vector<Entry> entries;

  [[nodiscard]] std::size_t count(Outcome outcome) const;
};

/// Who is told while items are asked.
struct Observer {
  std::function<void(const Item& item)> begins;
  std::function<void(const Entry& entry)> answered;
};

/// Asks `asked` in this order, until subject.going_on() says that it is enough: an item that was interrupted has no
/// entry. What an item throws is its failure.
[[nodiscard]] Report bring_up(const Subject& subject, std::span<const Item> asked, const Observer& observer);

/// As scripts know it: "passed", "failed", "skipped".
[[nodiscard]] const char* name(Outcome outcome);
/// "12.5 us", with as many digits as tell something.
[[nodiscard]] std::string text_of(const Figure& figure);

[[nodiscard]] nlohmann::json to_json(const Report& report);
/// The report that `rtexec bringup --json` wrote into `file`; bad_input.
[[nodiscard]] Result<Report> read_report(const std::filesystem::path& file);

} // namespace rtexec::bringup
