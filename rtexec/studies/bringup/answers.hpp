// Builds the answers of items in one form, so that nothing counts as passed that the machine cannot show.
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

/// Returns a failure. The first line of the error becomes the state, the other lines the advice; `advice` is used if
/// there are no others.
[[nodiscard]] Answer failed(const Error& error, std::string advice);
[[nodiscard]] std::string first_line(const Error& error);
/// Returns the whole text in one line, for uses without an advice.
[[nodiscard]] std::string in_a_line(std::string text);

/// Returns the answer for anything that an emulator lacks.
[[nodiscard]] inline Answer skipped_in_emulator() { return skipped("an emulator computes this machine"); }

/// Converts a finding. What cannot be read is skipped; what costs latency fails.
[[nodiscard]] Answer answer_of(const hal::Finding& finding);

/// Returns `answer`, or in an emulator a skipped one with the same observations: its times or counts are the
/// emulator's.
[[nodiscard]] Answer unless_emulated(const Subject& subject, Answer answer);

/// Returns a rate as text: "1.53 GB/s".
[[nodiscard]] std::string rate_text(double bytes_per_second);

/// Returns the board's file as an advice names it.
[[nodiscard]] std::string file_of(const Board& board);

/// True if the machine shows that it is a guest of a hypervisor.
[[nodiscard]] bool is_virtual(const hal::Machine& machine);

} // namespace rtexec::bringup
