#include "traces/reading/merge.hpp"

#include "config/base/text.hpp"
#include "traces/reading/babeltrace.hpp"
#include "traces/reading/salvage.hpp"

#include <algorithm>
#include <cstdio>

namespace rtexec::traces {
namespace {

namespace fs = std::filesystem;

Instant instant(const bt_clock_snapshot* clock) {
  return Instant(Duration(static_cast<std::int64_t>(bt_clock_snapshot_get_value(clock))));
}

/// Returns the time at which the message was written, or the begin of the loss that the message reports. Returns
/// nullopt for messages without a time.
std::optional<Instant> time_of(const bt_message* message) {
  switch (bt_message_get_type(message)) {
  case BT_MESSAGE_TYPE_EVENT: return instant(bt_message_event_borrow_default_clock_snapshot_const(message));
  case BT_MESSAGE_TYPE_DISCARDED_EVENTS:
    return instant(bt_message_discarded_events_borrow_beginning_default_clock_snapshot_const(message));
  case BT_MESSAGE_TYPE_DISCARDED_PACKETS:
    return instant(bt_message_discarded_packets_borrow_beginning_default_clock_snapshot_const(message));
  default: return std::nullopt;
  }
}

Loss loss_of(const bt_message* message) {
  Loss loss{.from = *time_of(message)};
  if (bt_message_get_type(message) == BT_MESSAGE_TYPE_DISCARDED_EVENTS) {
    loss.to = instant(bt_message_discarded_events_borrow_end_default_clock_snapshot_const(message));
    if (bt_message_discarded_events_get_count(message, &loss.events) != BT_PROPERTY_AVAILABILITY_AVAILABLE)
      loss.events = 0;
  } else {
    loss.to = instant(bt_message_discarded_packets_borrow_end_default_clock_snapshot_const(message));
    if (bt_message_discarded_packets_get_count(message, &loss.packets) != BT_PROPERTY_AVAILABILITY_AVAILABLE)
      loss.packets = 0;
  }
  return loss;
}

/// The messages of one stream, one after the other.
class Stream {
 public:
  explicit Stream(bt_message_iterator* iterator) : iterator_(iterator) {}
  Stream(Stream&& other) noexcept
      : iterator_(std::exchange(other.iterator_, nullptr)),
        messages_(other.messages_),
        count_(std::exchange(other.count_, 0)),
        next_(other.next_),
        time_(other.time_),
        name_(std::move(other.name_)),
        error_(std::move(other.error_)) {}
  Stream& operator=(Stream&&) = delete;
  ~Stream() {
    while (next_ < count_) bt_message_put_ref(messages_[next_++]);
    if (iterator_) bt_message_iterator_put_ref(iterator_);
  }

  [[nodiscard]] const bt_message* message() const { return messages_[next_]; }
  [[nodiscard]] Instant time() const { return time_; }
  /// Returns the name of the stream's file; empty before the stream's first message.
  [[nodiscard]] const std::string& name() const { return name_; }
  /// Returns the reason why the stream ended early; empty if it did not end early.
  [[nodiscard]] const std::string& error() const { return error_; }

  /// Advances to the first message with a time. Returns false if there is no such message.
  [[nodiscard]] bool begin() { return find(); }
  /// Advances to the next message with a time. Returns false if there is no such message.
  [[nodiscard]] bool advance() {
    drop();
    return find();
  }

 private:
  void drop() { bt_message_put_ref(messages_[next_++]); }

  bool find() {
    for (;; drop()) {
      if (next_ == count_ && !fill()) return false;
      const auto time = time_of(message());
      if (!time) {
        if (bt_message_get_type(message()) == BT_MESSAGE_TYPE_STREAM_BEGINNING) read_name();
        continue;
      }
      if (*time < time_) {
        error_ = "time runs backwards in it";
        return false;
      }
      time_ = *time;
      return true;
    }
  }

