// What holds for every family: cases are valid, the same bits every time and on every machine, small by default, and
// only their numbers depend on the format.
#include <gtest/gtest.h>

#include <set>

#include "properties/generators/test/test_rows.h"

namespace flashproof {
namespace {

class Hash {
 public:
  void add(std::uint64_t word) {
    for (int i = 0; i < 8; ++i) byte(static_cast<unsigned char>(word >> (8 * i)));
  }
  void add(const std::vector<std::int64_t>& list) {
    add(list.size());
    for (const std::int64_t x : list) add(static_cast<std::uint64_t>(x));
  }
  void add(const std::vector<std::int32_t>& list) {
    add(list.size());
    for (const std::int32_t x : list) add(static_cast<std::uint64_t>(x));
  }
  void add(const ChunkPlan& plan) {
    add(plan.boundary);
    add(plan.order);
  }
  void add_frame(const Tensor& tensor) {
    add(tensor.shape);
    add(tensor.stride);
  }
  void add(const Tensor& tensor) {
    add_frame(tensor);
    add(static_cast<std::uint64_t>(tensor.format));
    for (const std::byte b : tensor.storage) byte(static_cast<unsigned char>(b));
  }
  std::uint64_t value() const { return value_; }

 private:
  void byte(unsigned char b) { value_ = (value_ ^ b) * 0x100000001b3; }
  std::uint64_t value_ = 0xcbf29ce484222325;
};

// Everything but the numbers.
void add_shape(Hash& hash, const SoftmaxProblem& p) {
  hash.add_frame(p.x);
  hash.add(p.row_length);
  hash.add(p.plan);
}
void add_shape(Hash& hash, const MergeProblem& p) {
  hash.add_frame(p.o);
  hash.add_frame(p.lse);
  hash.add_frame(p.l);
  hash.add(p.order);
  for (const Join& join : p.joins) {
    hash.add(static_cast<std::uint64_t>(join.left));
    hash.add(static_cast<std::uint64_t>(join.right));
  }
  hash.add(static_cast<std::uint64_t>(p.form));
}
void add_shape(Hash& hash, const AttentionProblem& p) {
  for (const Tensor* tensor : {&p.q, &p.k, &p.v, &p.bias}) hash.add_frame(*tensor);
  hash.add(std::bit_cast<std::uint32_t>(p.scale));
  hash.add(p.causal ? 1 : 0);
  hash.add(p.key_length);
  hash.add(p.plan);
  if (p.plain()) return;
  hash.add(static_cast<std::uint64_t>(p.window_left) << 32 | static_cast<std::uint32_t>(p.window_right));
  hash.add(std::bit_cast<std::uint32_t>(p.softcap));
  for (const Tensor* tensor : {&p.alibi, &p.sink}) hash.add_frame(*tensor);
  for (const auto* list : {&p.q_start, &p.k_start, &p.page_table}) hash.add(*list);
}

void add_numbers(Hash& hash, const SoftmaxProblem& p) { hash.add(p.x); }
void add_numbers(Hash& hash, const MergeProblem& p) {
  hash.add(p.o);
  hash.add(p.lse);
  hash.add(p.l);
}
void add_numbers(Hash& hash, const AttentionProblem& p) {
  for (const Tensor* tensor : {&p.q, &p.k, &p.v, &p.bias}) hash.add(*tensor);
  if (p.has_alibi()) hash.add(p.alibi);
  if (p.has_sink()) hash.add(p.sink);
  if (!p.has_descale()) return;
  for (const Tensor* tensor : {&p.q_descale, &p.k_descale, &p.v_descale}) hash.add(*tensor);
}

std::uint64_t shape_hash(const Case& made) {
  Hash hash;
  visit_forward([&](const auto& p) { add_shape(hash, p); }, made.problem);
  return hash.value();
}

std::uint64_t full_hash(const Case& made) {
  Hash hash;
  visit_forward(
      [&](const auto& p) {
        add_shape(hash, p);
        add_numbers(hash, p);
      },
      made.problem);
  return hash.value();
}

TEST(Sweep, ListIsConsistent) {
  std::set<std::string_view> names;
  for (const Family& family : families()) {
    EXPECT_TRUE(names.insert(family.name).second) << family.name;
    EXPECT_EQ(find_family(family.name), &family);
    EXPECT_FALSE(family.summary.empty());
    EXPECT_FALSE(family.problems.empty());
  }
  EXPECT_EQ(names.size(), 57U);
  EXPECT_EQ(find_family("nothing"), nullptr);
}

TEST(Sweep, ValidAndTheSameBitsTwice) {
  for (const Family& family : families()) {
    for_each_case(family, [](const Case& made) {
      SCOPED_TRACE(to_string(made.spec));
      EXPECT_NO_THROW(validate(made.problem));
      EXPECT_EQ(kind_of(made.problem), made.spec.problem);
      EXPECT_EQ(info(format_of(made.problem)).name, made.spec.keys.at("format"));
      EXPECT_EQ(full_hash(make_case(parse_case_spec(to_string(made.spec)))), full_hash(made));
    });
  }
}

// All bits of all families, problems, formats and kSeeds seeds. It changes when a family changes, and then the new
// number goes here; if it differs on one machine or compiler only, the generators are not portable there.
TEST(Sweep, GoldenHash) {
  Hash all, pairs;
  for (const Family& family : families()) {
    for_each_case(family, [&](const Case& made) { (family.round != nullptr ? pairs : all).add(full_hash(made)); });
  }
  EXPECT_EQ(all.value(), 0xf21efe2814973d7bU) << std::hex << "0x" << all.value();
  EXPECT_EQ(pairs.value(), 0xaa60c49e1463e770U) << std::hex << "0x" << pairs.value();
}

TEST(Sweep, FormatChangesNumbersOnly) {
  for (const Family& family : families()) {
    for (const ProblemKind problem : family.problems) {
      for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
        CaseSpec spec{problem, std::string(family.name), seed, {}};
        const std::uint64_t wanted = shape_hash(make_case(spec));
        for (const char* format : kFormatNames) {
          spec.keys["format"] = format;
          EXPECT_EQ(shape_hash(make_case(spec)), wanted) << to_string(spec);
        }
      }
    }
  }
}

TEST(Sweep, SeedsDiffer) {
  for (const Family& family : families()) {
    for (const ProblemKind problem : family.problems) {
      std::set<std::uint64_t> shapes, cases;
      for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
        const Case made = make_case({problem, std::string(family.name), seed, {}});
        shapes.insert(shape_hash(made));
        cases.insert(full_hash(made));
      }
      EXPECT_GE(shapes.size(), 15U) << family.name;
      EXPECT_GE(cases.size(), 15U) << family.name;
    }
  }
}

