// Tests that a damaged trace is read as far as possible, and that missing parts are reported. Reading must end without
// a crash for any bytes.
#include "test/support/expected_result.hpp"
#include "test/support/sanitized.hpp"
#include "test/traces/reading_support.hpp"
#include "traces/reading/babeltrace.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <random>

namespace rtexec::traces::test {
namespace {

namespace fs = std::filesystem;
using rtexec::test::fails;
using rtexec::test::read_text;
using rtexec::test::ScratchFolder;
using rtexec::test::write_text;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

constexpr std::uint64_t jobs = 600;

/// Returns the number of folders that reading made in the system's folder for temporary files.
std::size_t temporary_folders() {
  std::size_t count = 0;
  for (const auto& entry : fs::directory_iterator(fs::temp_directory_path()))
    count += entry.path().filename().string().starts_with("rtexec-trace-");
  return count;
}

class DamagedTrace : public testing::Test {
 protected:
  DamagedTrace() : before_(temporary_folders()) { write_small_trace(trace_, 2, jobs, {.packet_bytes = 4096}); }
  ~DamagedTrace() override { EXPECT_EQ(temporary_folders(), before_) << "a temporary folder was left behind"; }

  void read() {
    reading_ = std::make_unique<Reading>();
    read_into(*reading_, folder_.path());
  }
  /// Checks that the jobs read from `core` are its first ones, without a gap, and that all of the other core's are
  /// there.
  std::uint64_t first_jobs_of(unsigned core) {
    std::uint64_t next[2] = {0, 1};
    for (const Record& record : reading_->records) {
      const unsigned of = record.job.number % 2;
      EXPECT_EQ(record.job.number, next[of]);
      next[of] += 2;
    }
    EXPECT_EQ(next[1 - core], jobs + 1 - core);
    return next[core] / 2;
  }
  fs::path stream(const char* name) { return trace_ / name; }

