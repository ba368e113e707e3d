#include "rtexec/studies/sweep/outcome_file.hpp"

#include "config/base/files.hpp"
#include "config/names.hpp"
#include "config/base/output_path.hpp"
#include "config/base/text.hpp"
#include "hal/resources.hpp"

#include <cerrno>
#include <charconv>
#include <fcntl.h>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <sys/file.h>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

namespace rtexec::study {
namespace {

// ---- options ----

using OptionList = std::vector<std::pair<std::string, std::string>>;

/// Returns the options on which the outcomes depend, except the value that the sweep varies and the number of the set.
OptionList options_of(const Study& study) {
  const policies::TaskSource& source = study.source;
  const SwapCost& cost = study.device.cost;
  OptionList options{{"rtexec", RTEXEC_VERSION},
                     {"tasks", study.source_name},
                     {"seed", std::to_string(study.seed)},
                     {"order", std::string(spelling(study.order))}};
  if (study.axis != Axis::tasks) options.emplace_back("n", std::to_string(study.point.tasks));
  if (study.axis != Axis::reduced) options.emplace_back("reduced", text_of(study.device.reduced));
  if (study.axis != Axis::high && study.point.high) options.emplace_back("high", std::to_string(*study.point.high));
  options.emplace_back("period", to_string(source.period.least) + ".." + to_string(source.period.most));
  options.emplace_back("periods", source.periods == policies::Distribution::uniform ? "uniform" : "log-uniform");
  if (source.networks.empty()) {
    if (source.execution.most == Duration(0) && study.axis != Axis::utilisation)
      options.emplace_back("utilisation", text_of(study.point.utilisation));
    options.emplace_back("footprint", to_string(source.footprint.least) + ".." + to_string(source.footprint.most));
    options.emplace_back("swappable", text_of(source.swappable));
    options.emplace_back("constants", text_of(source.constants));
  }
  options.emplace_back("capacity", study.device.capacity ? to_string(*study.device.capacity) : "all");
  options.emplace_back("chunk", to_string(study.device.chunk));
  options.emplace_back("in_per_chunk", to_string(cost.in_per_chunk));
  options.emplace_back("out_per_chunk", to_string(cost.out_per_chunk));
  options.emplace_back("drop_per_chunk", to_string(cost.drop_per_chunk));
  options.emplace_back("in_fixed", to_string(cost.in_fixed));
  options.emplace_back("out_fixed", to_string(cost.out_fixed));
  if (source.layers.most > 1) {
    options.emplace_back("layers", std::to_string(source.layers.least) + ".." + std::to_string(source.layers.most));
    options.emplace_back("cut_overhead", to_string(study.device.cut_overhead));
  }
  return options;
}

constexpr std::string_view options_begin = "# ";
constexpr std::string_view between = ", ", is = " = ";

std::string first_line(const Study& study) {
  std::string line;
  for (const auto& [key, value] : options_of(study))
    line += std::string(line.empty() ? options_begin : between) + key + std::string(is) + value;
  return line;
}

std::string second_line(const Study& study) {
  std::string line = std::string(name_of(study.axis)) + ",set";
  for (const Column& test : study.tests) line += "," + std::string(test.name);
  return line;
}

std::map<std::string, std::string> options_in(std::string_view line) {
  std::map<std::string, std::string> options;
  if (!line.starts_with(options_begin)) return options;
  line.remove_prefix(options_begin.size());
  while (!line.empty()) {
    const std::string_view each = line.substr(0, line.find(between));
    const std::size_t middle = each.find(is);
    if (middle != each.npos) options.emplace(each.substr(0, middle), each.substr(middle + is.size()));
    line.remove_prefix(std::min(line.size(), each.size() + between.size()));
  }
  return options;
}

/// Describes the first difference between the options of the study and the options in the first line of a file,
/// `there`: "seed = 1, not 2"
std::string difference(const Study& study, const std::string& there) {
  const auto found = options_in(there);
  if (found.empty())
    return "its first line, '" + config::shortened(config::escaped(there)) + "', was not written by rtexec sweep";
  for (const auto& [key, value] : options_of(study)) {
    const auto other = found.find(key);
    if (other == found.end()) return "it has no " + key;
    if (other->second != value)
      return key + std::string(is) + config::shortened(config::escaped(other->second)) + ", not " + value;
  }
  return "it has other options than these";
}

// ---- outcomes ----

struct Line {
  std::string_view value;
  std::size_t set = 0;
  std::uint32_t mask = 0;
};

/// Parses an outcome: the value of the varied quantity in this row of the study, the number of the set, and for each
/// test 0 or 1. Example: "9,17,0,1,1".
std::optional<Line> line_of(std::string_view text, std::size_t tests) {
  const std::size_t comma = text.find(',');
  if (comma == text.npos) return std::nullopt;
  Line line{.value = text.substr(0, comma)};
  text.remove_prefix(comma + 1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), line.set);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (text.size() != 2 * tests) return std::nullopt;
  for (std::size_t i = 0; i < tests; ++i) {
    if (text[2 * i] != ',' || (text[2 * i + 1] != '0' && text[2 * i + 1] != '1')) return std::nullopt;
    if (text[2 * i + 1] == '1') line.mask |= std::uint32_t{1} << i;
  }
  return line;
}

std::string line_text(const Study& study, const Outcomes& outcomes, std::size_t item) {
  std::string text = text_of(study.values[item / study.sets]) + "," + std::to_string(item % study.sets);
  for (std::size_t i = 0; i < study.tests.size(); ++i) text += (outcomes.mask(item) >> i & 1) != 0 ? ",1" : ",0";
  return text + "\n";
}

/// Reads complete lines, and counts their bytes. An unfinished last line is ignored.
class Lines {
 public:
  explicit Lines(const std::filesystem::path& file) : in_(file) {}
  bool next(std::string& line) {
    if (!std::getline(in_, line) || in_.eof()) return false;
    bytes_ += line.size() + 1;
    ++number_;
    return true;
  }
  [[nodiscard]] std::size_t number() const { return number_; }
  [[nodiscard]] std::uintmax_t bytes() const { return bytes_; }

