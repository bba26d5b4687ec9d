#include <cmath>

#include "properties/laws/support/change.h"
#include "reference/problem/random.h"
#include "reports/faults/habits.h"

namespace flashproof {
namespace {

Tensor normal(Random& random, Format format, std::vector<std::int64_t> shape, double mean = 0) {
  Tensor tensor = Tensor::dense(format, std::move(shape));
  for (std::int64_t i = 0; i < tensor.elements(); ++i) tensor.set_bits(i, encode(format, mean + random.normal()));
  return tensor;
}

SoftmaxProblem softmax(Random& random, Format format) {
  return {normal(random, format, {16, 1024}), {}, ChunkPlan::uniform(1024, 256)};
}

MergeProblem merge(Random& random, Format format, std::int64_t states) {
  MergeProblem p;
  p.o = normal(random, format, {states, 64, 64});
  p.lse = normal(random, Format::f32, {states, 64}, std::log(128.0));
  for (std::int32_t n = 0; n < states; ++n) p.order.push_back(n);
  return p;
}

AttentionProblem attention(Random& random, Format format) {
  AttentionProblem p;
  p.q = normal(random, format, {2, 4, 64, 64});
  p.k = normal(random, format, {2, 2, 128, 64});
  p.v = normal(random, format, {2, 2, 128, 64});
  p.scale = 0.125F;  // 1/√64
  p.plan = ChunkPlan::uniform(128, 32);
  return p;
}

/// The same keys in pages of 16, in reverse.
AttentionProblem paged(const AttentionProblem& p) {
  constexpr std::int64_t kPage = 16;
  AttentionProblem result = p;
  const std::int64_t pages = p.k_length() / kPage;
  const auto in_pages = [&](const Tensor& from) {
    Tensor to = Tensor::dense(from.format, {p.batch() * pages, p.k_heads(), kPage, from.shape[3]});
    for (std::int64_t n = 0; n < p.batch() * pages; ++n) {
      for (std::int64_t h = 0; h < p.k_heads(); ++h) {
        for (std::int64_t i = 0; i < kPage; ++i) {
          for (std::int64_t d = 0; d < from.shape[3]; ++d) {
            to.set({p.batch() * pages - 1 - n, h, i, d}, from.at({n / pages, h, n % pages * kPage + i, d}));
          }
        }
      }
    }
    return to;
  };
  result.k = in_pages(p.k);
  result.v = in_pages(p.v);
  for (std::int64_t n = 0; n < p.batch() * pages; ++n) {
    result.page_table.push_back(static_cast<std::int32_t>(p.batch() * pages - 1 - n));
  }
  return result;
}

class Ordinary {
 public:
  explicit Ordinary(Format format) : format_(format), random_(1, 0x0b5e55) {}

  std::vector<NamedProblem> all(ProblemKind problem) {
    switch (problem) {
      case ProblemKind::softmax:
        add("plain", softmax(random_, format_));
        break;
      case ProblemKind::merge:
        merges();
        break;
      case ProblemKind::attention:
      case ProblemKind::backward:
        attentions();
        break;
    }
    return std::move(list_);
  }

 private:
  void add(const char* name, Problem problem) {
    list_.push_back({std::string(info(format_).name) + " " + name, std::move(problem)});
  }

  void merges() {
    const MergeProblem two = merge(random_, format_, 2);
    MergeProblem p = merge(random_, format_, 4);
    add("2 states", two);
    add("4 states", p);
    MergeProblem tree = p;
    tree.joins = {{0, 1}, {2, 3}, {4, 5}};
    add("tree", tree);
    // (m, l, O) of the same sums, l e^m: m lies ln l below the lse of the plain form, and O = l o.
    p.l = Tensor::dense(Format::f32, p.lse.shape);
    for (std::int64_t i = 0; i < p.l.elements(); ++i) {
      const double l = decode(Format::f32, encode(Format::f32, 8 + random_.normal()));
      p.l.set_bits(i, encode(Format::f32, l));
      p.lse.set_bits(i, encode(Format::f32, decode(Format::f32, p.lse.bits(i)) - std::log(l)));
      for (std::int64_t c = 0; c < p.o.shape[2]; ++c) {
        const std::int64_t at = i * p.o.shape[2] + c;
        p.o.set_bits(at, encode(format_, decode(format_, p.o.bits(at)) * l));
      }
    }
    add("(m, l, O)", p);
  }

  void attentions() {
    const AttentionProblem p = attention(random_, format_);
    add("full", p);
    AttentionProblem q = p;
    q.causal = true;
    add("causal", q);
    add("pages", paged(p));
    q = p;
    q.window_left = 64;
    add("window", q);
    q = p;
    q.softcap = 30;
    add("softcap", q);
    q = p;
    q.alibi = Tensor::dense(Format::f32, {2, 4});
    for (std::int64_t i = 0; i < 8; ++i)
      q.alibi.set_bits(i, encode(Format::f32, std::exp2(-2.0 * static_cast<double>(i % 4 + 1))));
    add("ALiBi", q);
    q = p;
    q.sink = normal(random_, Format::f32, {4});
    add("sink", q);
    q = p;
    q.bias = normal(random_, Format::f32, {2, 4, 64, 128});
    add("bias", q);
  }

  Format format_;
  Random random_;
  std::vector<NamedProblem> list_;
};

}  // namespace

std::vector<NamedProblem> ordinary_problems(ProblemKind problem) {
  std::vector<NamedProblem> list;
  for (const Format format : kStorageFormats) {
    for (NamedProblem& p : Ordinary(format).all(problem)) list.push_back(std::move(p));
  }
  return list;
}

}  // namespace flashproof
