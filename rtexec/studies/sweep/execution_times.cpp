#include "rtexec/studies/sweep/execution_times.hpp"

#include "config/content.hpp"
#include "config/base/files.hpp"
#include "config/base/text.hpp"
#include <rtexec/units.hpp>

#include <algorithm>
#include <cmath>
#include <optional>
#include <sstream>
#include <string>
#include <utility>

namespace rtexec::study {

namespace {

constexpr std::size_t max_file_bytes = std::size_t{1} << 30;

/// Parses a number of nanoseconds, or a number with a unit. Returns nullopt if the text has neither form, or if the
/// time is out of the range of execution times.
std::optional<double> parse_sample(const std::string& text) {
  auto time = config::number<double>(text);
  if (!time)
    if (const auto with_unit = parse_duration(text)) time = static_cast<double>(with_unit->count());
  return time && std::isfinite(*time) && *time >= 0 ? time : std::nullopt;
}

} // namespace

Result<std::vector<double>> read_execution_times(const std::filesystem::path& path) {
  const std::string file = path.string();
  auto content = config::read_file(path, max_file_bytes);
  if (!content) return Unexpected(content.error());
  if (auto other = config::mistaken(path, *content, config::Content::execution_times))
    return Unexpected(std::move(*other));
  std::istringstream in(std::move(*content));
  std::vector<double> samples;
  std::string line;
  for (std::size_t number = 1; std::getline(in, line); ++number) {
    line.erase(std::min(line.find('#'), line.size()));
    line.erase(line.find_last_not_of(" \t\r") + 1);
    line.erase(0, line.find_first_not_of(" \t"));
    if (line.empty()) continue;
    const auto time = parse_sample(line);
    if (!time)
      return fail(Errc::bad_input,
                  file + ", line " + std::to_string(number) +
                      ": expected one execution time per line, in nanoseconds or with a unit (\"1.5ms\"), got " +
                      config::quoted(line, 40));
    samples.push_back(*time);
  }
  return samples;
}

} // namespace rtexec::study