 private:
  std::ifstream in_;
  std::size_t number_ = 0;
  std::uintmax_t bytes_ = 0;
};

/// Returns refused if `path` exists and is not a regular file, since reading a pipe or a device would block.
Result<> nothing_but_a_file(const std::filesystem::path& path) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (is_regular_file(status) || !exists(status)) return {};
  return fail(Errc::refused, path.string() + ": error: is no regular file: remove it, or name another folder");
}

/// Reads the outcomes. Returns the number of bytes in complete lines, or 0 if the first two lines are not complete yet.
Result<std::uintmax_t> read(const std::filesystem::path& file, const Study& study, Outcomes& outcomes) {
  const auto other = [&](const std::string& what) {
    return fail(Errc::bad_input,
                file.string() + ": error: outcomes of another study: " + what + "; name another folder");
  };
  const std::string first = first_line(study), second = second_line(study);
  Lines lines(file);
  std::string line;
  // If the first two lines are unfinished, the file is new, or its creation was interrupted.
  if (!lines.next(line) && first.starts_with(line)) return 0;
  if (line != first) return other(difference(study, line));
  if (!lines.next(line) && second.starts_with(line)) return 0;
  if (line != second) return other("its columns are " + config::shortened(config::escaped(line)) + ", not " + second);
  std::map<std::string, std::size_t, std::less<>> rows;
  for (std::size_t row = 0; row < study.values.size(); ++row) rows.emplace(text_of(study.values[row]), row);
  while (lines.next(line)) {
    const auto outcome = line_of(line, study.tests.size());
    if (!outcome)
      return fail(Errc::bad_input, file.string() + ":" + std::to_string(lines.number()) + ": error: '" +
                                       config::shortened(config::escaped(line)) + "' is not an outcome: " + second +
                                       "; remove the line, and its set is computed again");
    const auto row = rows.find(outcome->value);
    if (row != rows.end() && outcome->set < study.sets)
      outcomes.set(row->second * study.sets + outcome->set, outcome->mask);
  }
  return lines.bytes();
}

} // namespace

Result<OutcomeFile> OutcomeFile::open(const std::filesystem::path& folder, const Study& study, Outcomes& outcomes) {
  if (const auto made = config::make_output_folder(folder); !made) return Unexpected(made.error());
  OutcomeFile opened(folder / "outcomes.csv");
  if (auto file = nothing_but_a_file(opened.path_); !file) return Unexpected(file.error());
  auto file = config::open_output(opened.path_, O_WRONLY | O_APPEND | O_CREAT);
  if (!file) return Unexpected(file.error());
  opened.file_ = std::move(*file);
  if (::flock(opened.file_.get(), LOCK_EX | LOCK_NB) != 0)
    return fail(Errc::refused, opened.path_.string() + ": error: " +
                                   (errno == EWOULDBLOCK
                                        ? "another rtexec sweep is writing it; wait for its end, or name another folder"
                                        : hal::errno_text(errno)));
  const auto whole = read(opened.path_, study, outcomes);
  if (!whole) return Unexpected(whole.error());
  if (::ftruncate(opened.file_.get(), static_cast<off_t>(*whole)) != 0)
    return fail(Errc::refused, opened.path_.string() + ": error: cannot write it: " + hal::errno_text(errno));
  if (*whole == 0)
    if (const auto written = opened.write(first_line(study) + "\n" + second_line(study) + "\n"); !written)
      return Unexpected(written.error());
  return opened;
}

Result<> read_outcomes(const std::filesystem::path& folder, const Study& study, Outcomes& outcomes) {
  const std::filesystem::path path = folder / "outcomes.csv";
  if (auto file = nothing_but_a_file(path); !file) return Unexpected(file.error());
  const auto whole = read(path, study, outcomes);
  return whole ? Result<>() : Unexpected(whole.error());
}

Result<> OutcomeFile::write(const std::string& text) {
  const int error = config::write_all(file_.get(), text);
  if (error == 0) return {};
  return fail(Errc::refused, path_.string() + ": error: cannot write it: " + hal::errno_text(error) +
                                 "; its contents are valid: repeat the command to continue");
}

Result<> OutcomeFile::add(const Study& study, const Outcomes& outcomes, std::span<const std::size_t> items) {
  std::string text;
  for (const std::size_t item : items) text += line_text(study, outcomes, item);
  return text.empty() ? Result<>() : write(text);
}

} // namespace rtexec::study