  ScratchFolder folder_;
  fs::path trace_ = folder_ / "ust";
  std::size_t before_;
  std::unique_ptr<Reading> reading_;
};

TEST_F(DamagedTrace, TruncatedStreamIsReadUntilTheCut) {
  const std::string whole = read_text(stream("events_1"));
  const std::string index = read_text(stream("index/events_1.idx"));
  std::uint64_t last = 0;
  for (std::size_t bytes = 1; bytes < whole.size();
       bytes += bytes < 200 || bytes % 4096 < 8 || bytes % 4096 > 4090 ? 1U : 101U) {
    fs::resize_file(stream("events_1"), 0);
    write_text(stream("events_1"), std::string_view(whole).substr(0, bytes));
    if (bytes % 3 == 0) fs::remove(stream("index/events_1.idx"));
    else write_text(stream("index/events_1.idx"), index);
    read();
    ASSERT_TRUE(reading_->summary) << bytes << ": " << reading_->summary.error().what;
    const std::uint64_t read = first_jobs_of(1);
    EXPECT_GE(read, last) << bytes;
    last = read;
    if (bytes % 4096 == 0 && bytes % 3 == 0) continue; // these are whole packets, so the loss of more is undetectable
    ASSERT_THAT(reading_->summary->notes, ElementsAre(StartsWith("stream events_1 "))) << bytes;
    ASSERT_EQ(reading_->losses.size(), 1U);
    EXPECT_EQ(reading_->losses[0].to, Instant::max());
    EXPECT_EQ(reading_->losses[0].events + reading_->losses[0].packets, 0U);
    EXPECT_EQ(read_text(stream("events_1")).size(), bytes); // unchanged
  }
  EXPECT_EQ(last, jobs / 2);
}

TEST_F(DamagedTrace, NoteStatesUntilWhenTruncatedStreamIsRead) {
  fs::resize_file(stream("events_1"), 4096 + 2000);
  read();
  ASSERT_TRUE(reading_->summary) << reading_->summary.error().what;
  const auto read = static_cast<std::int64_t>(first_jobs_of(1));
  const Instant until = ms(1000 + 2 * read - 1);
  char text[100];
  std::snprintf(text, sizeof text, "stream events_1 ends in the middle of a packet: read until %.6f s",
                std::chrono::duration<double>(until - ms(500)).count());
  EXPECT_THAT(reading_->summary->notes, ElementsAre(text));
  EXPECT_EQ(reading_->losses.at(0).from, until);
}

TEST_F(DamagedTrace, NoteReportsStreamThatEndsBeforeItsIndex) {
  fs::resize_file(stream("events_1"), 4096);
  read();
  ASSERT_TRUE(reading_->summary) << reading_->summary.error().what;
  EXPECT_THAT(reading_->summary->notes, ElementsAre(HasSubstr("packets earlier than its index: read until")));
}

TEST_F(DamagedTrace, MissingStreamIsReportedWithAndWithoutItsIndex) {
  fs::remove(stream("events_1"));
  for (const bool index : {true, false}) {
    if (!index) fs::remove_all(stream("index"));
    read();
    ASSERT_TRUE(reading_->summary) << reading_->summary.error().what;
    EXPECT_EQ(first_jobs_of(1), 0U);
    EXPECT_THAT(reading_->summary->notes, ElementsAre("stream events_1 is missing"));
    ASSERT_EQ(reading_->losses.size(), 1U);
    EXPECT_EQ(reading_->losses[0].from, Instant::min());
    EXPECT_EQ(reading_->losses[0].to, Instant::max());
  }
}

TEST_F(DamagedTrace, EmptyStreamIsReported) {
  fs::resize_file(stream("events_1"), 0);
  read();
  ASSERT_TRUE(reading_->summary) << reading_->summary.error().what;
  EXPECT_EQ(first_jobs_of(1), 0U);
  EXPECT_THAT(reading_->summary->notes, ElementsAre("stream events_1 is empty"));
}

TEST_F(DamagedTrace, UnreadableStreamIsReported) {
  fs::remove(stream("events_1"));
  fs::create_symlink("nowhere", stream("events_1"));
  read();
  ASSERT_TRUE(reading_->summary) << reading_->summary.error().what;
  EXPECT_EQ(first_jobs_of(1), 0U);
  EXPECT_THAT(reading_->summary->notes, ElementsAre("stream events_1 is a link to nothing"));
}

TEST_F(DamagedTrace, PipeInPlaceOfAFileDoesNotBlockTheReader) {
  const auto put_pipe = [&](const char* name) {
    fs::create_directory(trace_ / "index");
    fs::remove(stream(name));
    ASSERT_EQ(::mkfifo(stream(name).c_str(), 0600), 0);
    read();
  };
  put_pipe("index/events_1.idx");
  ASSERT_TRUE(reading_->summary) << reading_->summary.error().what;
  EXPECT_EQ(first_jobs_of(1), jobs / 2);
  EXPECT_THAT(reading_->summary->notes, ElementsAre(HasSubstr("the index of stream events_1 does not match it")));
  put_pipe("events_1");
  ASSERT_TRUE(reading_->summary) << reading_->summary.error().what;
  EXPECT_EQ(first_jobs_of(1), 0U);
  EXPECT_THAT(reading_->summary->notes, ElementsAre("stream events_1 is not a file"));
  put_pipe("metadata");
  ASSERT_FALSE(reading_->summary);
  EXPECT_THAT(reading_->summary.error().what, HasSubstr("it is not a regular file"));
}

TEST_F(DamagedTrace, FileThatIsNoStreamIsIgnoredAndReported) {
  write_text(stream("notes.txt"), "Tuesday");
  read();
  ASSERT_TRUE(reading_->summary) << reading_->summary.error().what;
  EXPECT_EQ(first_jobs_of(1), jobs / 2);
  EXPECT_THAT(reading_->summary->notes, ElementsAre(HasSubstr("notes.txt is not a stream: ignored")));
  EXPECT_THAT(reading_->losses, IsEmpty());
}

TEST_F(DamagedTrace, GarbageInOneStreamLeavesOthersReadable) {
  std::string bytes = read_text(stream("events_1"));
  for (std::size_t i = 4096 + 1000; i < 4096 + 1400; ++i) bytes[i] = static_cast<char>(i * 31);
  write_text(stream("events_1"), bytes);
  read();
  ASSERT_TRUE(reading_->summary) << reading_->summary.error().what;
  EXPECT_THAT(reading_->summary->notes, ElementsAre(StartsWith("stream events_1 is damaged (")));
  EXPECT_FALSE(reading_->losses.empty());
  std::uint64_t others = 0;
  for (const Record& record : reading_->records) others += record.job.number % 2 == 0;
  EXPECT_GE(others, jobs / 2);
}

TEST_F(DamagedTrace, MismatchedIndexIsIgnoredAndReported) {
  std::string bytes = read_text(stream("index/events_1.idx"));
  bytes[40] = 'x';
  write_text(stream("index/events_1.idx"), bytes);
  read();
  ASSERT_TRUE(reading_->summary) << reading_->summary.error().what;
  EXPECT_EQ(first_jobs_of(1), jobs / 2);
  EXPECT_THAT(reading_->summary->notes, ElementsAre("the index of stream events_1 does not match it: not used"));
  EXPECT_THAT(reading_->losses, IsEmpty());
}

TEST_F(DamagedTrace, MetadataThatIsCutOffOrGarbageIsRefused) {
  const std::string whole = read_text(stream("metadata"));
  for (const std::size_t bytes : {0UZ, 1UZ, 100UZ, 4096UZ, whole.size() / 2}) {
    write_text(stream("metadata"), std::string_view(whole).substr(0, bytes));
    EXPECT_TRUE(fails(summarize(folder_.path()), Errc::bad_input, "metadata is truncated or damaged")) << bytes;
  }
  write_text(stream("metadata"), "these are not the data you are looking for");
  EXPECT_TRUE(fails(summarize(folder_.path()), Errc::bad_input, "metadata is truncated or damaged"));
}

/// libbabeltrace2 aborts on such metadata.
TEST_F(DamagedTrace, MetadataWithDuplicateMemberNameIsRefused) {
  write_text(stream("metadata"), R"(/* CTF 1.8 */
typealias integer { size = 8; align = 8; signed = false; } := uint8_t;
trace { major = 1; minor = 8; byte_order = le; packet.header := struct { uint8_t stream_id; }; };
stream { id = 0; event.header := struct { uint8_t id; }; };
event { id = 0; name = "x"; stream_id = 0; fields := struct { string _s; uint8_t _s[3]; }; };
)");
  EXPECT_TRUE(fails(summarize(folder_.path()), Errc::bad_input, "metadata is truncated or damaged"));
}

TEST(AnswerOfChild, ReturnsTextOfChildOrHowItEnded) {
  EXPECT_EQ(answer_of_child([] { return std::string(); }), "");
  EXPECT_EQ(answer_of_child([] { return std::string("no such file"); }), "no such file");
  EXPECT_EQ(answer_of_child([]() -> std::string { ::_exit(3); }), "libbabeltrace2 cannot read it: exit code 3");
  EXPECT_EQ(answer_of_child([]() -> std::string { ::_exit(0); }), "libbabeltrace2 cannot read it: exit code 0");
  EXPECT_EQ(answer_of_child([]() -> std::string { ::kill(::getpid(), SIGKILL), ::_exit(0); }),
            "libbabeltrace2 cannot read it: Killed");
}

TEST_F(DamagedTrace, TraceWithoutReadableStreamIsRefusedWithReasons) {
  for (const char* name : {"events_0", "events_1", "setup_0", "setup_1"}) write_text(stream(name), "gone");
  EXPECT_TRUE(fails(summarize(folder_.path()), Errc::bad_input, "stream events_1 ends in the header of a packet"));
}

/// Returns how a child that reads the folder ended. A child process lets the test detect a crash or a hang.
int read_in_child(const fs::path& folder) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(120);
    Reading got;
    read_into(got, folder);
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}

TEST_F(DamagedTrace, RandomBytesNeitherCrashNorHangTheReader) {
  const char* rounds = std::getenv("READING_FUZZ");
  const int count = rounds ? std::atoi(rounds) : rtexec::test::sanitized ? 20 : 150;
  std::mt19937 random(static_cast<unsigned>(count));
  const std::vector<const char*> files{"events_0", "events_1", "setup_0", "metadata", "index/events_0.idx"};
  for (int round = 0; round < count; ++round) {
    const fs::path file = stream(files[random() % files.size()]);
    const std::string whole = read_text(file);
    std::string bytes = whole;
    // Damages packet headers more often.
    const std::size_t range = random() % 2 ? bytes.size() : std::min<std::size_t>(bytes.size(), 200);
    for (unsigned flips = 1 + random() % 4; flips > 0; --flips) bytes[random() % range] = static_cast<char>(random());
    if (random() % 8 == 0) bytes.resize(random() % bytes.size());
    write_text(file, bytes);
    ASSERT_EQ(read_in_child(folder_.path()), 0) << "round " << round << ", " << file;
    write_text(file, whole);
  }
}

} // namespace
} // namespace rtexec::traces::test
