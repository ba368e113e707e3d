// Tests admission of clients: guarantees, and refusals with their numbers.
#include "rtexec/sharing/daemon/client_admission.hpp"
#include "test/rtexec/sharing/daemon_device.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rtexec::daemon {
namespace {

using namespace std::chrono_literals;
using test::admission_options;
using testing::HasSubstr;

config::ClientDeclaration declaration(Duration period, Duration wcet) {
  return {.period = period, .deadline = period, .wcet = wcet, .priority = {}};
}

TEST(DaemonAdmission, LimitsNumberOfConnectedClients) {
  ClientAdmission clients(admission_options(16, 2));
  EXPECT_EQ(clients.frames(), 16u);
  EXPECT_EQ(clients.connect({"a", {}}, 0), 0u);
  EXPECT_EQ(clients.connect({"b", {}}, 4), 1u);
  const auto full = clients.connect({"c", {}}, 0);
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().code, protocol::Refusal::full);
  clients.leave(0, false);
  EXPECT_EQ(clients.at(0), nullptr);
  EXPECT_EQ(clients.connect({"c", {}}, 0), 0u);
  EXPECT_EQ(clients.at(0)->identity.name, "c");
}

TEST(DaemonAdmission, AppliesFirstMatchingRule) {
  AdmissionOptions options = admission_options(16, 8);
  const Bytes chunk = options.device.chunk;
  options.rules = {{.name = "camera", .executable = "/usr/bin/python3", .memory = chunk * 3, .declaration = {}},
                   {.name = "camera", .executable = {}, .memory = chunk * 2, .declaration = declaration(100ms, 10ms)},
                   {.name = {}, .executable = "/bin/x", .memory = chunk, .declaration = {}}};
  ClientAdmission clients(options);
  const auto limit = [&](const Identity& who) {
    const auto place = clients.connect(who, 0);
    EXPECT_TRUE(place) << place.error().text;
    return place ? clients.at(*place)->limit : 0;
  };
  EXPECT_EQ(limit({"camera", "/usr/bin/python3"}), 3u);
  EXPECT_EQ(limit({"camera", "/bin/x"}), 2u);
  EXPECT_EQ(limit({"radar", "/bin/x"}), 1u);
  EXPECT_EQ(limit({"radar", "/bin/y"}), 16u);
  EXPECT_EQ(clients.at(0)->declaration, std::nullopt);
  EXPECT_TRUE(clients.at(1)->declared_by_rule);
  EXPECT_TRUE(clients.at(1)->response_bound);
  EXPECT_EQ(clients.declare(1, declaration(100ms, 10ms), false).error().code, protocol::Refusal::order);
}

TEST(DaemonAdmission, RefusesGrowthBeyondLimitOfClient) {
  ClientAdmission clients(admission_options(16, 8));
  EXPECT_TRUE(clients.connect({"a", {}}, 0));
  EXPECT_TRUE(clients.grow(0, 16));
  const auto more = clients.grow(0, 17);
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().code, protocol::Refusal::limit);
  EXPECT_THAT(more.error().text, HasSubstr("exceed its limit of"));
  EXPECT_EQ(clients.at(0)->slots, 16u);
  EXPECT_EQ(clients.grow(0, 15).error().code, protocol::Refusal::unsupported);
  EXPECT_EQ(clients.grow(3, 1).error().code, protocol::Refusal::order);
}

TEST(DaemonAdmission, PromisesDeadlinesWithoutSwappingWhenAllSlotsFit) {
  AdmissionOptions options = admission_options(16, 8);
  options.device.board.swap_costs.clear(); // the costs are unknown
  ClientAdmission clients(options);
  for (const char* name : {"a", "b"}) {
    const auto place = clients.connect({name, {}}, 8);
    ASSERT_TRUE(place) << place.error().text;
    const auto declared = clients.declare(*place, declaration(100ms, 30ms), false);
    ASSERT_TRUE(declared) << declared.error().text;
  }
  EXPECT_GE(*clients.at(0)->response_bound, 60ms);
  EXPECT_LE(*clients.at(0)->response_bound, 100ms);
  // A third client would need swapping, the costs of which are unknown.
  EXPECT_TRUE(clients.connect({"c", {}}, 0));
  const auto third = clients.grow(2, 1);
  ASSERT_FALSE(third);
  EXPECT_EQ(third.error().code, protocol::Refusal::not_proved);
}

