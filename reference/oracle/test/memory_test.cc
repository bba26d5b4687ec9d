// memory_needed() is from above: everything that comes from operator new is counted here and compared. (What MPFR takes
// from malloc by itself, and the balls of large problems, which Zeroed maps, are not seen.)
#include <gtest/gtest.h>
#include <malloc.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <new>
#include <string>
#include <vector>

#include "reference/oracle/oracle.h"
#include "reference/oracle/test/test_problems.h"

namespace {

std::atomic<std::int64_t> in_use{0}, peak{0};

void* counted(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  const std::int64_t now = in_use += static_cast<std::int64_t>(malloc_usable_size(memory));
  for (std::int64_t most = peak; most < now && !peak.compare_exchange_weak(most, now);) {
  }
  return memory;
}

void give_back(void* memory) {
  if (memory != nullptr) in_use -= static_cast<std::int64_t>(malloc_usable_size(memory));
  std::free(memory);
}

}  // namespace

void* operator new(std::size_t size) { return counted(std::malloc(size)); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  try {
    return counted(std::malloc(size));
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  const auto step = static_cast<std::size_t>(alignment);
  return counted(std::aligned_alloc(step, (size + step - 1) / step * step));
}
void operator delete(void* memory) noexcept { give_back(memory); }
void operator delete(void* memory, std::size_t) noexcept { give_back(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { give_back(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { give_back(memory); }

namespace flashproof {
namespace {

std::int64_t most_bytes(const std::function<void()>& body) {
  const std::int64_t before = in_use;
  peak = before;
  body();
  return peak - before;
}

struct Shape {
  std::string name;
  Problem problem;
};

std::vector<Shape> shapes() {
  Random random(1, 0);
  const test::Draw draw = test::normal(random);
  std::vector<Shape> list;
  list.push_back({"softmax of long rows", test::softmax(Format::f32, 300, 400, draw)});
  list.push_back({"softmax of many short rows", test::softmax(Format::f32, 150000, 1, draw)});
  list.push_back({"merge", test::merge(Format::f32, 64, 600, 64, draw, draw, MergeForm::sum)});
  list.push_back({"merge side by side", test::merge(Format::bf16, 8, 400, 32, draw, draw, MergeForm::concat)});
  MergeProblem states = test::merge(Format::bf16, 400, 50, 1, draw, draw, MergeForm::sum);
  states.l = test::filled(Format::f32, {400, 50}, [&] { return 1.0 + random.uniform(); });
  list.push_back({"merge of many un-normalised states", states});
  list.push_back({"attention", test::attention(Format::f16, {.q_heads = 2, .sq = 400, .sk = 40, .d = 16, .dv = 128},
                                               draw, draw, draw)});
  return list;
}

TEST(Memory, OfRowsThatClimbIsFromAbove) {
  for (const Shape& shape : shapes()) {
    const std::int64_t used = most_bytes([&] {
      Oracle oracle(shape.problem);
      for (int level = 1; level <= 2; ++level) {
        for (std::int64_t row = 0; row < oracle.truth().rows; ++row) oracle.row(row, level);
      }
    });
    EXPECT_GT(used, 0) << shape.name;
    EXPECT_LE(used, memory_needed(shape.problem, {})) << shape.name;
  }
}

TEST(Memory, OfStoredTruthIsFromAbove) {
  for (const Shape& shape : shapes()) {
    const OracleOptions options{.threads = 3};
    const std::int64_t used = most_bytes([&] { narrow_truth(shape.problem, Format::f64, options); });
    EXPECT_GT(used, 0) << shape.name;
    EXPECT_LE(used, memory_needed(shape.problem, options)) << shape.name;
  }
}

TEST(Memory, ToAskForItTakesNone) {
  for (const Shape& shape : shapes()) {
    EXPECT_LE(most_bytes([&] { memory_needed(shape.problem, {}); }), 4096) << shape.name;
  }
}

}  // namespace
}  // namespace flashproof