  /// Fetches the next messages. If an iterator fails, it first returns the messages that it already has. Its error is
  /// already set at that moment, and libbabeltrace2 accepts no further call before the error is taken.
  bool fill() {
    next_ = count_ = 0;
    if (!error_.empty()) return false;
    const auto status = bt_message_iterator_next(iterator_, &messages_, &count_);
    error_ = take_last_error();
    if (status == BT_MESSAGE_ITERATOR_NEXT_STATUS_OK) return true;
    count_ = 0;
    if (status != BT_MESSAGE_ITERATOR_NEXT_STATUS_END && error_.empty()) error_ = "no reason given";
    return false;
  }

  void read_name() {
    const char* path = bt_stream_get_name(bt_message_stream_beginning_borrow_stream_const(message()));
    name_ = path ? fs::path(path).filename().string() : "";
  }

  bt_message_iterator* iterator_;
  bt_message_array_const messages_ = nullptr;
  std::uint64_t count_ = 0, next_ = 0;
  Instant time_{};
  std::string name_, error_;
};

/// Returns the time of the event by the wall clock, or nullopt if the trace does not relate its clock to the epoch.
std::optional<std::chrono::sys_time<Duration>> wall_clock_of(const bt_message* event) {
  const bt_clock_snapshot* clock = bt_message_event_borrow_default_clock_snapshot_const(event);
  std::int64_t since_epoch = 0;
  if (!bt_clock_class_origin_is_unix_epoch(bt_clock_snapshot_borrow_clock_class_const(clock)) ||
      bt_clock_snapshot_get_ns_from_origin(clock, &since_epoch) != BT_CLOCK_SNAPSHOT_GET_NS_FROM_ORIGIN_STATUS_OK)
    return std::nullopt;
  return std::chrono::sys_time<Duration>(Duration(since_epoch));
}

/// Returns the name of the host that recorded the event; empty if the trace does not name it.
std::string host_of(const bt_message* event) {
  const bt_stream* stream = bt_event_borrow_stream_const(bt_message_event_borrow_event_const(event));
  const bt_value* name =
      bt_trace_borrow_environment_entry_value_by_name_const(bt_stream_borrow_trace_const(stream), "hostname");
  return name && bt_value_is_string(name) ? bt_value_string_get(name) : "";
}

/// True for a stream of the set-up, whose events are emitted once. A gap in such a stream loses no event of the run.
bool of_setup(const std::string& stream) { return stream.starts_with("setup_"); }

class Merge {
 public:
  Merge(EventSink& sink, const Salvaged& readable)
      : sink_(sink), gaps_(readable.gaps), from_(readable.from), to_(readable.to), state_(readable.state) {}

  void add(bt_message_iterator* iterator) { streams_.emplace_back(iterator); }

  void run() {
    for (const Gap& gap : gaps_)
      if (gap.from_begin) {
        summary_.notes.push_back("stream " + config::printable(gap.stream) + " " + gap.what);
        if (!of_setup(gap.stream)) lose({});
      }
    std::vector<Stream*> order; // a heap; the stream with the earliest message is on top
    for (Stream& stream : streams_)
      if (stream.begin()) order.push_back(&stream);
      else end(stream);
    std::ranges::make_heap(order, later);
    while (!order.empty() && !sink_.stops() && order.front()->time() < to_) {
      std::ranges::pop_heap(order, later);
      Stream& stream = *order.back();
      const Stream* next = order.size() > 1 ? order.front() : nullptr;
      bool more = true;
      do {
        deliver(stream);
        more = stream.advance();
      } while (more && (!next || !later(&stream, next)) && !sink_.stops() && stream.time() < to_);
      if (more) std::ranges::push_heap(order, later);
      else {
        end(stream);
        order.pop_back();
      }
    }
    streams_.clear(); // the streams must be released while the graph exists
    note_limits();
  }

  [[nodiscard]] ReadSummary summary() && { return std::move(summary_); }

 private:
  /// A total order, so that equal traces give equal sequences of events.
  static bool later(const Stream* a, const Stream* b) { return a->time() != b->time() ? a->time() > b->time() : a > b; }

  /// Adds notes on the events that were overwritten, and on the events that were not written yet.
  void note_limits() {
    if (from_ != Instant::min())
      summary_.notes.emplace_back(
          from_ < to_ ? "older events were overwritten: it contains only the latest ones"
                      : "older events are being overwritten: read it after its end, or record with a higher limit");
    if (state_ == RecordingState::ended) return;
    char text[96];
    std::snprintf(text, sizeof text, "the recording %s: read until %.6f s",
                  state_ == RecordingState::goes_on ? "goes on" : "broke off",
                  std::chrono::duration<double>(summary_.last - summary_.first).count());
    summary_.notes.emplace_back(text);
    lose({.from = std::max(to_, summary_.last), .to = Instant::max()});
  }

