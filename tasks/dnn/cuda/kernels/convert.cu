// The way in and out of elements that are integers, in host memory that the device sees: four for each thread, so that
// a warp reads and writes whole lines.
#include "tasks/dnn/cuda/kernels/items.cuh"

namespace rtexec::tasks::cuda {
namespace {

constexpr int chunk = 4;

/// A chunk of integers.
template <class T> struct Integers {
  Words<sizeof(T) * chunk / 4> words;
  DEVICE T get(int i) const;
  DEVICE void set(int i, T value);
};

template <> DEVICE unsigned char Integers<unsigned char>::get(int i) const {
  return static_cast<unsigned char>(words.word[0] >> (8 * i) & 0xffU);
}
template <> DEVICE void Integers<unsigned char>::set(int i, unsigned char value) {
  words.word[0] = (i == 0 ? 0 : words.word[0]) | static_cast<unsigned>(value) << (8 * i);
}

template <> DEVICE int Integers<int>::get(int i) const { return static_cast<int>(words.word[i]); }
template <> DEVICE void Integers<int>::set(int i, int value) { words.word[i] = static_cast<unsigned>(value); }

template <> DEVICE long long Integers<long long>::get(int i) const {
  const auto low = static_cast<unsigned long long>(words.word[2 * i]);
  const auto high = static_cast<unsigned long long>(words.word[2 * i + 1]);
  return static_cast<long long>(high << 32U | low);
}
template <> DEVICE void Integers<long long>::set(int i, long long value) {
  words.word[2 * i] = static_cast<unsigned>(static_cast<unsigned long long>(value));
  words.word[2 * i + 1] = static_cast<unsigned>(static_cast<unsigned long long>(value) >> 32U);
}

template <class T> struct Limits;
template <> struct Limits<unsigned char> {
  static constexpr float least = 0, above = 256;
  static constexpr unsigned char most = 255;
};
template <> struct Limits<int> {
  static constexpr float least = -2147483648.0F, above = 2147483648.0F;
  static constexpr int most = 2147483647;
};
template <> struct Limits<long long> {
  static constexpr float least = -9223372036854775808.0F, above = 9223372036854775808.0F;
  static constexpr long long most = 9223372036854775807LL;
};

template <class T> DEVICE T truncated(float value) {
  if (value != value) return 0;
  if (value >= Limits<T>::above) return Limits<T>::most;
  if (value <= Limits<T>::least) return static_cast<T>(-Limits<T>::most - 1);
  return static_cast<T>(value);
}

/// Whole ones, where both begin at one.
template <class T> DEVICE unsigned chunks(const ConvertArguments& p, const T* integers, const float* floats) {
  return aligned(integers, sizeof(Integers<T>)) && aligned(floats, 16) ? static_cast<unsigned>(p.count) / chunk : 0;
}

template <class T> DEVICE void take_in(const ConvertArguments& p) {
  let_next_start();
  wait_for_previous();
  const T* x = static_cast<const T*>(p.x);
  float* y = static_cast<float*>(p.y);
  const unsigned whole = chunks(p, x, y);
  for (unsigned item = first_item(); item < whole; item += item_step()) {
    const auto* at = x + static_cast<long long>(item) * chunk;
    must_be_aligned(at, sizeof(Integers<T>));
    const auto from = *reinterpret_cast<const Integers<T>*>(at);
    Elements<float, chunk> to;
#pragma unroll
    for (int i = 0; i < chunk; ++i) to.values[i] = static_cast<float>(from.get(i));
    to.store(y + static_cast<long long>(item) * chunk);
  }
  for (unsigned i = whole * chunk + first_item(); i < static_cast<unsigned>(p.count); i += item_step())
    y[i] = static_cast<float>(x[i]);
}

template <class T> DEVICE void give_out(const ConvertArguments& p) {
  let_next_start();
  wait_for_previous();
  const float* x = static_cast<const float*>(p.x);
  T* y = static_cast<T*>(p.y);
  const unsigned whole = chunks(p, y, x);
  for (unsigned item = first_item(); item < whole; item += item_step()) {
    Elements<float, chunk> from;
    from.load(x + static_cast<long long>(item) * chunk);
    Integers<T> to;
#pragma unroll
    for (int i = 0; i < chunk; ++i) to.set(i, truncated<T>(from.values[i]));
    auto* at = y + static_cast<long long>(item) * chunk;
    must_be_aligned(at, sizeof(Integers<T>));
    *reinterpret_cast<Integers<T>*>(at) = to;
  }
  for (unsigned i = whole * chunk + first_item(); i < static_cast<unsigned>(p.count); i += item_step())
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
