// Converts inputs and outputs between the network's memory and outside memory. Outside memory is host memory that the
// device can access, or device memory. Each thread converts four elements, so that a warp reads and writes whole cache
// lines.
#include "tasks/engine/cuda/kernels/items.cuh"

namespace rtexec::tasks::cuda {
namespace {

constexpr int chunk = 4;

/// Loads and stores elements of outside memory, one at a time or in chunks of four.
template <class Scalar> struct Outer {
  static constexpr unsigned bytes = sizeof(Scalar) * chunk;
  DEVICE static float load(const Scalar* from) { return to_float(*from); }
  DEVICE static void store(Scalar* to, float value) { *to = from_float<Scalar>(value); }
  DEVICE static void load(float (&values)[chunk], const Scalar* from) {
    Elements<Scalar, chunk> all;
    all.load(from);
#pragma unroll
    for (int i = 0; i < chunk; ++i) values[i] = all.values[i];
  }
  DEVICE static void store(Scalar* to, const float (&values)[chunk]) {
    Elements<Scalar, chunk> all;
#pragma unroll
    for (int i = 0; i < chunk; ++i) all.values[i] = values[i];
    all.store(to);
  }
};

/// Returns the number of whole chunks. Returns 0 if outside or network memory does not begin at a multiple of a chunk's
/// size.
template <class T> DEVICE unsigned chunks(const ConvertArguments& p, const T* outer, const float* inner) {
  return aligned(outer, Outer<T>::bytes) && aligned(inner, 16) ? static_cast<unsigned>(p.count) / chunk : 0;
}

/// Returns the address of outside memory: the address that `linked` points to, or `known` if `linked` is null. `linked`
/// points to host memory, so only one thread of each block reads it.
template <class Pointer> DEVICE Pointer outer_address(Pointer known, void* const* linked) {
  if (linked == nullptr) return known;
  auto& address = shared_memory<Pointer>();
  if (thread_index() == 0) address = static_cast<Pointer>(*linked);
  barrier();
  return address;
}

template <class T> DEVICE void stage_input(const ConvertArguments& p) {
  let_next_start();
  wait_for_previous();
  const T* x = static_cast<const T*>(outer_address(p.x, p.linked));
  float* y = static_cast<float*>(p.y);
  const unsigned whole = chunks(p, x, y);
  for (unsigned item = first_item(); item < whole; item += item_step()) {
    const long long at = static_cast<long long>(item) * chunk;
    Elements<float, chunk> values;
    Outer<T>::load(values.values, x + at);
    values.store(y + at);
  }
  for (unsigned i = whole * chunk + first_item(); i < static_cast<unsigned>(p.count); i += item_step())
    y[i] = Outer<T>::load(x + i);
}

template <class T> DEVICE void stage_output(const ConvertArguments& p) {
  let_next_start();
  wait_for_previous();
  const float* x = static_cast<const float*>(p.x);
  T* y = static_cast<T*>(outer_address(p.y, p.linked));
  const unsigned whole = chunks(p, y, x);
  for (unsigned item = first_item(); item < whole; item += item_step()) {
    const long long at = static_cast<long long>(item) * chunk;
    Elements<float, chunk> values;
    values.load(x + at);
    Outer<T>::store(y + at, values.values);
  }
  for (unsigned i = whole * chunk + first_item(); i < static_cast<unsigned>(p.count); i += item_step())
    Outer<T>::store(y + i, x[i]);
}

/// Copies bytes, and applies changed() to each group of four bytes.
template <class F> DEVICE void copy_bytes(const ConvertArguments& p, const char* x, char* y, F changed) {
  const unsigned words = aligned(x) && aligned(y) ? static_cast<unsigned>(p.count) / 16 : 0;
  for (unsigned item = first_item(); item < words; item += item_step()) {
    auto all = reinterpret_cast<const Words<4>*>(x)[item];
    for (unsigned& word : all.word) word = changed(word);
    reinterpret_cast<Words<4>*>(y)[item] = all;
  }
  for (unsigned i = words * 16 + first_item(); i < static_cast<unsigned>(p.count); i += item_step())
    y[i] = static_cast<char>(changed(static_cast<unsigned char>(x[i])));
}

DEVICE void take_bytes_in(const ConvertArguments& p) {
  let_next_start();
  wait_for_previous();
  const char* x = static_cast<const char*>(outer_address(p.x, p.linked));
  copy_bytes(p, x, static_cast<char*>(p.y), [&](unsigned word) { return word ^ p.flip; });
}

DEVICE void give_bytes_out(const ConvertArguments& p) {
  let_next_start();
  wait_for_previous();
  char* y = static_cast<char*>(outer_address(p.y, p.linked));
  copy_bytes(p, static_cast<const char*>(p.x), y, [&](unsigned word) { return word ^ p.flip; });
}

/// Converts the caller's booleans to bytes of 0 or 1. The caller may represent true by any byte but 0.
DEVICE void take_booleans_in(const ConvertArguments& p) {
  let_next_start();
  wait_for_previous();
  const char* x = static_cast<const char*>(outer_address(p.x, p.linked));
  copy_bytes(p, x, static_cast<char*>(p.y), [](unsigned word) {
    word |= word >> 4U;
    word |= word >> 2U;
    return (word | word >> 1U) & 0x01010101U;
  });
}

} // namespace

KERNEL(from_f32, 128, ConvertArguments) { stage_input<float>(arguments); }
KERNEL(from_f16, 128, ConvertArguments) { stage_input<Half>(arguments); }
KERNEL(from_bytes, 128, ConvertArguments) { take_bytes_in(arguments); }
KERNEL(from_booleans, 128, ConvertArguments) { take_booleans_in(arguments); }
KERNEL(to_f32, 128, ConvertArguments) { stage_output<float>(arguments); }
KERNEL(to_f16, 128, ConvertArguments) { stage_output<Half>(arguments); }
KERNEL(to_bytes, 128, ConvertArguments) { give_bytes_out(arguments); }

} // namespace rtexec::tasks::cuda
