#include "rtexec/studies/bringup/tap_format.hpp"

#include "config/base/text.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace rtexec::bringup {

namespace {

constexpr std::size_t longest = 2000; // the maximum number of bytes written of one text

/// Joins the lines of a text, and removes control characters.
std::string line_of(std::string_view text) {
  std::string line(text);
  std::ranges::replace(line, '\n', ' ');
  return config::printable(line, longest);
}

/// Joins the lines of a text, and escapes '#' so that no '#' begins a TAP directive.
std::string description_of(std::string_view text) {
  std::string escaped;
  for (const char c : line_of(text)) {
    if (c == '#' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

/// Returns the text as a double-quoted scalar that is valid in YAML and in JSON.
std::string scalar(std::string_view text) {
  return nlohmann::json(config::printable(text, longest))
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void write_block(std::ostream& out, const Answer& answer) {
  out << "  ---\n";
  if (!answer.advice.empty()) {
    out << "  advice:\n";
    for (const auto line : config::parts(answer.advice, '\n')) out << "    - " << scalar(line) << '\n';
  }
  if (!answer.figures.empty()) {
    out << "  figures:\n";
    for (const Figure& figure : answer.figures)
      out << "    " << scalar(figure.name) << ": " << scalar(text_of(figure)) << '\n';
  }
  out << "  ...\n";
}

} // namespace

TapWriter::TapWriter(std::ostream& out, std::size_t items) : out_(out) {
  out_ << "TAP version 13\n1.." << items << std::endl;
}

void TapWriter::result(const Entry& entry) {
  const Answer& answer = entry.answer;
  const bool is_skipped = answer.outcome == Outcome::skipped;
  out_ << (answer.outcome == Outcome::failed ? "not ok " : "ok ") << ++results_ << " - " << description_of(entry.name)
       << (is_skipped ? " # SKIP " : ": ") << (is_skipped ? line_of(answer.state) : description_of(answer.state))
       << '\n';
  if (!answer.advice.empty() || !answer.figures.empty()) write_block(out_, answer);
  out_.flush();
}

void TapWriter::diagnostic(std::string_view text) { out_ << "# " << line_of(text) << std::endl; }

void TapWriter::bail_out(std::string_view why) { out_ << "Bail out! " << line_of(why) << std::endl; }

} // namespace rtexec::bringup
