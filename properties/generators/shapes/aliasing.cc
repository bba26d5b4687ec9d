// Inputs that share storage, as far as a case can say so: strides of 0 over batch, heads or rows, rows that overlap, k and v
// with the same numbers (shared latent keys and values). A kernel that takes one tensor's stride for another's, that takes
// an extent for a stride, or that believes elements to be distinct shows. A key `layout` leaves the strides to itself.
#include "properties/generators/features.h"

namespace flashproof::family::aliasing {
namespace {

/// Some of the leading axes share their storage, or the last but one moves on by a single element: rows overlap.
void share(Tensor& tensor, Random& random, bool may_overlap) {
  std::vector<std::int64_t> stride = dense_stride(tensor.shape);
  const std::size_t rank = stride.size();
  bool shared = false;
  for (std::size_t axis = 0; axis + 2 < rank; ++axis) {
    if (!random.chance(0.5)) continue;
    stride[axis] = 0;
    shared = true;
  }
  const std::int64_t dice = random.integer(0, 3);
  if (may_overlap && dice == 0) stride[rank - 2] = 1;
  if (may_overlap && (dice == 1 || (!shared && dice != 0))) stride[rank - 2] = 0;
  tensor = Tensor::strided(tensor.format, tensor.shape, std::move(stride));
}

void put_attention(Problem& problem, Random& random, bool share_storage) {
  auto& p = std::get<AttentionProblem>(problem);
  const bool same = random.chance(0.5) && p.head_dim() == p.value_dim();
  if (share_storage) {
    share(p.q, random, true);
    share(p.k, random, random.chance(0.3));
    share(p.v, random, random.chance(0.3));
    // One bias for all heads or all rows is what strides of 0 are mostly used for.
    if (p.has_bias()) share(p.bias, random, true);
  }
  put_queries(p, random, 1);
  put_keys(p, random, 1);
  put_values(problem, random);
  if (p.has_bias()) {
    put_bias(p, random, normal_row(2));
  }
  if (same) p.v = p.k;
}

Case make(const CaseSpec& spec) {
  Random random = value_stream(spec);
  const bool equal_dims = random.chance(0.6) && !spec.keys.contains("d") && !spec.keys.contains("dv");
  ShapeWish wish{.causal_chance = 0.3, .bias_chance = 0.3, .exact_scale = true};
  if (equal_dims) wish.head_dim = wish.value_dim = random.chance(0.5) ? 16 : 64;
  Problem problem = draw_shape(spec, wish);
  const bool share_storage = !spec.keys.contains("layout");
  if (spec.problem == ProblemKind::attention) {
    put_attention(problem, random, share_storage);
    return {spec, std::move(problem)};
  }
  if (auto* softmax = std::get_if<SoftmaxProblem>(&problem); softmax != nullptr && share_storage) {
    share(softmax->x, random, true);
  }
  if (auto* merge = std::get_if<MergeProblem>(&problem); merge != nullptr && share_storage) {
    share(merge->o, random, random.chance(0.5));
    share(merge->lse, random, true);
  }
  return with_rows(spec, std::move(problem), random, normal_row(3));
}

constexpr Promise kPromises[] = {
    {.field = &Difficulty::broadcast, .at_least = 1, .share = 0.4},
    {.field = &Difficulty::overlap, .at_least = 1, .share = 0.08},
    {.field = &Difficulty::kv_equal, .at_least = 1, .share = 0.15, .only = ProblemKind::attention}};

}  // namespace

Family aliasing() { return {"strides of 0, overlapping rows, equal k and v", kAll, make, kPromises}; }

}  // namespace flashproof::family::aliasing
