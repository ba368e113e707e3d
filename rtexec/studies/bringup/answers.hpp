// Builds the answers of bring-up items in a uniform form. An item that the machine cannot check never counts as passed.
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

/// Returns a failed answer. The first line of the error becomes the answer's state, and the other lines become the
/// answer's advice. If the error has only one line, the advice is `advice`.
[[nodiscard]] Answer failed(const Error& error, std::string advice);
[[nodiscard]] std::string first_line(const Error& error);
/// Joins the lines of a text into one line. Skipped answers need this: they have a state of one line and no advice, so
/// an error's advice must be part of the state.
[[nodiscard]] std::string in_a_line(std::string text);

/// Returns the skipped answer of an item that an emulator cannot check.
[[nodiscard]] inline Answer skipped_in_emulator() { return skipped("this machine is emulated"); }

/// Converts a finding (a check of the machine's settings) into an answer. A setting that cannot be read gives a skipped
/// answer. A setting that costs latency gives a failed answer.
[[nodiscard]] Answer answer_of(const hal::Finding& finding);

/// Returns `answer` unchanged on a real machine. In an emulator it returns a skipped answer with the figures of
/// `answer`, because the measured times or counts describe the emulator.
[[nodiscard]] Answer unless_emulated(const Subject& subject, Answer answer);

/// Returns a rate as text: "1.53 GB/s".
[[nodiscard]] std::string rate_text(double bytes_per_second);

/// Returns the name of the board's file, for use in the advice of an answer.
[[nodiscard]] std::string file_of(const Board& board);

/// True if the machine shows that it is a guest of a hypervisor.
[[nodiscard]] bool is_virtual(const hal::Machine& machine);

} // namespace rtexec::bringup
