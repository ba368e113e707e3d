// Subcommands and their options. These classes hide the header-only parser CLI11, because including CLI11 adds seconds
// to the compile time of a file. Only main.cpp, options.cpp and files that print options include CLI11.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
} // namespace CLI

namespace rtexec::command {

/// An option or an argument of a command. Help and shell completion show its constraints.
class Option {
 public:
  explicit Option(CLI::Option& option) : option_(&option) {}

  Option required() const;
  /// Shows the variable's present value in help, as the default.
  Option default_shown() const;
  Option one_of(std::vector<std::string> values) const;
  /// Requires an integer from `least` to `most`.
  Option within(int least, int most) const;
  /// Requires a number from `least` to `most`. Rejects "nan".
  Option within(double least, double most) const;
  Option not_empty() const;
  Option existing_file() const;
  Option existing_folder() const;
  Option existing_path() const;
  /// Accepts a list in a single word. Without this setting, the parser could add the words after the list to the list.
  Option separated_by(char separator) const;
  Option needs(const Option& other) const;
  Option excludes(const Option& other) const;

  [[nodiscard]] std::string name() const; // for example "--output"
  [[nodiscard]] bool given() const;

 private:
  friend class Command;
  CLI::Option* option_;
};

/// The program, or one of its commands. The parser owns the data of the command.
class Command {
 public:
  explicit Command(CLI::App& app) : app_(&app) {}

  [[nodiscard]] Command add(const std::string& name, const std::string& help) const;
  void needs_subcommand() const;

  /// Adds an option with a value. `type` is the name of the value in help. The option is an argument if `names` begins
  /// without a dash.
  template <class Value>
  Option option(const std::string& names, Value& value, const std::string& type, const std::string& help) const;
  Option flag(const std::string& name, bool& value, const std::string& help) const;
  /// Adds the option that every command has: --json FILE ("-" for standard output).
  Option json(std::string& file) const;
  /// Returns the options added so far, except --help.
  [[nodiscard]] std::vector<Option> options() const;
  void excludes(const Option& option) const;

  void on_run(std::function<void()> run) const;
  [[nodiscard]] bool given() const;

  /// Returns the parser. Help and completion need it to list all options.
  [[nodiscard]] CLI::App& parser() const { return *app_; }

 private:
  CLI::App* app_;
};

} // namespace rtexec::command
