// Owning wrappers of libbabeltrace2's objects, and its source component for CTF traces.
#pragma once

#include <rtexec/result.hpp>

#include <babeltrace2/babeltrace.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

namespace rtexec::traces {

template <auto put> struct Put {
  template <class T> void operator()(T* object) const { put(object); }
};
using Graph = std::unique_ptr<bt_graph, Put<bt_graph_put_ref>>;
using Plugin = std::unique_ptr<const bt_plugin, Put<bt_plugin_put_ref>>;
using Value = std::unique_ptr<bt_value, Put<bt_value_put_ref>>;
using SinkClass = std::unique_ptr<bt_component_class_sink, Put<bt_component_class_sink_put_ref>>;

/// Returns the innermost message of this thread's last libbabeltrace2 error, and clears the error; empty if there was
/// none.
[[nodiscard]] std::string take_last_error();

/// Calls `ask` in a child process and returns its answer. If the child ends without an answer, returns a text that says
/// how the child ended; this text is never empty. The child is needed because libbabeltrace2 aborts on some metadata,
/// such as a structure with two members of one name.
[[nodiscard]] std::string answer_of_child(const std::function<std::string()>& ask);

/// The plug-in that reads folders of CTF files.
class CtfSource {
 public:
  /// Returns refused if the plug-in is not installed.
  [[nodiscard]] static Result<CtfSource> find();

  /// Adds to `graph` a component that reads the trace in `folder`, and returns the component. Returns nullptr on
  /// failure; take_last_error() then returns the reason.
  [[nodiscard]] const bt_component_source* add_to(bt_graph* graph, const std::filesystem::path& folder) const;
  /// Returns the reason why the trace in `folder` cannot be opened; empty if it can be opened. Opens the trace in a
  /// child process, because damaged metadata may abort the process.
  [[nodiscard]] std::string refusal(const std::filesystem::path& folder) const;

 private:
  explicit CtfSource(Plugin plugin) : plugin_(std::move(plugin)) {}

  Plugin plugin_;
};

} // namespace rtexec::traces
