// Problems for the tests of this folder, one per kind of difficulty. Not part of the library.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "reference/problem/problems.h"
#include "reference/problem/random.h"

namespace flashproof::test {

using Draw = std::function<double()>;
Draw normal(Random& random, double sigma = 1.0, double mean = 0.0);
/// Magnitude log-uniform over [2^lo, 2^hi), random sign: powers of two times a uniform in [1, 2).
Draw log_uniform(Random& random, int lo, int hi);

/// Every element drawn and rounded into the format. With padding, rows are a few elements apart and the gaps hold NaN.
Tensor filled(Format format, std::vector<std::int64_t> shape, const Draw& draw, bool padded = false);

SoftmaxProblem softmax(Format format, std::int64_t rows, std::int64_t cols, const Draw& draw);
MergeProblem merge(Format format, std::int64_t states, std::int64_t rows, std::int64_t width, const Draw& o,
                   const Draw& lse, MergeForm form);

/// A random tree over this many states.
std::vector<Join> random_joins(Random& random, std::int64_t states);

struct AttentionSize {
  std::int64_t batch = 1, q_heads = 1, k_heads = 1, sq = 4, sk = 12, d = 8, dv = 5;
};
AttentionProblem attention(Format format, AttentionSize size, const Draw& q, const Draw& k, const Draw& v,
                           bool padded = false);

/// What random_attention puts into a problem. A bias is dropped where it is packed.
struct Mix {
  bool causal = false, lengths = false, bias = false;
  bool window = false, softcap = false, alibi = false, sink = false, packed = false, paged = false;
};
/// Small, with GQA, empty sequences if packed, slopes and windows of 0, sinks of −inf, a shuffled plan. Storage that
/// belongs to no key holds NaN, an unused page table entry anything.
AttentionProblem random_attention(Random& random, Format format, const Mix& mix, bool padded);

/// Some of the three factors, one in ten of them 0.
void add_descale(Random& random, AttentionProblem& problem);
/// k and v rounded into another format.
void narrow(AttentionProblem& problem, Format format);

/// NaN into every k and v that is no key of any sequence, beyond a key_length for example.
void poison_unused(AttentionProblem& problem);
/// The same function of the same numbers, its keys in pages: shuffled, some unused (NaN), unused table entries anything.
/// The source may be packed, but not have a key_length, from whose end the positions of a paged sequence count.
AttentionProblem in_pages(const AttentionProblem& source, std::int64_t page_size, Random& random);
/// The same function of the same numbers, its sequences packed; output row (b·Hq + h)·Sq + i becomes (h·B + b)·Sq + i.
/// The source has neither bias nor pages.
AttentionProblem in_one_pack(const AttentionProblem& source);
ChunkPlan shuffled_plan(Random& random, std::int64_t length);

/// The three problems in all formats, strides, orders and chunk plans; of attention the plain form, one feature alone,
/// or any mixture; beside them descale factors and 8-bit k and v, a quarter each. Inputs are finite but for −inf masks, and NaN where nothing may look.
Problem random_problem(std::uint64_t seed);

struct Kind {
  std::string name;
  std::function<Problem(Random&)> make;
};
/// Kinds whose naive evaluation goes wrong somewhere; inputs are finite but for −inf masks, and NaN where nothing may
/// look. At least 15 outputs each, o and lse.
const std::vector<Kind>& hard_kinds();
/// The attention part of it beyond the first few, in hard_attention.cc.
std::vector<Kind> hard_attention_kinds();
/// Descale factors and numbers of 8 bits, in hard_descale.cc.
std::vector<Kind> hard_descale_kinds();
/// Un-normalised states, in hard_merge.cc.
std::vector<Kind> hard_merge_kinds();

}  // namespace flashproof::test