TEST(Sweep, DefaultsAreSmall) {
  int block_widths = 0, softmax_cases = 0;
  for (const Family& family : families()) {
    if (family.round != nullptr) continue;  // large sizes are what it is for; its rows say what they may cost
    for_each_case(family, [&](const Case& made) {
      SCOPED_TRACE(to_string(made.spec));
      if (const auto* p = std::get_if<SoftmaxProblem>(&made.problem)) {
        EXPECT_LE(p->x.shape[0], 4);
        EXPECT_LE(p->x.shape[1], 1536);
        // 6 us an exponential: under 30 ms, unless one row alone costs more.
        EXPECT_TRUE(6 * p->x.elements() <= 30'000 || p->x.shape[0] == 1);
        ++softmax_cases;
        block_widths += p->x.shape[1] == 512 || p->x.shape[1] == 1024;
      } else if (const auto* m = std::get_if<MergeProblem>(&made.problem)) {
        EXPECT_LE(m->o.shape[0], made.spec.family == "mask_one_survivor" ? 70 : 16);
        EXPECT_LE(m->o.shape[1], 4);
        EXPECT_LE(m->o.shape[2], 33);
      } else {
        const auto& a = std::get<AttentionProblem>(made.problem);
        EXPECT_LE(a.sequences() * a.q_heads(), made.spec.family == "gqa"          ? 14
                                               : a.packed()                       ? 8
                                               : a.has_alibi() || a.has_descale() ? 4
                                                                                  : 2);
        std::int64_t cost = 0;
        for (std::int64_t s = 0; s < a.sequences(); ++s) {
          EXPECT_LE(a.q_length(s), 17);
          EXPECT_LE(a.visible_length(s), 65);
          cost += a.q_heads() * a.q_length(s) * a.visible_length(s) * (a.head_dim() + a.value_dim() + 6);
        }
        EXPECT_LE(cost, 30'000);
      }
    });
  }
  // Families that choose the width themselves (tile_edges, zero_length) pull the share down a little.
  EXPECT_GE(block_widths, softmax_cases * 0.38) << softmax_cases;
}

// Families scale to the format: what they write stays finite, except where NaN and infinities are the point. A mask's
// -inf is f32 or a softmax entry; poison is NaN, so only +inf and (in v, q, k, o) -inf can come from an overflow.
TEST(Sweep, NothingOverflowsTheFormat) {
  for (const Family& family : families()) {
    if (family.name == "special_values" || family.name == "hidden_specials") continue;
    for_each_case(family, [](const Case& made) {
      const auto infinities = [](const Tensor& tensor, bool negative_too) {
        int count = 0;
        for (std::int64_t at = 0; at < std::ssize(tensor.storage) * 8 / info(tensor.format).bits; ++at) {
          const double x = decode(tensor.format, tensor.bits(at));
          count += x == INFINITY || (negative_too && x == -INFINITY);
        }
        return count;
      };
      SCOPED_TRACE(to_string(made.spec));
      if (const auto* softmax = std::get_if<SoftmaxProblem>(&made.problem)) {
        EXPECT_EQ(infinities(softmax->x, !made.spec.family.starts_with("mask_")), 0);
      } else if (const auto* merge = std::get_if<MergeProblem>(&made.problem)) {
        EXPECT_EQ(infinities(merge->o, true) + infinities(merge->lse, false), 0);
      } else {
        const auto& a = std::get<AttentionProblem>(made.problem);
        EXPECT_EQ(infinities(a.q, true) + infinities(a.k, true) + infinities(a.v, true) + infinities(a.bias, false), 0);
      }
    });
  }
}

// Visible elements are written: poison shows only beyond lengths, in padding and in empty states.
TEST(Sweep, VisibleElementsAreWritten) {
  for (const Family& family : families()) {
    if (family.name == "special_values" || family.name == "hidden_specials") continue;
    for_each_case(family, [](const Case& made) {
      SCOPED_TRACE(to_string(made.spec));
      int unwritten = 0;
      for (const ScoreRow& row : rows_of(made)) {
        for (const double score : row.score) unwritten += std::isnan(score);
      }
      if (const auto* a = std::get_if<AttentionProblem>(&made.problem)) {
        // Every slot of v: what no sequence sees is poison, whatever holds it (lengths, slack, unused pages).
        std::set<std::int64_t> seen;
        for (std::int64_t s = 0; s < a->sequences(); ++s) {
          for (std::int64_t h = 0; h < a->k_heads(); ++h) {
            for (std::int64_t j = 0; j < a->visible_length(s); ++j) seen.insert(a->v_offset(s, h, j));
          }
        }
        for (std::int64_t outer = 0; outer < a->v.shape[0]; ++outer) {
          for (std::int64_t h = 0; h < a->k_heads(); ++h) {
            for (std::int64_t slot = 0; slot < a->v.shape[2]; ++slot) {
              const bool visible = seen.contains(a->v.offset({outer, h, slot, 0}));
              for (std::int64_t t = 0; t < a->value_dim(); ++t) {
                unwritten += std::isnan(a->v.at({outer, h, slot, t})) == visible;
              }
            }
          }
        }
      }
      EXPECT_EQ(unwritten, 0);
    });
  }
}

TEST(Sweep, KeysOverrideShapes) {
  const Case s =
      make_case(parse_case_spec("softmax:normal:3:cols=100,rows=2,chunk=30,order=reverse,layout=transposed"));
  const auto& softmax = std::get<SoftmaxProblem>(s.problem);
  EXPECT_EQ(softmax.x.shape, (std::vector<std::int64_t>{2, 100}));
  EXPECT_EQ(softmax.x.stride, (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(softmax.plan.boundary, (std::vector<std::int32_t>{0, 30, 60, 90, 100}));
  EXPECT_EQ(softmax.plan.order, (std::vector<std::int32_t>{3, 2, 1, 0}));

  const Case m = make_case(parse_case_spec("merge:staircase:0:n=3,rows=5,dv=7,form=concat,order=3,layout=padded"));
  const auto& merge = std::get<MergeProblem>(m.problem);
  EXPECT_EQ(merge.o.shape, (std::vector<std::int64_t>{3, 5, 7}));
  EXPECT_GT(merge.o.stride[1], 7);
  EXPECT_EQ(merge.form, MergeForm::concat);
  EXPECT_EQ(merge.order, (std::vector<std::int32_t>{1, 2, 0}));

  const Case a = make_case(
      parse_case_spec("attention:normal:1:b=2,hq=6,hk=3,sq=4,sk=33,d=5,dv=9,causal=1,scale=-0.25,chunk=16,order=2"));
  const auto& attention = std::get<AttentionProblem>(a.problem);
  EXPECT_EQ(attention.q.shape, (std::vector<std::int64_t>{2, 6, 4, 5}));
  EXPECT_EQ(attention.k.shape, (std::vector<std::int64_t>{2, 3, 33, 5}));
  EXPECT_EQ(attention.v.shape, (std::vector<std::int64_t>{2, 3, 33, 9}));
  EXPECT_TRUE(attention.causal);
  EXPECT_EQ(attention.scale, -0.25F);
  EXPECT_EQ(attention.plan.boundary, (std::vector<std::int32_t>{0, 16, 32, 33}));
  EXPECT_EQ(attention.plan.order, (std::vector<std::int32_t>{1, 0, 2}));
}

TEST(Sweep, PaddingStaysPoison) {
  const Case made = make_case(parse_case_spec("softmax:normal:0:rows=3,cols=10,layout=padded"));
  const Tensor& x = std::get<SoftmaxProblem>(made.problem).x;
  ASSERT_GT(x.stride[0], 10);
  for (std::int64_t at = 10; at < x.stride[0]; ++at) EXPECT_EQ(x.bits(at), 0xffffffffU);
}

}  // namespace
}  // namespace flashproof