TEST(DaemonAdmission, RefusesInfeasibleClientWithFiguresAndChangesNothing) {
  ClientAdmission clients(admission_options(16, 8));
  ASSERT_TRUE(clients.connect({"a", {}}, 4));
  ASSERT_TRUE(clients.connect({"b", {}}, 4));
  ASSERT_TRUE(clients.declare(0, declaration(100ms, 40ms), false));
  const auto bound = clients.at(0)->response_bound;
  static_cast<void>(clients.take_changes());
  const auto refused = clients.declare(1, declaration(100ms, 70ms), false);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, protocol::Refusal::not_proved);
  EXPECT_THAT(refused.error().text, HasSubstr("ms"));
  EXPECT_EQ(clients.at(1)->declaration, std::nullopt);
  EXPECT_EQ(clients.at(0)->response_bound, bound);
  EXPECT_TRUE(clients.take_changes().empty());
  const auto less = clients.declare(1, declaration(200ms, 30ms), false);
  EXPECT_TRUE(less) << less.error().text;
}

TEST(DaemonAdmission, RefusesUndeclaredClientThatWouldBreakAPromise) {
  AdmissionOptions options = admission_options(16, 8);
  options.best_effort_wcet = 30ms;
  ClientAdmission clients(options);
  ASSERT_TRUE(clients.connect({"a", {}}, 4));
  const auto alone = clients.declare(0, declaration(100ms, 75ms), false);
  ASSERT_TRUE(alone) << alone.error().text;
  const auto refused = clients.connect({"b", {}}, 0);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, protocol::Refusal::not_proved);
}

TEST(DaemonAdmission, GrowthBeyondDeviceMemoryRaisesResponseBounds) {
  ClientAdmission clients(admission_options(16, 8));
  for (const char* name : {"a", "b", "c"}) {
    const auto place = clients.connect({name, {}}, 5);
    ASSERT_TRUE(clients.declare(*place, declaration(100ms, 500us), false));
  }
  const auto resident = *clients.at(0)->response_bound;
  ASSERT_TRUE(clients.grow(0, 8)) << "18 of 16 frames, with time to spare";
  EXPECT_GT(*clients.at(0)->response_bound, resident);
  EXPECT_EQ(clients.take_changes(), (std::vector<std::uint32_t>{0, 1, 2}));
  EXPECT_TRUE(clients.take_changes().empty());
}

/// While one client executes, six of ten chunks of the other are loaded, in 600 us; the rest follows when it has ended.
TEST(DaemonAdmission, ChargesDelayOfLoadWithoutFreeFramesOrRefusesClient) {
  for (const Duration period : {100ms, 40ms}) {
    ClientAdmission clients(admission_options(16, 8));
    ASSERT_TRUE(clients.connect({"a", {}}, 10));
    ASSERT_TRUE(clients.connect({"b", {}}, 10));
    ASSERT_TRUE(clients.declare(0, declaration(100ms, 20ms), false));
    const auto second = clients.declare(1, declaration(period, 20ms), false);
    ASSERT_EQ(second.has_value(), period == 100ms);
    if (second) EXPECT_GE(*clients.at(1)->response_bound, 40ms);
    else EXPECT_THAT(second.error().text, HasSubstr("for its frames; [swap] policy = \"serial\" needs fewer frames"));
  }
}

TEST(DaemonAdmission, RanksClientsByExplicitPriority) {
  AdmissionOptions options = admission_options(16, 8);
  options.device.tasks.executive.order = Order::static_priority;
  options.device.tasks.executive.priorities = PriorityAssignment::explicit_priorities;
  ClientAdmission clients(options);
  for (const int priority : {5, 20, 9}) {
    const auto place = clients.connect({"a", {}}, 2);
    config::ClientDeclaration declared = declaration(100ms * priority, 10ms);
    const auto without = clients.declare(*place, declared, false);
    ASSERT_FALSE(without);
    EXPECT_EQ(without.error().code, protocol::Refusal::not_allowed);
    EXPECT_THAT(without.error().text, HasSubstr("needs a priority"));
    declared.priority = priority;
    const auto with = clients.declare(*place, declared, false);
    ASSERT_TRUE(with) << with.error().text;
  }
  const auto rank = [&](std::uint32_t place) { return clients.at(place)->contract.task.rank; };
  EXPECT_LT(rank(1), rank(2));
  EXPECT_LT(rank(2), rank(0));
}

TEST(DaemonAdmission, RanksClientsByDeclaredPeriodUnderRateMonotonic) {
  AdmissionOptions options = admission_options(16, 8);
  options.device.tasks.executive.order = Order::static_priority;
  options.device.tasks.executive.priorities = PriorityAssignment::rate_monotonic;
  ClientAdmission clients(options);
  for (const Duration period : {300ms, 100ms, 200ms}) {
    const auto place = clients.connect({"a", {}}, 2);
    ASSERT_TRUE(clients.declare(*place, declaration(period, 10ms), false));
  }
  ASSERT_TRUE(clients.connect({"best effort", {}}, 2));
  const auto rank = [&](std::uint32_t place) { return clients.at(place)->contract.task.rank; };
  EXPECT_LT(rank(1), rank(2));
  EXPECT_LT(rank(2), rank(0));
  EXPECT_LT(rank(0), rank(3));
}