  void lose(const Loss& loss) {
    summary_.lost.events += loss.events;
    summary_.lost.packets += loss.packets;
    summary_.lost_unknown = summary_.lost_unknown || (loss.events == 0 && loss.packets == 0);
    sink_.loss(loss);
  }

  void deliver(const Stream& stream) {
    if (stream.time() < from_ && !of_setup(stream.name())) return;
    const bt_message* message = stream.message();
    if (bt_message_get_type(message) != BT_MESSAGE_TYPE_EVENT) return lose(loss_of(message));
    if (summary_.events++ == 0) begin(stream);
    summary_.last = stream.time();
    sink_.event(bt_message_event_borrow_event_const(message), stream.time());
  }

  void begin(const Stream& stream) {
    summary_.first = stream.time();
    summary_.began = wall_clock_of(stream.message());
    summary_.host = host_of(stream.message());
  }

  void end(const Stream& stream) {
    const auto gap = std::ranges::find_if(
        gaps_, [&](const Gap& known) { return !known.from_begin && known.stream == stream.name(); });
    if (gap == gaps_.end() && stream.error().empty()) return;
    const std::string what = gap != gaps_.end() ? gap->what : "is damaged (" + stream.error() + ")";
    summary_.notes.push_back("stream " + (stream.name().empty() ? "without a name" : config::printable(stream.name())) +
                             " " + what + ": " + extent(stream));
    if (!of_setup(stream.name())) lose({.from = stream.time(), .to = Instant::max()});
  }

  [[nodiscard]] std::string extent(const Stream& stream) const {
    if (summary_.events == 0 || stream.time() < summary_.first) return "no part of it can be read";
    char text[64];
    std::snprintf(text, sizeof text, "read until %.6f s",
                  std::chrono::duration<double>(stream.time() - summary_.first).count());
    return text;
  }

