// Two reports held against each other: what changed its outcome, and which figures became worse.
#pragma once

#include "rtexec/studies/bringup/bringup_report.hpp"

#include <optional>
#include <string>
#include <vector>

namespace rtexec::bringup {

struct FigureChange {
  Figure before, now;
  double worse = 0; // the share by which it is: 0.25
};

struct Change {
  std::string item;
  Outcome before = Outcome::skipped, now = Outcome::skipped;
  std::vector<FigureChange> worse; // figures that are worse by more than a tenth

  /// What passed fails now.
  [[nodiscard]] bool lost() const { return before == Outcome::passed && now == Outcome::failed; }
};

struct Comparison {
  std::string earlier; // "of board 'tx2', 2026-11-26T05:06:09Z"; by which version, where that is another
  bool other_board = false;
  std::vector<Change> changes; // of items that are in both and changed; in the order of the new report

  [[nodiscard]] bool lost() const;
};

[[nodiscard]] Comparison compare(const Report& earlier, const Report& report);

/// In a line: "passed, fails now; p99 of core 1 was 12 us, is 31 us (158 % worse)".
[[nodiscard]] std::string text_of(const Change& change);
[[nodiscard]] nlohmann::json to_json(const Comparison& comparison);

} // namespace rtexec::bringup