TEST(DaemonAdmission, CountsDepartedClientThatDelayedOthersUntilQuietInstant) {
  ClientAdmission clients(admission_options(16, 4));
  const auto come = [&](Duration wcet) {
    const auto place = clients.connect({"a", {}}, 8);
    EXPECT_TRUE(place);
    return clients.declare(*place, declaration(100ms, wcet), false);
  };
  ASSERT_TRUE(come(40ms) && come(40ms));
  clients.leave(1, false);
  ASSERT_TRUE(come(40ms)) << "it has delayed nobody";
  clients.leave(1, true);
  for (const bool quiet : {false, true}) {
    if (quiet) clients.quiet();
    const auto again = come(40ms);
    EXPECT_EQ(again.has_value(), quiet);
    if (again) continue;
    EXPECT_EQ(again.error().code, protocol::Refusal::later);
    EXPECT_THAT(again.error().text, HasSubstr("try again"));
    EXPECT_EQ(clients.declare(1, declaration(100ms, 70ms), false).error().code, protocol::Refusal::not_proved)
        << "nor later";
    EXPECT_TRUE(clients.declare(1, declaration(100ms, 10ms), false)) << "for which there is time besides";
    clients.leave(1, false);
  }
  EXPECT_EQ(clients.at(1)->contract.task.stays, true) << "the memory of who has left is others'";
}

TEST(DaemonAdmission, CountsUndeclaredJobOfClientThatDeclaresItself) {
  for (const bool delays : {false, true}) {
    ClientAdmission clients(admission_options(16, 4)); // one takes 5 ms
    for (int i = 0; i < 2; ++i) ASSERT_TRUE(clients.connect({"a", {}}, 8));
    ASSERT_TRUE(clients.declare(0, declaration(10ms, 3ms), false));
    const auto declared = clients.declare(1, declaration(10ms, 3ms), delays);
    ASSERT_EQ(declared.has_value(), !delays);
    if (declared) continue;
    EXPECT_EQ(declared.error().code, protocol::Refusal::later);
    EXPECT_FALSE(clients.at(1)->declaration);
    EXPECT_TRUE(clients.declare(1, declaration(10ms, 1ms), delays));
  }
}

/// When not all clients fitted, its jobs were loaded, and that took time from others.
TEST(DaemonAdmission, CountsMemoryOfDepartedSwappedClientUntilQuietInstant) {
  ClientAdmission clients(admission_options(16, 8));
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(clients.connect({"a", {}}, 8));
    ASSERT_TRUE(clients.declare(static_cast<std::uint32_t>(i), declaration(100ms, 500us), false));
  }
  const auto bound = *clients.at(0)->response_bound;
  static_cast<void>(clients.take_changes());
  clients.leave(2, true);
  EXPECT_EQ(clients.take_changes(), (std::vector<std::uint32_t>{0, 1}));
  EXPECT_TRUE(clients.at(0)->contract.task.stays);
  ASSERT_TRUE(clients.grow(0, 8));
  EXPECT_EQ(*clients.at(0)->response_bound, bound);
  clients.quiet();
  ASSERT_TRUE(clients.grow(0, 8));
  EXPECT_LT(*clients.at(0)->response_bound, bound);
}

/// Jobs under way for other clients still wait for loads, or behind loaded jobs.
TEST(DaemonAdmission, CountsEarlierLackOfMemoryUntilQuietInstant) {
  ClientAdmission clients(admission_options(16, 8));
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(clients.connect({"a", {}}, 6));
    ASSERT_TRUE(clients.declare(static_cast<std::uint32_t>(i), declaration(100ms, 500us), false));
  }
  const auto bound_of_first = [&] {
    EXPECT_TRUE(clients.grow(0, 6));
    return *clients.at(0)->response_bound;
  };
  clients.leave(3, false);
  clients.quiet();
  const Duration bound = bound_of_first();
  for (const std::uint32_t place : {2U, 1U}) {
    clients.leave(place, false);
    EXPECT_EQ(bound_of_first(), bound);
    EXPECT_TRUE(clients.at(0)->contract.task.stays);
  }
  clients.quiet();
  EXPECT_LT(bound_of_first(), bound);
}

TEST(DaemonAdmission, DepartedClientsCountAgainstMaximumUntilQuietInstant) {
  ClientAdmission clients(admission_options(16, 2));
  ASSERT_TRUE(clients.connect({"a", {}}, 0));
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(clients.connect({"b", {}}, 0));
    clients.leave(1, true);
  }
  EXPECT_EQ(clients.connect({"b", {}}, 0).error().code, protocol::Refusal::later);
  clients.quiet();
  EXPECT_TRUE(clients.connect({"b", {}}, 0));
}

} // namespace
} // namespace rtexec::daemon
