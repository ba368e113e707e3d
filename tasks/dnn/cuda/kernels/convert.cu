// The way in and out of elements that are integers, in host memory that the device sees: 16 bytes of it at once.
#include "tasks/dnn/cuda/kernels/items.cuh"

namespace rtexec::tasks::cuda {
namespace {

/// 16 bytes of integers.
template <class T> struct Integers;

template <> struct Integers<unsigned char> {
  static constexpr float least = 0, above = 256;
  static constexpr int count = 16;
  Words<4> words;
  DEVICE float get(int i) const { return static_cast<float>(words.word[i / 4] >> (8 * (i % 4)) & 0xffU); }
  DEVICE void set(int i, unsigned char value) {
    const unsigned before = i % 4 == 0 ? 0 : words.word[i / 4];
    words.word[i / 4] = before | static_cast<unsigned>(value) << (8 * (i % 4));
  }
};

template <> struct Integers<int> {
  static constexpr float least = -2147483648.0F, above = 2147483648.0F;
  static constexpr int count = 4;
  Words<4> words;
  DEVICE float get(int i) const { return static_cast<float>(static_cast<int>(words.word[i])); }
  DEVICE void set(int i, int value) { words.word[i] = static_cast<unsigned>(value); }
};

template <> struct Integers<long long> {
  static constexpr float least = -9223372036854775808.0F, above = 9223372036854775808.0F;
  static constexpr int count = 2;
  Words<4> words;
  DEVICE float get(int i) const {
    const auto low = static_cast<unsigned long long>(words.word[2 * i]);
    const auto high = static_cast<unsigned long long>(words.word[2 * i + 1]);
    return static_cast<float>(static_cast<long long>(high << 32U | low));
  }
  DEVICE void set(int i, long long value) {
    words.word[2 * i] = static_cast<unsigned>(static_cast<unsigned long long>(value));
    words.word[2 * i + 1] = static_cast<unsigned>(static_cast<unsigned long long>(value) >> 32U);
  }
};

template <class T> DEVICE T largest();
template <> DEVICE unsigned char largest<unsigned char>() { return 255; }
template <> DEVICE int largest<int>() { return 2147483647; }
template <> DEVICE long long largest<long long>() { return 9223372036854775807LL; }

template <class T> DEVICE T truncated(float value) {
  if (value != value) return 0;
  if (value >= Integers<T>::above) return largest<T>();
  if (value <= Integers<T>::least) return static_cast<T>(-largest<T>() - 1);
  return static_cast<T>(value);
}

/// Whole chunks, where both begin at one; the elements behind them.
DEVICE unsigned whole_chunks(const ConvertArguments& p, int chunk) {
  return aligned(p.x, 16) && aligned(p.y, 16) ? static_cast<unsigned>(p.count / chunk) : 0;
}

template <class T> DEVICE void take_in(const ConvertArguments& p) {
  let_next_start();
  wait_for_previous();
  constexpr int chunk = Integers<T>::count;
  const T* x = static_cast<const T*>(p.x);
  float* y = static_cast<float*>(p.y);
  const unsigned chunks = whole_chunks(p, chunk);
  for (unsigned item = first_item(); item < chunks; item += item_step()) {
    Integers<T> from;
    must_be_aligned(x + static_cast<long long>(item) * chunk, 16);
    from.words = *reinterpret_cast<const Words<4>*>(x + static_cast<long long>(item) * chunk);
#pragma unroll
    for (int i = 0; i < chunk; ++i) y[static_cast<long long>(item) * chunk + i] = from.get(i);
  }
  for (unsigned i = chunks * chunk + first_item(); i < static_cast<unsigned>(p.count); i += item_step())
    y[i] = static_cast<float>(x[i]);
}

template <class T> DEVICE void give_out(const ConvertArguments& p) {
  let_next_start();
  wait_for_previous();
  constexpr int chunk = Integers<T>::count;
  const float* x = static_cast<const float*>(p.x);
  T* y = static_cast<T*>(p.y);
  const unsigned chunks = whole_chunks(p, chunk);
  for (unsigned item = first_item(); item < chunks; item += item_step()) {
    Integers<T> to;
#pragma unroll
    for (int i = 0; i < chunk; ++i) to.set(i, truncated<T>(x[static_cast<long long>(item) * chunk + i]));
    must_be_aligned(y + static_cast<long long>(item) * chunk, 16);
    *reinterpret_cast<Words<4>*>(y + static_cast<long long>(item) * chunk) = to.words;
  }
  for (unsigned i = chunks * chunk + first_item(); i < static_cast<unsigned>(p.count); i += item_step())
    y[i] = truncated<T>(x[i]);
}

} // namespace

KERNEL(from_u8, 128, ConvertArguments) { take_in<unsigned char>(arguments); }
KERNEL(from_s32, 128, ConvertArguments) { take_in<int>(arguments); }
KERNEL(from_s64, 128, ConvertArguments) { take_in<long long>(arguments); }
KERNEL(to_u8, 128, ConvertArguments) { give_out<unsigned char>(arguments); }
KERNEL(to_s32, 128, ConvertArguments) { give_out<int>(arguments); }
KERNEL(to_s64, 128, ConvertArguments) { give_out<long long>(arguments); }

} // namespace rtexec::tasks::cuda
