#include "reference/oracle/double_double/decoded_head.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "reference/oracle/environment_guard.h"

namespace flashproof {
namespace {

template <Format kFormat, class Pattern>
void decode_as(const Tensor& tensor, std::int64_t offset, std::int64_t n, double* to) {
  const std::int64_t step = tensor.stride.back() * static_cast<std::int64_t>(sizeof(Pattern));
  const std::byte* from = tensor.storage.data() + offset * static_cast<std::int64_t>(sizeof(Pattern));
  for (std::int64_t c = 0; c < n; ++c, from += step) {
    Pattern pattern;
    std::memcpy(&pattern, from, sizeof pattern);
    const double x = decode(kFormat, pattern);
    to[c] = std::isfinite(x) ? x : 0.0;
  }
}

}  // namespace

double quantum(const double* x, std::int64_t n) {
  constexpr int kNone = 4096;
  int lowest = kNone;
  for (std::int64_t c = 0; c < n; ++c) {
    if (x[c] == 0.0) continue;  // the others are normal doubles
    const auto bits = std::bit_cast<std::uint64_t>(x[c]);
    const std::uint64_t significand = (bits & ((std::uint64_t{1} << 52) - 1)) | (std::uint64_t{1} << 52);
    const int exponent = static_cast<int>((bits >> 52) & 0x7ff) - 1075;
    lowest = std::min(lowest, exponent + std::countr_zero(significand));
  }
  return lowest == kNone ? 1.0 : std::ldexp(1.0, lowest);
}

void decode_vector(const Tensor& tensor, std::int64_t offset, std::int64_t n, double* to) {
  switch (tensor.format) {
    case Format::f32:
      return decode_as<Format::f32, std::uint32_t>(tensor, offset, n, to);
    case Format::f16:
      return decode_as<Format::f16, std::uint16_t>(tensor, offset, n, to);
    case Format::e4m3fn:
      return decode_as<Format::e4m3fn, std::uint8_t>(tensor, offset, n, to);
    case Format::e5m2:
      return decode_as<Format::e5m2, std::uint8_t>(tensor, offset, n, to);
    default:  // validate() leaves no other
      return decode_as<Format::bf16, std::uint16_t>(tensor, offset, n, to);
  }
}

std::int64_t DecodedHead::bytes_per_key(const AttentionProblem& problem) {
  const std::int64_t doubles = problem.head_dim() + 1 + round_up_to_block(problem.value_dim());
  return doubles * static_cast<std::int64_t>(sizeof(double));
}

std::int64_t DecodedHead::chunk_keys(const AttentionProblem& problem, std::int64_t bytes) {
  const std::int64_t whole = std::max(kBlock, round_up_to_block(problem.k_length()));
  const std::int64_t room = bytes / bytes_per_key(problem) / kBlock * kBlock;
  return std::clamp(room, kBlock, whole);
}

std::int64_t DecodedHead::bytes(const AttentionProblem& problem, std::int64_t bytes) {
  const std::int64_t vector = std::max(problem.head_dim(), round_up_to_block(problem.value_dim()));
  return chunk_keys(problem, bytes) * bytes_per_key(problem) + vector * static_cast<std::int64_t>(sizeof(double));
}

DecodedHead::DecodedHead(const AttentionProblem& problem, std::int64_t bytes)
    : problem_(&problem), chunk_keys_(chunk_keys(problem, bytes)) {
  vector_.resize(std::max(problem.head_dim(), round_up_to_block(problem.value_dim())));
}

void DecodedHead::select(std::int64_t sequence, std::int64_t kv_head) {
  if (sequence == sequence_ && kv_head == kv_head_) return;
  sequence_ = sequence;
  kv_head_ = kv_head;
  key_chunk_ = value_chunk_ = -1;
}

const double* DecodedHead::keys(std::int64_t chunk) {
  if (chunk == key_chunk_) return keys_.data();
  key_chunk_ = chunk;
  const std::int64_t depth = problem_->head_dim();
  const std::int64_t first = chunk * chunk_keys_;
  const std::int64_t last = std::min(first + chunk_keys_, problem_->visible_length(sequence_));
  keys_.assign(chunk_keys_ * depth, 0.0);
  key_quantum_.assign(chunk_keys_, 1.0);
  for (std::int64_t j = first; j < last; ++j) {
    decode_vector(problem_->k, problem_->k_offset(sequence_, kv_head_, j), depth, vector_.data());
    const std::int64_t at = j - first;
    key_quantum_[at] = quantum(vector_.data(), depth);
    double* const block = &keys_[at / kBlock * depth * kBlock + at % kBlock];
    for (std::int64_t c = 0; c < depth; ++c) block[c * kBlock] = vector_[c];
  }
  return keys_.data();
}

const double* DecodedHead::values(std::int64_t chunk) {
  if (chunk == value_chunk_) return values_.data();
  value_chunk_ = chunk;
  const std::int64_t width = problem_->value_dim();
  const std::int64_t groups = round_up_to_block(width) / kBlock;
  const std::int64_t first = chunk * chunk_keys_;
  const std::int64_t last = std::min(first + chunk_keys_, problem_->visible_length(sequence_));
  values_.assign(groups * chunk_keys_ * kBlock, 0.0);
  std::fill(vector_.begin(), vector_.end(), 0.0);
  for (std::int64_t j = first; j < last; ++j) {
    decode_vector(problem_->v, problem_->v_offset(sequence_, kv_head_, j), width, vector_.data());
    for (std::int64_t g = 0; g < groups; ++g) {
      std::copy_n(&vector_[g * kBlock], kBlock, &values_[(g * chunk_keys_ + j - first) * kBlock]);
    }
  }
  return values_.data();
}

}  // namespace flashproof
