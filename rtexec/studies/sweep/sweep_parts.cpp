#include "rtexec/studies/sweep/sweep_parts.hpp"

#include "config/base/files.hpp"
#include "config/base/must.hpp"
#include "config/base/text.hpp"
#include "rtexec/studies/sweep/outcome_file.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

namespace rtexec::study {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::size_t max_parts = 100'000;
constexpr std::size_t longest_file = 1 << 16;
constexpr const char* how_to_make = "`rtexec sweep OPTIONS --shard K/N -o FOLDER` makes one";

/// Calls `visit` with the name and the value of each option. The names are the names on the command line.
void each_option(auto& options, auto visit) {
  visit("preset", options.preset);
  visit("n", options.tasks);
  visit("utilisation", options.utilisation);
  visit("reduced", options.reduced);
  visit("high", options.high);
  visit("period", options.period);
  visit("periods", options.periods);
  visit("footprint", options.footprint);
  visit("swappable", options.swappable);
  visit("constants", options.constants);
  visit("layers", options.layers);
  visit("capacity", options.capacity);
  visit("chunk", options.chunk);
  visit("in-per-chunk", options.in_per_chunk);
  visit("out-per-chunk", options.out_per_chunk);
  visit("drop-per-chunk", options.drop_per_chunk);
  visit("in-fixed", options.in_fixed);
  visit("out-fixed", options.out_fixed);
  visit("cut-overhead", options.cut_overhead);
  visit("order", options.order);
  visit("tests", options.tests);
  visit("sets", options.sets);
  visit("seed", options.seed);
}

json json_of(const SweepOptions& options) {
  json object = json::object();
  const auto put = [&]<class Value>(const char* name, const Value& value) {
    if constexpr (requires { value.has_value(); }) object[name] = value ? json(*value) : json(nullptr);
    else object[name] = value;
  };
  each_option(options, put);
  return object;
}

/// Reads the options from JSON. Throws json::exception if a field is missing or does not have the type of its option.
SweepOptions options_of(const json& object) {
  SweepOptions options;
  const auto take = [&]<class Value>(const char* name, Value& value) {
    const json& given = object.at(name);
    if constexpr (requires { value.has_value(); }) {
      if (!given.is_null()) value = given.get<typename Value::value_type>();
    } else {
      value = given.get<Value>();
    }
  };
  each_option(options, take);
  return options;
}

struct PartFile {
  fs::path folder;
  Part part;
  json options;
};

fs::path file_in(const fs::path& folder) { return folder / "part.json"; }

PartFile read_part(const fs::path& folder) {
  const fs::path file = file_in(folder);
  std::error_code unknown;
  if (!fs::exists(file, unknown))
    give_up(Errc::bad_input, folder.string() + ": error: it has no part of a sweep; " + how_to_make);
  const std::string text = must(config::read_file(file, longest_file));
  try {
    const json object = json::parse(text);
    const auto version = object.at("rtexec").get<std::string>();
    if (version != RTEXEC_VERSION)
      give_up(Errc::bad_input, file.string() + ": error: rtexec " + config::shortened(config::escaped(version)) +
                                   " made it, but this is " RTEXEC_VERSION "; all parts must come from one version");
    return {.folder = folder,
            .part = must(parse_part(object.at("part").get<std::string>())),
            .options = object.at("options")};
  } catch (const json::exception&) {
    give_up(Errc::bad_input, file.string() + ": error: it was changed after rtexec wrote it; " + how_to_make);
  }
}

std::string difference(const json& there, const json& here) {
  for (const auto& [name, value] : here.items())
    if (!there.contains(name) || there[name] != value)
      return "--" + name + " is " + (there.contains(name) ? config::shortened(there[name].dump()) : "not given") +
             " there and " + value.dump() + " in ";
  return "it has more options than ";
}

/// Reads the parts in `folders`, and returns them by number. All parts must belong to the same sweep, divided into the
/// same number of parts. No part may be missing or occur twice. Throws Failed.
std::vector<PartFile> parts_of(std::span<const fs::path> folders) {
  std::vector<PartFile> parts;
  for (const fs::path& folder : folders) {
    PartFile part = read_part(folder);
    if (!parts.empty() && part.options != parts.front().options)
      give_up(Errc::bad_input, folder.string() + ": error: a part of another sweep: " +
                                   difference(part.options, parts.front().options) + parts.front().folder.string());
    if (!parts.empty() && part.part.of != parts.front().part.of)
      give_up(Errc::bad_input, folder.string() + ": error: part " + to_string(part.part) + ", but " +
                                   parts.front().folder.string() + " is part " + to_string(parts.front().part) +
                                   ": these parts come from different divisions of the sweep");
    parts.push_back(std::move(part));
  }
  std::ranges::stable_sort(parts, {}, [](const PartFile& each) { return each.part.number; });
  const auto twice = std::ranges::adjacent_find(parts, {}, [](const PartFile& each) { return each.part.number; });
  if (twice != parts.end())
    give_up(Errc::bad_input, "part " + to_string(twice->part) + " is given twice: " + twice->folder.string() + " and " +
                                 std::next(twice)->folder.string());
  const std::size_t of = parts.front().part.of;
  for (std::size_t number = 1; number <= of; ++number)
    if (number > parts.size() || parts[number - 1].part.number != number)
      give_up(Errc::bad_input, "part " + to_string({.number = number, .of = of}) + " is missing; " +
                                   std::to_string(parts.size()) + " of " + std::to_string(of) +
                                   " are given, but all are needed");
  return parts;
}

void take_part(const PartFile& part, const Study& study, Outcomes& all) {
  Outcomes own(study.values.size(), study.sets);
  must(read_outcomes(part.folder, study, own));
  for (std::size_t item = 0; item < own.size(); ++item)
    if (part.part.has(item % own.sets()) && own.known(item)) all.set(item, own.mask(item));
  const std::size_t there = own.count_known(part.part), wanted = part.part.size(own.sets()) * study.values.size();
  if (there < wanted)
    give_up(Errc::bad_input, part.folder.string() + ": error: part " + to_string(part.part) +
                                 " is not finished: " + std::to_string(there) + " of " + std::to_string(wanted) +
                                 " sets; repeat its command to continue");
}

} // namespace

