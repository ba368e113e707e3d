// Tests our declarations of iceoryx's ABI against its headers at compile time, if they are installed.
#if __has_include(<iceoryx_binding_c/publisher.h>)

#include "rtexec/runtime/channels/iceoryx_binding.hpp"

extern "C" {
#include <iceoryx_binding_c/chunk.h>
#include <iceoryx_binding_c/log.h>
#include <iceoryx_binding_c/publisher.h>
#include <iceoryx_binding_c/runtime.h>
#include <iceoryx_binding_c/subscriber.h>
}
#if __has_include(<iceoryx_posh/mepoo/chunk_header.hpp>)
#include <iceoryx_posh/mepoo/chunk_header.hpp>
static_assert(sizeof(rtexec::channels::iceoryx::ChunkHeader) == sizeof(iox::mepoo::ChunkHeader));
static_assert(rtexec::channels::iceoryx::ChunkHeader::known_version == iox::mepoo::ChunkHeader::CHUNK_HEADER_VERSION);
#endif

#include <cstddef>
#include <type_traits>

namespace rtexec::channels::iceoryx {
namespace {

/// True if both are passed in the same way: both pointers, or both of one size.
template <class Ours, class Theirs>
constexpr bool same = std::is_pointer_v<Ours> == std::is_pointer_v<Theirs> &&
                      (std::is_void_v<Ours> ? std::is_void_v<Theirs> : sizeof(Ours) == sizeof(Theirs));
template <> constexpr bool same<void, void> = true;
template <class Ours, class Theirs> constexpr bool same_function = false;
template <class Ours, class... OurArguments, class Theirs, class... TheirArguments>
requires(sizeof...(OurArguments) == sizeof...(TheirArguments)) //
    constexpr bool same_function<Ours (*)(OurArguments...), Theirs (*)(TheirArguments...)> =
        same<Ours, Theirs> && (same<OurArguments, TheirArguments> && ...);

#define SAME_FUNCTION(member, theirs) static_assert(same_function<decltype(Binding::member), decltype(&theirs)>)
SAME_FUNCTION(set_log_level, iox_set_loglevel);
SAME_FUNCTION(runtime_init, iox_runtime_init);
SAME_FUNCTION(publisher_options, iox_pub_options_init);
SAME_FUNCTION(publisher_create, iox_pub_init);
SAME_FUNCTION(publisher_destroy, iox_pub_deinit);
SAME_FUNCTION(loan, iox_pub_loan_aligned_chunk);
SAME_FUNCTION(release_loan, iox_pub_release_chunk);
SAME_FUNCTION(publish, iox_pub_publish_chunk);
SAME_FUNCTION(has_subscribers, iox_pub_has_subscribers);
SAME_FUNCTION(subscriber_options, iox_sub_options_init);
SAME_FUNCTION(subscriber_create, iox_sub_init);
SAME_FUNCTION(subscriber_destroy, iox_sub_deinit);
SAME_FUNCTION(take, iox_sub_take_chunk);
SAME_FUNCTION(release, iox_sub_release_chunk);
SAME_FUNCTION(chunk_of, iox_chunk_header_from_user_payload_const);
SAME_FUNCTION(has_chunks, iox_sub_has_chunks);

#define SAME_MEMBER(ours, our_member, theirs, their_member)                    \
  static_assert(offsetof(ours, our_member) == offsetof(theirs, their_member)); \
  static_assert(sizeof(ours::our_member) == sizeof(theirs::their_member))
static_assert(sizeof(Storage) == sizeof(iox_pub_storage_t) && sizeof(Storage) == sizeof(iox_sub_storage_t));
static_assert(sizeof(PublisherOptions) == sizeof(iox_pub_options_t));
SAME_MEMBER(PublisherOptions, history, iox_pub_options_t, historyCapacity);
SAME_MEMBER(PublisherOptions, node, iox_pub_options_t, nodeName);
SAME_MEMBER(PublisherOptions, offer_on_create, iox_pub_options_t, offerOnCreate);
SAME_MEMBER(PublisherOptions, too_slow_policy, iox_pub_options_t, subscriberTooSlowPolicy);
SAME_MEMBER(PublisherOptions, check, iox_pub_options_t, initCheck);
static_assert(sizeof(SubscriberOptions) == sizeof(iox_sub_options_t));
SAME_MEMBER(SubscriberOptions, queue_capacity, iox_sub_options_t, queueCapacity);
SAME_MEMBER(SubscriberOptions, history_request, iox_sub_options_t, historyRequest);
SAME_MEMBER(SubscriberOptions, node, iox_sub_options_t, nodeName);
SAME_MEMBER(SubscriberOptions, subscribe_on_create, iox_sub_options_t, subscribeOnCreate);
SAME_MEMBER(SubscriberOptions, queue_full_policy, iox_sub_options_t, queueFullPolicy);
SAME_MEMBER(SubscriberOptions, require_history, iox_sub_options_t, requirePublisherHistorySupport);
SAME_MEMBER(SubscriberOptions, check, iox_sub_options_t, initCheck);

static_assert(PublisherOptions().too_slow_policy == ConsumerTooSlowPolicy_DISCARD_OLDEST_DATA);
static_assert(SubscriberOptions().queue_full_policy == QueueFullPolicy_DISCARD_OLDEST_DATA);
static_assert(allocated == AllocationResult_SUCCESS && received == ChunkReceiveResult_SUCCESS);
static_assert(Iceoryx_LogLevel_Off == 0);

} // namespace
} // namespace rtexec::channels::iceoryx

#endif
