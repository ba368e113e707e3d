#include "config/base/text.hpp"
#include "rtexec/cli/options/options.hpp"

#include "rtexec/cli/text/table.hpp"

#include <CLI/App.hpp>

#include <filesystem>
#include <optional>
#include <utility>

namespace rtexec::command {

Option Option::required() const { return option_->required(), *this; }
Option Option::default_shown() const { return option_->capture_default_str(), *this; }

Option Option::one_of(std::vector<std::string> values) const {
  return option_->check(CLI::IsMember(std::move(values))), *this;
}

namespace {

/// Rejects values outside of `least` to `most`. Replaces CLI::Range, which accepts nan and prints small limits as 0.
template <class Number> void check_range(CLI::Option& option, Number least, Number most, const std::string& number) {
  const std::string range = config::significant(least, 8) + " to " + config::significant(most, 8);
  const auto check = [=](const std::string& text) {
    Number value = 0;
    return CLI::detail::lexical_cast(text, value) && value >= least && value <= most
               ? std::string()
               : "'" + text + "' is not a " + number + " from " + range;
  };
  option.check(check, range);
}

} // namespace

Option Option::within(int least, int most) const { return check_range(*option_, least, most, "whole number"), *this; }

Option Option::within(double least, double most) const { return check_range(*option_, least, most, "number"), *this; }

/// The check has no description, because CLI11 would print the description in the help.
Option Option::not_empty() const {
  return option_->check([](const std::string& text) { return text.empty() ? std::string("must not be empty") : ""; },
                        ""),
         *this;
}

Option Option::existing_file() const { return option_->check(CLI::ExistingFile), *this; }
Option Option::existing_folder() const { return option_->check(CLI::ExistingDirectory), *this; }
Option Option::existing_path() const { return option_->check(CLI::ExistingPath), *this; }

Option Option::separated_by(char separator) const {
  return option_->delimiter(separator)->allow_extra_args(false), *this;
}

Option Option::needs(const Option& other) const { return option_->needs(other.option_), *this; }
Option Option::excludes(const Option& other) const { return option_->excludes(other.option_), *this; }

std::string Option::name() const { return option_->get_name(); }
bool Option::given() const { return option_->count() > 0; }

Command Command::add(const std::string& name, const std::string& help) const {
  return Command(*app_->add_subcommand(name, help));
}

void Command::needs_subcommand() const { app_->require_subcommand(1); }

template <class Value>
Option Command::option(const std::string& names, Value& value, const std::string& type, const std::string& help) const {
  return Option(*app_->add_option(names, value, help)->type_name(type));
}

#define RTEXEC_OPTION_OF(...) \
  template Option Command::option(const std::string&, __VA_ARGS__&, const std::string&, const std::string&) const;
RTEXEC_OPTION_OF(std::string)
RTEXEC_OPTION_OF(std::vector<std::string>)
RTEXEC_OPTION_OF(std::vector<std::filesystem::path>)
RTEXEC_OPTION_OF(int)
RTEXEC_OPTION_OF(unsigned)
RTEXEC_OPTION_OF(std::uint64_t)
RTEXEC_OPTION_OF(double)
RTEXEC_OPTION_OF(std::vector<double>)
RTEXEC_OPTION_OF(std::optional<unsigned>)
RTEXEC_OPTION_OF(std::optional<std::uint64_t>)
RTEXEC_OPTION_OF(std::optional<double>)

Option Command::flag(const std::string& name, bool& value, const std::string& help) const {
  return Option(*app_->add_flag(name, value, help));
}

Option Command::json(std::string& file) const {
  return option("--json", file, "FILE", "Write the result as JSON to FILE (- for standard output)");
}

std::vector<Option> Command::options() const {
  std::vector<Option> options;
  for (CLI::Option* const option : app_->get_options())
    if (option != app_->get_help_ptr() && option != app_->get_help_all_ptr()) options.emplace_back(*option);
  return options;
}

void Command::excludes(const Option& option) const { app_->excludes(option.option_); }
void Command::on_run(std::function<void()> run) const { app_->callback(std::move(run)); }
bool Command::given() const { return app_->parsed(); }

} // namespace rtexec::command
