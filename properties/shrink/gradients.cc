#include "properties/shrink/gradients.h"

#include <optional>
#include <utility>

#include "properties/generators/gradient_case.h"
#include "properties/laws/change.h"
#include "properties/shrink/greedy.h"
#include "reference/problem/error.h"

namespace flashproof {
namespace {

/// dO as a matrix, so that what changes the numbers of a problem changes its numbers.
SoftmaxProblem as_matrix(const Tensor& d_out) {
  SoftmaxProblem matrix;
  matrix.x = gather(d_out, 0, iota(d_out.shape[0]));
  const std::int64_t width = d_out.shape[3];
  matrix.x.shape = {d_out.shape[0] * d_out.shape[1] * d_out.shape[2], width};
  matrix.x.stride = {width, 1};
  return matrix;
}

Tensor from_matrix(Tensor x, const std::vector<std::int64_t>& shape) {
  const Tensor like = Tensor::dense(x.format, shape);
  x.shape = like.shape;
  x.stride = like.stride;
  return x;
}

/// The forward problem with indices for numbers, as bits: each query row's in q, each value column's in v. Candidates of
/// structure look at shapes and features only, so that the same candidate of this one shows what it keeps.
AttentionProblem indexed(const AttentionProblem& p) {
  AttentionProblem copy = p;
  copy.q = Tensor::dense(Format::f32, p.q.shape);
  copy.v = Tensor::dense(Format::f32, p.v.shape);
  for (std::int64_t n = 0; n < copy.q.elements(); ++n) {
    copy.q.set_bits(n, static_cast<std::uint64_t>(n / p.head_dim()));
  }
  for (std::int64_t n = 0; n < copy.v.elements(); ++n) {
    copy.v.set_bits(n, static_cast<std::uint64_t>(n % p.value_dim()));
  }
  return copy;
}

/// What the candidate that made `kept` of indexed(p) leaves of dO. None where no key is left to show the columns.
std::optional<Tensor> kept_of(const Tensor& d_out, const AttentionProblem& kept) {
  const std::int64_t width = kept.value_dim(), whole = d_out.shape[3];
  if (kept.v.elements() == 0 && width != whole) return std::nullopt;
  const Tensor from = as_matrix(d_out).x;
  Tensor to = Tensor::dense(d_out.format, {kept.batch(), kept.q_heads(), kept.q_length(), width});
  const std::int64_t rows = kept.batch() * kept.q_heads() * kept.q_length();
  const auto index = [](const Tensor& tensor, std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t c) {
    return static_cast<std::int64_t>(
        tensor.bits(b * tensor.stride[0] + h * tensor.stride[1] + i * tensor.stride[2] + c * tensor.stride[3]));
  };
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t i = r % kept.q_length(), h = r / kept.q_length() % kept.q_heads();
    const std::int64_t row = index(kept.q, r / kept.q_length() / kept.q_heads(), h, i, 0);
    for (std::int64_t c = 0; c < width; ++c) {
      const std::int64_t column = kept.v.elements() == 0 ? c : index(kept.v, 0, 0, 0, c);
      to.set_bits(r * width + c, from.bits(row * whole + column));
    }
  }
  return to;
}

/// Offers the simpler of what may be simpler.
class Offer {
 public:
  Offer(const BackwardProblem& problem, const std::function<bool(BackwardProblem)>& use)
      : problem_(problem), before_(complexity(problem)), use_(use) {}

  /// False: `use` wants no more.
  bool operator()(AttentionProblem forward, Tensor d_out) const {
    BackwardProblem candidate;
    candidate.forward = std::move(forward);
    candidate.d_out = std::move(d_out);
    candidate.mode = problem_.mode;
    if (!(complexity(candidate) < before_)) return true;
    try {
      validate(candidate.forward);
      store_ideal_forward(candidate);
      validate(candidate);
    } catch (const UsageError&) {
      return true;
    }
    return use_(std::move(candidate));
  }

 private:
  const BackwardProblem& problem_;
  const Complexity before_;
  const std::function<bool(BackwardProblem)>& use_;
};

}  // namespace

Complexity complexity(const BackwardProblem& problem) {
  Complexity sum = complexity(Problem(problem.forward));
  const Complexity d_out = complexity(Problem(as_matrix(problem.d_out)));
  sum.elements += problem.d_out.storage.size() / static_cast<std::size_t>(bytes_of(problem.d_out.format));
  sum.distinct += d_out.distinct;
  sum.significant += d_out.significant;
  sum.nonzero += d_out.nonzero;
  sum.exponents += d_out.exponents;
  return sum;
}

void for_each_simpler(const BackwardProblem& problem, const std::function<bool(BackwardProblem)>& use) {
  const Offer offer(problem, use);
  const Problem forward = problem.forward, indices = indexed(problem.forward), matrix = as_matrix(problem.d_out);
  const auto structure = structure_candidates(forward), selections = structure_candidates(indices);
  for (std::size_t n = 0; n < structure.size(); ++n) {
    const std::optional<Tensor> d_out = kept_of(problem.d_out, std::get<AttentionProblem>(selections[n]()));
    if (d_out && !offer(std::get<AttentionProblem>(structure[n]()), *d_out)) return;
  }
  for (const Candidate& numbers : number_candidates(forward)) {
    if (!offer(std::get<AttentionProblem>(numbers()), problem.d_out)) return;
  }
  for (const Candidate& numbers : number_candidates(matrix)) {
    Tensor d_out = from_matrix(std::get<SoftmaxProblem>(numbers()).x, problem.d_out.shape);
    if (!offer(problem.forward, std::move(d_out))) return;
  }
}

BackwardProblem minimise(BackwardProblem problem, const std::function<bool(const BackwardProblem&)>& fails, int tries,
                         const std::function<bool()>& stop) {
  return simplest(std::move(problem), fails, tries, stop);
}

}  // namespace flashproof
