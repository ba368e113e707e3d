// Compares two reports of bring-ups: which items changed their outcome, and which figures became worse.
#pragma once

#include "rtexec/studies/bringup/bringup_report.hpp"

#include <optional>
#include <string>
#include <vector>

namespace rtexec::bringup {

struct FigureChange {
  Figure before, now;
  double worse = 0; // the relative loss: 0.25 is 25 % worse
};

struct Change {
  std::string item;
  Outcome before = Outcome::skipped, now = Outcome::skipped;
  std::vector<FigureChange> worse; // the figures that became worse by more than 10 %

  /// True if the item passed before and fails now.
  [[nodiscard]] bool lost() const { return before == Outcome::passed && now == Outcome::failed; }
};

struct Comparison {
  std::string earlier; // "of board 'tx2', 2026-11-26T05:06:09Z", followed by the version if it differs
  bool other_board = false;
  std::vector<Change> changes; // the changed items that both reports have, in the order of the new report

  [[nodiscard]] bool lost() const;
};

[[nodiscard]] Comparison compare(const Report& earlier, const Report& report);

/// Returns a change in one line: "passed, fails now; p99 of core 1 was 12 us, is 31 us (158 % worse)".
[[nodiscard]] std::string text_of(const Change& change);
[[nodiscard]] nlohmann::json to_json(const Comparison& comparison);

} // namespace rtexec::bringup