Result<Part> parse_part(std::string_view text) {
  const std::size_t slash = std::min(text.find('/'), text.size());
  const auto number = config::number<std::size_t>(text.substr(0, slash));
  const auto of = config::number<std::size_t>(text.substr(std::min(slash + 1, text.size())));
  if (!number || !of || *of < 1 || *of > max_parts || *number < 1 || *number > *of)
    return fail(Errc::bad_input, "use K/N, part K of N from 1/N to N/N, with N at most " + std::to_string(max_parts));
  return Part{.number = *number, .of = *of};
}

std::string to_string(const Part& part) { return std::to_string(part.number) + "/" + std::to_string(part.of); }

Result<> write_part(const fs::path& folder, const Part& part, const SweepOptions& options) {
  std::error_code unknown;
  if (fs::exists(file_in(folder), unknown)) {
    const auto there = caught([&] { return read_part(folder).part; });
    if (!there) return Unexpected(there.error());
    if (*there != part)
      return fail(Errc::bad_input, folder.string() + ": error: it has part " + to_string(*there) +
                                       ", but this is part " + to_string(part) + "; name another folder");
  }
  const json object{{"rtexec", RTEXEC_VERSION}, {"part", to_string(part)}, {"options", json_of(options)}};
  return config::replace_file(file_in(folder), object.dump(2) + "\n");
}

Result<WholeSweep> put_together(std::span<const fs::path> folders) {
  return caught([&] {
    const std::vector<PartFile> parts = parts_of(folders);
    const auto options = [&] {
      try {
        return options_of(parts.front().options);
      } catch (const json::exception&) {
        give_up(Errc::bad_input, file_in(parts.front().folder).string() +
                                     ": error: it was changed after rtexec wrote it; " + how_to_make);
      }
    }();
    Study study = must(study_of(options));
    Outcomes all(study.values.size(), study.sets);
    for (const PartFile& part : parts) take_part(part, study, all);
    return WholeSweep{std::move(study), std::move(all)};
  });
}

} // namespace rtexec::study
