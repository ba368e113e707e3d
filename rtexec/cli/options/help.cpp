#include "rtexec/cli/options/help.hpp"

#include "config/base/must.hpp"
#include "config/base/text.hpp"
#include "rtexec/cli/options/option_type.hpp"
#include "rtexec/cli/terminal/terminal.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <iterator>

namespace rtexec::command {

namespace {

constexpr std::size_t names_width = 30;
constexpr std::size_t page_width = 100; // if the output is no terminal

class Formatter final : public CLI::Formatter {
 public:
  Formatter() {
    column_width(names_width);
    label("Positionals", "Arguments");
  }

  std::string make_option_name(const CLI::Option* option, bool is_positional) const override {
    std::string name = CLI::Formatter::make_option_name(option, is_positional);
    if (const auto comma = name.find(','); comma != std::string::npos) name.insert(comma + 1, " ");
    return name;
  }

  std::string make_option_opts(const CLI::Option* option) const override {
    const std::string type = type_of(*option).name;
    return type.empty() ? "" : " " + type;
  }

  std::string make_option_desc(const CLI::Option* option) const override {
    const OptionType type = type_of(*option);
    std::string facts;
    const auto add = [&facts](const std::string& fact) { facts += (facts.empty() ? "" : "; ") + fact; };
    const std::vector<std::string_view> choices(type.choices.begin(), type.choices.end());
    if (!choices.empty()) add(config::alternatives(choices));
    if (!type.range.empty()) add(type.range);
    if (const std::string value = fallback(*option); !value.empty()) add("default: " + value);
    for (const CLI::Option* const other : option->get_needs()) add("needs " + other->get_name());
    return described(option->get_description() + (facts.empty() ? "" : " (" + facts + ")"));
  }

  std::string make_subcommand(const CLI::App* subcommand) const override {
    std::ostringstream out;
    CLI::detail::format_help(out, subcommand->get_name(), described(subcommand->get_description()), names_width);
    return out.str();
  }

 private:
  /// Returns the default value as the user may type it. Removes the brackets in which CLI11 encloses a list.
  static std::string fallback(const CLI::Option& option) {
    const std::string value = option.get_default_str();
    const bool list = option.get_delimiter() != 0 && value.starts_with('[') && value.ends_with(']');
    return list ? value.substr(1, value.size() - 2) : value;
  }

  static std::string described(const std::string& text) {
    const auto terminal = terminal_of(std::cout);
    const std::size_t width = terminal ? std::clamp<std::size_t>(terminal->columns, 60, page_width) : page_width;
    std::string result;
    for (const std::string& line : report::wrapped(text, width - names_width)) config::add_line(result, line);
    return result;
  }
};

std::vector<std::string> subcommands_of(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::App* const each : command.get_subcommands({})) names.push_back(each->get_name());
  return names;
}

std::vector<std::string> options_of(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* const option : command.get_options())
    std::ranges::copy(names_of(*option), std::back_inserter(names));
  return names;
}

/// Returns "; did you mean 'run'?" if one of the names is similar, otherwise an empty text.
std::string suggestion(const std::string& word, const std::vector<std::string>& names) {
  const std::vector<std::string_view> known(names.begin(), names.end());
  const auto near = config::nearest(word, known);
  return near ? "; did you mean '" + std::string(*near) + "'?" : "";
}

std::string no_subcommand(const CLI::App& command, const std::string& word) {
  return "no subcommand is named " + config::quoted(word) + suggestion(word, subcommands_of(command));
}

/// The commands that the line names, from the program to the last subcommand.
struct Path {
  std::string text;
  const CLI::App* command;
};
Path parsed(const CLI::App& program) {
  Path path{program.get_name(), &program};
  while (!path.command->get_subcommands().empty()) {
    path.command = path.command->get_subcommands().front();
    path.text += " " + path.command->get_name();
  }
  return path;
}

/// Returns an error if `command` did not recognise one of its words. Returns an empty text otherwise.
std::string unknown(const CLI::App& command, const std::string& name) {
  const auto words = command.remaining();
  for (const std::string& word : words)
    if (word.starts_with("-") && word.size() > 1) {
      const std::string option = word.substr(0, word.find('='));
      return name + " has no option " + config::quoted(option) + suggestion(option, options_of(command));
    }
  const bool wants_subcommand = command.get_require_subcommand_min() > 0 && command.get_subcommands().empty();
  return wants_subcommand && !words.empty() ? no_subcommand(command, words.front()) : "";
}

void help(const CLI::App& program, const std::vector<std::string>& path) {
  const CLI::App* command = &program;
  std::string before; // the words before the last command
  for (const std::string& word : path) {
    const auto known = command->get_subcommands({});
    const auto next = std::ranges::find(known, word, &CLI::App::get_name);
    if (next == known.end()) give_up(Errc::bad_input, no_subcommand(*command, word));
    before += command->get_name() + " ";
    command = *next;
  }
  std::cout << command->get_formatter()->make_help(command, before + command->get_name(), CLI::AppFormatMode::Normal);
}

} // namespace

std::shared_ptr<CLI::FormatterBase> help_formatter() { return std::make_shared<Formatter>(); }

void add_help(const Command& program) {
  const Command command = program.add("help", "Print the help of the program, or of a subcommand");
  const auto path = std::make_shared<std::vector<std::string>>();
  command.option(
      "subcommand", *path, "SUBCOMMAND",
      "Subcommand whose help is printed, such as \"calibrate bandwidth\" (default: the help of the program)");
  command.on_run([&parser = program.parser(), path] { help(parser, *path); });
}

std::string problem(const CLI::App& program, const CLI::ParseError& error) {
  const Path path = parsed(program);
  std::string what = unknown(program, program.get_name());
  if (what.empty()) what = unknown(*path.command, path.text);
  if (what.empty()) what = error.what();
  return what + "\n  " + path.text + " --help shows the usage";
}

} // namespace rtexec::command