  EventSink& sink_;
  std::vector<Gap> gaps_;
  const Instant from_, to_;
  const RecordingState state_;
  std::vector<Stream> streams_;
  ReadSummary summary_;
};

/// The sink component of all streams. Its user data is the Merge.
using Self = bt_self_component_sink;

Merge& merge_of(Self* self) {
  return *static_cast<Merge*>(bt_self_component_get_data(bt_self_component_sink_as_self_component(self)));
}

struct Ports {
  Merge* merge;
  std::uint64_t count;
};

bt_component_class_initialize_method_status initialize(Self* self, bt_self_component_sink_configuration*,
                                                       const bt_value*, void* data) {
  const auto& ports = *static_cast<const Ports*>(data);
  bt_self_component_set_data(bt_self_component_sink_as_self_component(self), ports.merge);
  for (std::uint64_t i = 0; i < ports.count; ++i)
    if (bt_self_component_sink_add_input_port(self, std::to_string(i).c_str(), nullptr, nullptr) !=
        BT_SELF_COMPONENT_ADD_PORT_STATUS_OK)
      return BT_COMPONENT_CLASS_INITIALIZE_METHOD_STATUS_ERROR;
  return BT_COMPONENT_CLASS_INITIALIZE_METHOD_STATUS_OK;
}

bt_component_class_sink_graph_is_configured_method_status configured(Self* self) {
  const std::uint64_t ports = bt_component_sink_get_input_port_count(bt_self_component_sink_as_component_sink(self));
  for (std::uint64_t i = 0; i < ports; ++i) {
    bt_message_iterator* iterator = nullptr;
    if (bt_message_iterator_create_from_sink_component(self, bt_self_component_sink_borrow_input_port_by_index(self, i),
                                                       &iterator) !=
        BT_MESSAGE_ITERATOR_CREATE_FROM_SINK_COMPONENT_STATUS_OK)
      return BT_COMPONENT_CLASS_SINK_GRAPH_IS_CONFIGURED_METHOD_STATUS_ERROR;
    merge_of(self).add(iterator);
  }
  return BT_COMPONENT_CLASS_SINK_GRAPH_IS_CONFIGURED_METHOD_STATUS_OK;
}

bt_component_class_sink_consume_method_status consume(Self* self) {
  merge_of(self).run();
  return BT_COMPONENT_CLASS_SINK_CONSUME_METHOD_STATUS_END;
}

const bt_component_sink* add_sink(bt_graph* graph, Ports ports) {
  const SinkClass type(bt_component_class_sink_create("merge", consume));
  if (!type) return nullptr;
  bt_component_class_sink_set_initialize_method(type.get(), initialize);
  bt_component_class_sink_set_graph_is_configured_method(type.get(), configured);
  const bt_component_sink* sink = nullptr;
  bt_graph_add_sink_component_with_initialize_method_data(graph, type.get(), "merge", nullptr, &ports,
                                                          BT_LOGGING_LEVEL_NONE, &sink);
  return sink;
}

/// Connects each output port of `source` to a separate input port of `sink`.
bool connect(bt_graph* graph, const bt_component_source* source, const bt_component_sink* sink) {
  for (std::uint64_t i = 0; i < bt_component_source_get_output_port_count(source); ++i)
    if (bt_graph_connect_ports(graph, bt_component_source_borrow_output_port_by_index_const(source, i),
                               bt_component_sink_borrow_input_port_by_index_const(sink, i),
                               nullptr) != BT_GRAPH_CONNECT_PORTS_STATUS_OK)
      return false;
  return true;
}

bool run(bt_graph* graph, const bt_component_source* source, Merge& merge) {
  const std::uint64_t streams = bt_component_source_get_output_port_count(source);
  if (streams == 0) {
    merge.run(); // also reports the gaps
    return true;
  }
  const bt_component_sink* sink = add_sink(graph, {&merge, streams});
  return sink && connect(graph, source, sink) && bt_graph_run(graph) == BT_GRAPH_RUN_STATUS_OK;
}

Unexpected<Error> several(const fs::path& folder, const std::vector<fs::path>& traces) {
  std::string text = folder.string() + ": contains several recordings; choose one:";
  for (const fs::path& trace : traces) text += "\n  " + trace.string();
  return fail(Errc::bad_input, text);
}

/// Finds the CTF trace under `folder`: a folder with a file "metadata".
Result<fs::path> find_trace(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::recursive_directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    if (entry->path().filename() == "metadata") found.push_back(entry->path().parent_path());
  if (error) return fail(Errc::bad_input, folder.string() + ": the trace cannot be read: " + error.message());
  if (found.empty()) return fail(Errc::bad_input, folder.string() + ": contains no trace (no file named \"metadata\")");
  std::ranges::sort(found);
  if (found.size() > 1) return several(folder, found);
  return found.front();
}

Unexpected<Error> nothing_to_read(const fs::path& folder, const std::vector<std::string>& reasons) {
  std::string text = folder.string() + ": no part of the trace can be read";
  for (const std::string& reason : reasons) text += "\n  " + reason;
  return fail(Errc::bad_input, text);
}

} // namespace

Result<ReadSummary> read_events(const fs::path& folder, EventSink& sink) {
  const auto source = CtfSource::find();
  if (!source) return Unexpected(source.error());
  const auto trace = find_trace(folder);
  if (!trace) return Unexpected(trace.error());
  const auto readable = salvage(*trace, *source);
  if (!readable) return Unexpected(readable.error());

  const Graph graph(bt_graph_create(0));
  Merge merge(sink, *readable);
  const auto* component = graph ? source->add_to(graph.get(), readable->folder) : nullptr;
  if (!component || !run(graph.get(), component, merge)) return nothing_to_read(folder, {take_last_error()});
  if (sink.stops()) return fail(Errc::cancelled, folder.string() + ": not read completely: stopped by a signal");

  ReadSummary summary = std::move(merge).summary();
  if (summary.events == 0 && !summary.notes.empty()) return nothing_to_read(folder, summary.notes);
  summary.notes.insert(summary.notes.end(), readable->notes.begin(), readable->notes.end());
  return summary;
}

} // namespace rtexec::traces
