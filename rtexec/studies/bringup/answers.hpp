// How items answer: in one form, and so that nothing counts as passed that the machine cannot show.
#pragma once

#include <rtexec/result.hpp>
#include "rtexec/studies/bringup/item.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace rtexec::bringup {

[[nodiscard]] inline Answer passed(std::string state, std::vector<Figure> figures = {}) {
  return {.outcome = Outcome::passed, .state = std::move(state), .advice = {}, .figures = std::move(figures)};
}
[[nodiscard]] inline Answer failed(std::string state, std::string advice, std::vector<Figure> figures = {}) {
  return {.outcome = Outcome::failed,
          .state = std::move(state),
          .advice = std::move(advice),
          .figures = std::move(figures)};
}
[[nodiscard]] inline Answer skipped(std::string reason, std::vector<Figure> figures = {}) {
  return {.outcome = Outcome::skipped, .state = std::move(reason), .advice = {}, .figures = std::move(figures)};
}

/// An error's first line is what is, the others are what to do; `advice` where it has none.
[[nodiscard]] Answer failed(const Error& error, std::string advice);
[[nodiscard]] std::string first_line(const Error& error);
/// All of it, where no advice can follow.
[[nodiscard]] std::string in_a_line(std::string text);

/// Of what an emulator has none of.
[[nodiscard]] inline Answer skipped_in_emulator() { return skipped("an emulator computes this machine"); }

/// What cannot be read is skipped, and what costs latency fails.
[[nodiscard]] Answer answer_of(const hal::Finding& finding);

/// Of an item whose times or counts are the emulator's: skipped with what was seen.
[[nodiscard]] Answer unless_emulated(const Subject& subject, Answer answer);

/// "1.53 GB/s"
[[nodiscard]] std::string rate_text(double bytes_per_second);

/// As an advice names it.
[[nodiscard]] std::string file_of(const Board& board);

/// A guest of a hypervisor, as far as it shows.
[[nodiscard]] bool is_virtual(const hal::Machine& machine);

} // namespace rtexec::bringup
