// The attention features beyond the plain form: what validate() demands of them, and where keys lie and who sees them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>

#include "reference/problem/problems.h"
#include "reference/problem/witness/samples.h"
#include "reference/system/error.h"

namespace flashproof {
namespace {

using testing::HasSubstr;
using P = AttentionProblem;
using Int32 = std::numeric_limits<std::int32_t>;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

P good_pack() { return std::get<P>(sample_packed().content.problem); }
P good_pages() { return std::get<P>(sample_paged().content.problem); }
P good_descaled() { return std::get<P>(sample_descaled().content.problem); }

struct Spoiled {
  std::string message;  // what it must say: the argument and the legal range
  std::function<void(P&)> spoil;
};

void expect_refused(const P& good, const std::vector<Spoiled>& table) {
  EXPECT_NO_THROW(validate(good));
  for (const auto& [message, spoil] : table) {
    P bad = good;
    spoil(bad);
    try {
      validate(bad);
      ADD_FAILURE() << "accepted; should say " << message;
    } catch (const UsageError& error) {
      EXPECT_THAT(error.what(), HasSubstr(message));
      EXPECT_THAT(error.what(), testing::Not(HasSubstr("\n")));
    }
  }
}

void expect_legal(const P& good, const std::vector<std::function<void(P&)>>& changes) {
  for (std::size_t n = 0; n < changes.size(); ++n) {
    P p = good;
    changes[n](p);
    EXPECT_NO_THROW(validate(p)) << n;
  }
}

TEST(ValidateFeatures, ScoresAndSinks) {
  expect_refused(
      good_pack(),
      {
          {"window_left: -2, must be -1..2147483647", [](P& p) { p.window_left = -2; }},
          {"window_right: -2147483648, must be -1..2147483647", [](P& p) { p.window_right = Int32::min(); }},
          {"softcap: -1, must be 0 (none) or finite and positive", [](P& p) { p.softcap = -1.0F; }},
          {"softcap: nan, must be", [](P& p) { p.softcap = kNan; }},
          {"softcap: inf, must be", [](P& p) { p.softcap = kInf; }},
          {"scale: must be finite", [](P& p) { p.scale = kNan; }},
          {"alibi: shape (1, 2), must be (4, 2)", [](P& p) { p.alibi = Tensor::dense(Format::f32, {1, 2}); }},
          {"alibi: shape (4, 1), must be (4, 2)", [](P& p) { p.alibi = Tensor::dense(Format::f32, {4, 1}); }},
          {"alibi: 1 axes, must be 2", [](P& p) { p.alibi = Tensor::dense(Format::f32, {2}); }},
          {"alibi: format f16 must be f32", [](P& p) { p.alibi.format = Format::f16; }},
          {"alibi: 4 bytes of storage, must be at least 8", [](P& p) { p.alibi.storage.resize(4); }},
          {"alibi[0, 1]: must be finite", [](P& p) { p.alibi.set({0, 1}, kNan); }},
          {"alibi[0, 0]: must be finite", [](P& p) { p.alibi.set({0, 0}, -kInf); }},
          {"alibi[3, 1]: must be finite",
           [](P& p) {
             p.alibi = Tensor::dense(Format::f32, {4, 2});
             for (std::int64_t n = 0; n < 7; ++n) p.alibi.set({n / 2, n % 2}, 1.0);
           }},
          {"alibi: without a shape it must have no stride", [](P& p) { p.alibi.shape.clear(); }},
          {"sink: shape (1), must be (2)", [](P& p) { p.sink = Tensor::dense(Format::f32, {1}); }},
          {"sink: 2 axes, must be 1", [](P& p) { p.sink = Tensor::dense(Format::f32, {2, 1}); }},
          {"sink: format bf16 must be f32", [](P& p) { p.sink.format = Format::bf16; }},
          {"sink: without a shape it must have no stride", [](P& p) { p.sink.shape.clear(); }},
      });
  expect_legal(good_pack(), {
                                [](P& p) { p.window_left = p.window_right = Int32::max(); },
                                [](P& p) { p.window_left = p.window_right = 0; },
                                [](P& p) { p.softcap = 0x1p-149F; },
                                [](P& p) { p.softcap = -0.0F; },
                                [](P& p) { p.sink.set({0}, kNan); },
                                [](P& p) { p.sink.set({0}, kInf); },
                                [](P& p) { p.alibi.set({0, 0}, 0x1.fffffep+127); },
                                [](P& p) { p.alibi = Tensor(), p.sink = Tensor(); },
                            });
}

TEST(ValidateFeatures, DescaleFactorsAndFormats) {
  expect_refused(
      good_descaled(),
      {
          {"k_descale[1, 0]: must be finite", [](P& p) { p.k_descale.set({1, 0}, kNan); }},
          {"v_descale[0, 0]: must be finite", [](P& p) { p.v_descale.set({0, 0}, -kInf); }},
          {"q_descale: shape (2, 2), must be (2, 1)", [](P& p) { p.q_descale = Tensor::dense(Format::f32, {2, 2}); }},
          {"q_descale: shape (1, 1), must be (2, 1)", [](P& p) { p.q_descale = Tensor::dense(Format::f32, {1, 1}); }},
          {"k_descale: 1 axes, must be 2", [](P& p) { p.k_descale = Tensor::dense(Format::f32, {2}); }},
          {"k_descale: format bf16 must be f32", [](P& p) { p.k_descale.format = Format::bf16; }},
          {"v_descale: 2 bytes of storage, must be at least 4", [](P& p) { p.v_descale.storage.resize(2); }},
          {"v_descale: without a shape it must have no stride", [](P& p) { p.v_descale.shape.clear(); }},
          {"v: format e4m3fn, must be that of k, e5m2", [](P& p) { p.k.format = Format::e5m2; }},
          {"k: format f64 must be f32, f16, bf16, e4m3fn or e5m2",
           [](P& p) { p.k = Tensor::dense(Format::f64, {2, 1, 3, 4}); }},
          {"v_descale: 1048576 x 1048576 factors, must be at most 2147483647",
           [](P& p) {
             constexpr std::int64_t n = 1 << 20;
             p.q = Tensor::dense(Format::bf16, {n, n, 0, 1});
             p.k = p.v = Tensor::dense(Format::e5m2, {n, n, 0, 1});
             p.k_descale = Tensor();
             p.v_descale = Tensor::strided(Format::f32, {n, n}, {1, 1});
             p.plan = ChunkPlan::uniform(0, 1);
           }},
      });
  expect_legal(good_descaled(), {
                                    [](P& p) { p.k_descale.set({0, 0}, 0.0); },
                                    [](P& p) { p.q_descale = p.k_descale, p.v_descale = Tensor(); },
                                    [](P& p) { p.k.format = p.v.format = Format::e5m2; },
                                    [](P& p) { p.q = Tensor::dense(Format::e5m2, {2, 2, 2, 4}); },
                                });
  // One factor for each sequence of a pack.
  P pack = good_pack();
  pack.q_descale = Tensor::strided(Format::f32, {4, 1}, {0, 0});
  pack.q_descale.set({0, 0}, 2.0);
  EXPECT_NO_THROW(validate(pack));
  pack.q_descale.shape = {1, 1};
  expect_refused(good_pack(), {{"q_descale: shape (1, 1), must be (4, 1)", [&](P& p) { p = pack; }}});
}

TEST(ValidateFeatures, Packs) {
  expect_refused(
      good_pack(),
      {
          {"q_start[0]: 1, must be 0", [](P& p) { p.q_start[0] = 1; }},
          {"q_start[2]: 1, must be 2..4", [](P& p) { p.q_start[2] = 1; }},
          {"q_start[3]: 5, must be 2..4", [](P& p) { p.q_start[3] = 5; }},
          {"q_start[1]: -1, must be 0..4", [](P& p) { p.q_start[1] = -1; }},
          {"q_start[1]: -2147483648, must be 0..4", [](P& p) { p.q_start[1] = Int32::min(); }},
          {"q_start: ends with 3, must end with q axis 2, 4", [](P& p) { p.q_start[4] = 3; }},
          {"k_start: 4 entries, must be as many as q_start, 5", [](P& p) { p.k_start.pop_back(); }},
          {"k_start: 0 entries, must be as many as q_start, 5", [](P& p) { p.k_start.clear(); }},
          {"k_start[0]: -1, must be 0", [](P& p) { p.k_start[0] = -1; }},
          {"k_start[4]: 7, must be 4..6", [](P& p) { p.k_start[4] = 7; }},
          {"k_start: must be empty without q_start", [](P& p) { p.q_start.clear(); }},
          {"q axis 0 (packed): 2, must be 1..1",
           [](P& p) { p.q.shape[0] = 2, p.q.storage.resize(p.q.storage.size() * 2); }},
          {"k: shape (2, 1, 6, 3), must be (1, 1, 6, 3)", [](P& p) { p.k = Tensor::dense(Format::f16, {2, 1, 6, 3}); }},
          {"v: shape (1, 1, 5, 2), must be (1, 1, 6, 2)", [](P& p) { p.v = Tensor::dense(Format::f16, {1, 1, 5, 2}); }},
          {"bias: must be absent where sequences are packed",
           [](P& p) { p.bias = Tensor::dense(Format::f32, {1, 2, 4, 3}); }},
          {"key_length: 1 lengths, must be none or 4", [](P& p) { p.key_length = {1}; }},
          {"key_length[1]: 2, must be 0..1", [](P& p) { p.key_length = {3, 2, 0, 1}; }},
          {"key_length[2]: -1, must be 0..3", [](P& p) { p.key_length = {3, 1, -1, 1}; }},
          {"plan.boundary: must begin with 0 and end with the length 3",
           [](P& p) { p.plan = ChunkPlan::uniform(6, 2); }},
      });
  expect_legal(good_pack(), {
                                [](P& p) { p.key_length = {2, 0, 0, 1}; },
                                [](P& p) {  // no sequence at all
                                  p.q = Tensor::dense(Format::f16, {1, 2, 0, 3});
                                  p.q_start = p.k_start = {0};
                                  p.alibi = Tensor::dense(Format::f32, {0, 2});
                                  p.plan = ChunkPlan::uniform(0, 1);
                                },
                            });
}

TEST(ValidateFeatures, Pages) {
  expect_refused(
      good_pages(),
      {
          {"page_table: 5 entries, must be a multiple of the 3 sequences", [](P& p) { p.page_table.pop_back(); }},
          {"page_table[0]: 4, must be 0..3 (k axis 0): sequence 0 has keys there", [](P& p) { p.page_table[0] = 4; }},
          {"page_table[1]: -1, must be 0..3", [](P& p) { p.page_table[1] = -1; }},
          {"page_table[3]: -1, must be 0..3", [](P& p) { p.key_length = {3, 3, 0}; }},
          {"page_table[3]: -1, must be 0..3", [](P& p) { p.key_length.clear(); }},
          {"key_length[0]: 5, must be 0..4", [](P& p) { p.key_length[0] = 5; }},
          {"v: shape (3, 2, 2, 1), must be (4, 2, 2, 1)", [](P& p) { p.v = Tensor::dense(Format::f32, {3, 2, 2, 1}); }},
          {"v: shape (4, 2, 3, 1), must be (4, 2, 2, 1)", [](P& p) { p.v = Tensor::dense(Format::f32, {4, 2, 3, 1}); }},
          {"k axis 2 (page size): 0, must be 1..",
           [](P& p) {
             p.k = Tensor::dense(Format::f32, {4, 2, 0, 2});
             p.v = Tensor::dense(Format::f32, {4, 2, 0, 1});
           }},
          {"bias: shape (3, 2, 1, 3), must be (3, 2, 1, 4)", [](P& p) { p.bias.shape[3] = 3; }},
          {"k_start: must be empty without q_start", [](P& p) { p.k_start = {0, 1, 2, 3}; }},
          {"k_start: must be empty where keys are paged",
           [](P& p) {
             p.bias = Tensor();
             p.q = Tensor::dense(Format::f32, {1, 2, 3, 2});
             p.q_start = p.k_start = {0, 1, 2, 3};
           }},
          {"page_table: 6 entries, must be empty without a sequence",
           [](P& p) {
             p.q = Tensor::dense(Format::f32, {0, 2, 1, 2});
             p.bias = Tensor();
           }},
          {"plan.boundary: must begin with 0 and end with the length 4",
           [](P& p) { p.plan = ChunkPlan::uniform(3, 2); }},
      });
  expect_legal(good_pages(),
               {
                   [](P& p) { p.page_table[3] = 0, p.page_table[4] = 1, p.page_table[5] = 3, p.key_length.clear(); },
                   [](P& p) {  // packed queries, paged keys
                     p.bias = Tensor();
                     p.q = Tensor::dense(Format::f32, {1, 2, 5, 2});
                     p.q_start = {0, 4, 4, 5};
                   },
                   [](P& p) {  // no page exists, and none is needed
                     p.k = Tensor::dense(Format::f32, {0, 2, 2, 2});
                     p.v = Tensor::dense(Format::f32, {0, 2, 2, 1});
                     p.key_length = {0, 0, 0};
                   },
               });
}

// Nothing is multiplied before it is known to fit, and nothing as large as it claims to be is walked through.
TEST(ValidateFeatures, HostileSizes) {
  constexpr std::int64_t kMost = (std::int64_t{1} << 31) - 1;
  const auto huge_pages = [](P& p, std::int64_t pages, std::int64_t page_size) {
    p.k = Tensor::strided(Format::f32, {pages, 1, page_size, 1}, {0, 0, 0, 0});
    p.v = p.k;
    p.q = Tensor::strided(Format::f32, {3, 1, 1, 1}, {0, 0, 0, 0});
    p.bias = Tensor();
  };
  expect_refused(good_pages(),
                 {
                     {"page_table: 2 pages of 2147483647 keys per sequence, must be at most 2147483647 keys",
                      [&](P& p) { huge_pages(p, 1, kMost); }},
                     {"k: shape (2147483648, 1, 1, 1), every extent must be 0..2147483647",
                      [&](P& p) { huge_pages(p, kMost + 1, 1); }},
                     {"k: shape (2147483647, 1, 1024, 1), must have at most 2^40 elements",
                      [&](P& p) { huge_pages(p, kMost, 1024); }},
                     {"alibi: 1048576 x 1048576 slopes, must be at most 2147483647",
                      [](P& p) {
                        constexpr std::int64_t n = 1 << 20;
                        p.q = Tensor::dense(Format::f32, {n, n, 0, 1});
                        p.k = p.v = Tensor::dense(Format::f32, {n, n, 0, 1});
                        p.page_table.clear();
                        p.bias = Tensor();
                        p.alibi = Tensor::strided(Format::f32, {n, n}, {1, 1});
                      }},
                 });
  P p = good_pages();  // 2^31 - 1 pages of one key; one of them, the last, for each sequence
  huge_pages(p, kMost, 1);
  p.page_table.assign(3, static_cast<std::int32_t>(kMost - 1));
  p.key_length.clear();
  p.plan = ChunkPlan::uniform(1, 1);
  EXPECT_NO_THROW(validate(p));
  EXPECT_EQ(p.k_offset(2, 0, 0), 0) << "all strides are 0";
}

TEST(Features, AreNamed) {
  using enum Feature;
  EXPECT_TRUE(std::get<P>(sample_attention().content.problem).plain());
  EXPECT_EQ(good_pack().features(), (std::vector{window, softcap, alibi, sink, packed}));
  EXPECT_EQ(good_pages().features(), (std::vector{window, paged}));
  EXPECT_EQ(name(window), "window");
  EXPECT_EQ(name(softcap), "softcap");
  EXPECT_EQ(name(alibi), "alibi");
  EXPECT_EQ(name(sink), "sink");
  EXPECT_EQ(name(packed), "packed");
  EXPECT_EQ(name(paged), "paged");
  EXPECT_EQ(good_descaled().features(), (std::vector{descale, mixed}));
  EXPECT_EQ(name(descale), "descale");
  EXPECT_EQ(name(mixed), "mixed");
  EXPECT_EQ(name(unnormalised), "unnormalised");
  EXPECT_EQ(name(joins), "joins");
  P p = std::get<P>(sample_attention().content.problem);
  p.window_left = 0;
  EXPECT_EQ(p.features(), std::vector{window}) << "a window of 0 is a window";
  EXPECT_EQ(std::get<MergeProblem>(sample_merge().content.problem).features(), std::vector<Feature>());
  EXPECT_EQ(std::get<MergeProblem>(sample_merge_states().content.problem).features(),
            (std::vector{unnormalised, joins}));
}

TEST(Features, TheFormatOfTheOutput) {
  using enum Format;
  P p = good_descaled();
  const auto made = [&](Format q, Format kv) {
    p.q.format = q;
    p.k.format = p.v.format = kv;
    EXPECT_EQ(format_of(p), q);
    EXPECT_EQ(output_format(p), p.output_format());
    return std::pair(output_format(p), p.has(Feature::mixed));
  };
  EXPECT_EQ(made(f16, f16), std::pair(f16, false));
  EXPECT_EQ(made(f16, bf16), std::pair(f16, true));
  EXPECT_EQ(made(f32, e4m3fn), std::pair(f32, true));
  EXPECT_EQ(made(e4m3fn, e4m3fn), std::pair(bf16, true)) << "o has another format than q";
  EXPECT_EQ(made(e5m2, bf16), std::pair(bf16, true));
  EXPECT_EQ(output_format(sample_merge_states().content.problem), bf16);
  EXPECT_EQ(output_format(sample_softmax().content.problem), f16);
}

TEST(Features, OfAnyProblem) {
  using enum Feature;
  EXPECT_EQ(feature_beyond(sample_softmax().content.problem, {}), std::nullopt);
  EXPECT_EQ(feature_beyond(sample_merge().content.problem, {}), std::nullopt);
  const Problem states = sample_merge_states().content.problem;
  EXPECT_EQ(feature_beyond(states, {}), unnormalised);
  EXPECT_EQ(feature_beyond(states, std::vector{unnormalised}), joins);
  EXPECT_EQ(feature_beyond(states, std::vector{joins, unnormalised}), std::nullopt);
  EXPECT_EQ(feature_beyond(sample_paged().content.problem, std::vector{window}), paged);
}

// q_start 0, 2, 2, 3, 4; k_start 0, 3, 4, 4, 5: lengths (2, 3), (0, 1), (1, 0), (1, 1). Strides of q 24, 3, 6, 1.
TEST(Features, WhereThingsLieInAPack) {
  const P p = good_pack();
  EXPECT_EQ(p.sequences(), 4);
  EXPECT_EQ(p.k_length(), 3);
  const std::int64_t lengths[4][2] = {{2, 3}, {0, 1}, {1, 0}, {1, 1}};
  for (std::int64_t s = 0; s < 4; ++s) {
    EXPECT_EQ(p.q_length(s), lengths[s][0]) << s;
    EXPECT_EQ(p.k_length(s), lengths[s][1]) << s;
    EXPECT_EQ(p.visible_length(s), lengths[s][1]) << s;
  }
  EXPECT_EQ(p.q_offset(0, 1, 1), 3 + 6);
  EXPECT_EQ(p.q_offset(3, 1, 0), 3 + 3 * 6);
  EXPECT_EQ(p.k_offset(0, 0, 2), 2 * 3);
  EXPECT_EQ(p.k_offset(3, 0, 0), 4 * 3);
  EXPECT_EQ(p.v_offset(1, 0, 0), 3 * 2);
  EXPECT_EQ(p.output_row(0, 0, 1), 1);
  EXPECT_EQ(p.output_row(2, 1, 0), 4 + 2);
  EXPECT_EQ(p.output_row(3, 1, 0), 4 + 3);
  EXPECT_EQ(output_shape(p).rows, 8);
}

// Pages of 2; tables (2, 0), (2, ...), (...); lengths 3, 1, 0.
TEST(Features, WhereThingsLieInPages) {
  const P p = good_pages();
  EXPECT_EQ(p.pages_per_sequence(), 2);
  EXPECT_EQ(p.k_length(), 4) << "the room, which the plan runs over";
  EXPECT_EQ(p.k_length(0), 3) << "the sequence ends with its key_length";
  EXPECT_EQ(p.k_length(2), 0);
  EXPECT_EQ(p.k_offset(0, 1, 1), 2 * 8 + 4 + 2);
  EXPECT_EQ(p.k_offset(0, 0, 2), 0);
  EXPECT_EQ(p.v_offset(1, 1, 0), 2 * 4 + 2);
  EXPECT_EQ(p.output_row(2, 1, 0), 5);
  EXPECT_EQ(output_shape(p).rows, 6);
  P without = p;
  without.key_length.clear();
  EXPECT_EQ(without.k_length(0), 4);
}

/// First and last visible key, for the queries of a sequence.
std::vector<std::pair<std::int64_t, std::int64_t>> keys(const P& p, std::int64_t s) {
  std::vector<std::pair<std::int64_t, std::int64_t>> result;
  for (std::int64_t i = 0; i < p.q_length(s); ++i) {
    const P::Keys visible = p.visible_keys(s, i);
    result.emplace_back(visible.first, visible.last);
    for (std::int64_t j = -1; j <= p.k_length(s); ++j) {
      EXPECT_EQ(p.position_visible(s, i, j), visible.first <= j && j < visible.last) << i << ' ' << j;
    }
  }
  return result;
}

TEST(Features, Windows) {
  using Pairs = std::vector<std::pair<std::int64_t, std::int64_t>>;
  P p;
  p.q = Tensor::dense(Format::f32, {1, 1, 3, 1});
  p.k = p.v = Tensor::dense(Format::f32, {1, 1, 5, 1});  // the queries stand beside keys 2, 3 and 4
  EXPECT_EQ(keys(p, 0), (Pairs{{0, 5}, {0, 5}, {0, 5}}));
  p.window_left = 1;
  EXPECT_EQ(keys(p, 0), (Pairs{{1, 5}, {2, 5}, {3, 5}}));
  p.window_right = 0;
  EXPECT_EQ(keys(p, 0), (Pairs{{1, 3}, {2, 4}, {3, 5}}));
  p.window_left = -1;
  EXPECT_EQ(keys(p, 0), (Pairs{{0, 3}, {0, 4}, {0, 5}}));
  p.window_right = 1;
  EXPECT_EQ(keys(p, 0), (Pairs{{0, 4}, {0, 5}, {0, 5}}));
  p.causal = true;
  EXPECT_EQ(keys(p, 0), (Pairs{{0, 3}, {0, 4}, {0, 5}})) << "the narrower of the two";
  p.key_length = {2};
  p.window_left = 0;
  EXPECT_EQ(keys(p, 0), (Pairs{{2, 2}, {3, 2}, {4, 2}})) << "without pages, positions count from the end of axis 2";
  p.window_left = p.window_right = Int32::max();
  EXPECT_EQ(keys(p, 0), (Pairs{{0, 2}, {0, 2}, {0, 2}}));
  // Fewer keys than queries: the first queries stand before key 0.
  p.key_length.clear();
  p.k = p.v = Tensor::dense(Format::f32, {1, 1, 1, 1});
  p.window_left = 5;
  EXPECT_EQ(keys(p, 0), (Pairs{{0, -1}, {0, 0}, {0, 1}}));
  // Pages: positions count from the end of the sequence, not of its room.
  P in_pages = good_pages();
  in_pages.window_left = 1;
  EXPECT_EQ(keys(in_pages, 0), (Pairs{{1, 3}}));
  EXPECT_EQ(keys(in_pages, 1), (Pairs{{0, 1}}));
  EXPECT_EQ(keys(in_pages, 2), (Pairs{{0, 0}}));
}

}  // namespace
}  // namespace flashproof
