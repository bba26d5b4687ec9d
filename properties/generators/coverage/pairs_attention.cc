// Attention of levels.
#include <algorithm>
#include <array>
#include <bit>
#include <string>

#include "properties/generators/coverage/pairs_attention.h"
#include "properties/generators/coverage/windows.h"
#include "properties/generators/features.h"
#include "properties/generators/plan.h"
#include "reference/system/error.h"

namespace flashproof::pairwise {
namespace {

using Number = std::int64_t;

/// Elements of the largest tensor.
constexpr Number kMostElements = Number{1} << 20;
/// Rows times chunks: the work of a kernel that gives each row a block, and of it each chunk a round.
constexpr Number kMostRounds = 4096, kMostRows = 400;

struct Heads {
  Number q, k;
};
/// Enough of them for so many tiles, few otherwise.
Heads heads_of(Number level, Number at_least, Number turn) {
  constexpr std::array<Number, 3> kGroups = {2, 3, 7};
  const Number group = kGroups[static_cast<std::size_t>(turn % 3)];
  const auto times = [&](Number unit) { return std::max<Number>((at_least + unit - 1) / unit, 1); };
  if (level == kOneHead) return {1, 1};
  if (level == kOwnHeads) return {std::max<Number>(at_least, 2), std::max<Number>(at_least, 2)};
  if (level == kSharedHead) return {group * times(group), 1};
  return {2 * group * times(2 * group), 2 * times(2 * group)};
}

Number tiles(Number queries) { return (queries + kTileQueries - 1) / kTileQueries; }

/// The heads are chosen last, so that the tiles come out.
Heads heads_for(const Numbers& n) {
  const Number wanted =
      n[kTiles] < 100 ? 0 : (n[kTiles] + n[kBatch] * tiles(n[kQueries]) - 1) / (n[kBatch] * tiles(n[kQueries]));
  return heads_of(n[kHeads], wanted, n[kKeys] + n[kDim]);
}

}  // namespace

/// What a case with these levels may cost: little, or three times what its two most expensive levels need by themselves. So large
/// sizes meet in pairs, each beside the smallest others.
Number most_products(const Levels& levels) {
  const auto least = [&](std::size_t axis) -> Number {
    const int level = levels[axis];
    return level == kFree ? 1 : dimensions(ProblemKind::attention)[axis].levels[static_cast<std::size_t>(level)].lo;
  };
  constexpr std::array<Number, 4> kLeastHeads = {1, 2, 14, 7};
  const Number heads = levels[kHeads] == kFree ? 1 : kLeastHeads[static_cast<std::size_t>(levels[kHeads])];
  const Number rows = std::max({least(kTiles), least(kQueries), least(kBatch), heads});
  const Number keys = std::max(least(kKeys), least(kChunk));
  const Number dims = std::max(least(kDim), least(kValueDim)) + 1;
  return std::max(kProducts, 3 * std::max({rows * keys * 2, rows * dims, keys * dims}));
}

bool attention_fits(Numbers& n, Number most_products) {
  const Number least = least_of(n[kOrder]);
  if (n[kPage] > 0) {
    const bool free = n[kKeys] == kUnset;
    Number longest = n[kChunk], count = n[kChunks];
    if (free) chunks_fit(n[kKeys], longest, count, least);
    // The plan runs over the room of the pages.
    if (n[kKeys] > n[kPage]) n[kKeys] = (n[kKeys] + n[kPage] - 1) / n[kPage] * n[kPage];
    if (n[kKeys] < n[kPage] && free) n[kKeys] = n[kPage];
  }
  const bool cut = chunks_fit(n[kKeys], n[kChunk], n[kChunks], least);
  const Heads heads = heads_for(n);
  const Number work = n[kBatch] * heads.q * tiles(n[kQueries]);
  const bool as_many = n[kTiles] == kUnset || (work >= 100) == (n[kTiles] >= 100);
  n[kTiles] = work;
  const Number rows = n[kBatch] * heads.q * n[kQueries];
  const Number stored = n[kBatch] * heads.k * (n[kKeys] + n[kPage]);
  // What a transposed tensor of one row and one column is, no stride says.
  const bool seen = n[kLayout] != kTransposed || (n[kDim] > 1 && n[kValueDim] > 1);
  const bool many = n[kQueries] >= 16 && (work >= 100 || n[kBatch] >= 8);
  const bool few = rows * n[kChunks] <= kMostRounds && (rows <= kMostRows || many);
  const bool pages = n[kPage] == 0 || n[kKeys] % n[kPage] == 0;
  return cut && pages && as_many && seen && few && !(n[kPacked] == 1 && n[kBias] == 1) &&
         rows * n[kKeys] * (n[kDim] + n[kValueDim]) <= most_products &&
         stored * std::max(n[kDim], n[kValueDim]) <= kMostElements &&
         rows * std::max({n[kDim], n[kValueDim], n[kBias] == 1 ? n[kKeys] : 1}) <= kMostElements;
}

Numbers plain_attention() {
  Numbers plain(kAttentionAxes, 0);
  plain[kBatch] = plain[kQueries] = 1;
  plain[kTiles] = plain[kKeys] = plain[kChunk] = plain[kChunks] = kUnset;
  plain[kDim] = plain[kValueDim] = 2;
  plain[kScale] = -1;
  return plain;
}

Numbers simplest_attention(const Levels& levels) {
  Numbers simplest = plain_attention();
  simplest[kBatch] = levels[kLengths] == kSomeEmpty ? 2 : 1;
  simplest[kTiles] = 1;
  if (levels[kTiles] == 1) {  // many of whatever is free
    constexpr Number kMany = 100;
    if (levels[kHeads] == kFree) {
      simplest[kHeads] = kOwnHeads;
    } else if (levels[kBatch] == kFree) {
      simplest[kBatch] = levels[kHeads] == kOneHead ? kMany : 2;
    } else {
      simplest[kQueries] = kMany * kTileQueries + 1;
    }
  }
  return simplest;
}

bool has_no_key(const Levels& levels) { return levels[kLengths] == kSomeEmpty && levels[kBatch] == 0; }

namespace {

Choice choose_attention(const Levels& levels, const Numbers& turns) {
  const Number most = most_products(levels);
  Choice choice = choose(dimensions(ProblemKind::attention), levels, simplest_attention(levels), turns,
                         [most](Numbers& numbers) { return attention_fits(numbers, most); });
  if (has_no_key(levels) && of_more_than_a_pair(levels)) choice.fits = false;
  return choice;
}

/// The first sequence has all of it, so that a level is what it says; others less, and where there are three now and then one
/// has none.
std::vector<std::int32_t> starts(Random& random, Number sequences, Number longest, bool may_be_empty) {
  std::vector<std::int32_t> start{0};
  for (Number s = 0; s < sequences; ++s) {
    const bool empty = s > 1 && may_be_empty && random.chance(0.1);
    const Number length = s == 0 ? longest : empty ? 0 : random.integer(std::min<Number>(1, longest), longest);
    start.push_back(start.back() + static_cast<std::int32_t>(length));
  }
  return start;
}

void put_lengths(AttentionProblem& p, Random& random, Number level, Number room) {
  if (level == kNoLengths) return;
  const Number empty = level == kSomeEmpty ? random.integer(p.sequences() > 1 ? 1 : 0, p.sequences() - 1) : -1;
  for (Number s = 0; s < p.sequences(); ++s) {
    const Number longest = p.k_start.empty() ? room : p.k_length(s);
    const Number least = s == 0 ? longest - 1 : 1;
    const Number length = random.integer(std::clamp<Number>(least, std::min<Number>(longest, 1), longest), longest);
    p.key_length.push_back(static_cast<std::int32_t>(s == empty ? 0 : length));
  }
}

/// A pool of a few pages more than are used, in any order, some for several sequences. Pages without a key point nowhere.
void put_pages(AttentionProblem& p, Random& random, Number per_sequence, Number pages) {
  const std::vector<std::int32_t> pool = draw_order(random, static_cast<int>(pages), 0, "random");
  const Number page = p.k.shape[2];
  for (Number entry = 0; entry < p.sequences() * per_sequence; ++entry) {
    const auto s = static_cast<std::size_t>(entry / per_sequence);
    const bool used = p.key_length.empty() || entry % per_sequence * page < p.key_length[s];
    p.page_table.push_back(used ? pool[static_cast<std::size_t>(entry)] : -7'000'000);
  }
  if (p.sequences() > 1 && random.chance(0.7)) share_pages(p, random);
}

Format key_format(Number level, Format of_q) {
  return level == kE4m3fn ? Format::e4m3fn : level == kE5m2 ? Format::e5m2 : of_q;
}

/// Powers of two for the numbers of q, of k and of their descale factor.
struct Exponents {
  int q, k, descale;
};

/// So that the scores are of size 1, or as near to that as the formats allow: q·k stays below the largest f32.
Exponents exponents(const AttentionProblem& p, int scale, bool descaled) {
  const auto most = [](Format format) {
    return format == Format::e4m3fn ? 6 : info(format).max_finite < 1e6 ? 12 : 59;
  };
  const auto root = static_cast<int>(std::bit_width(static_cast<unsigned>(p.head_dim()))) / 2;
  const int wanted = -scale - root, here = std::min(wanted, 118 - root);
  const int k = std::clamp(here / 2, p.k.format == Format::e4m3fn ? -4 : -most(p.k.format), most(p.k.format));
  const int q = std::clamp(here - k, -most(p.q.format), most(p.q.format));
  return {q, k, descaled ? std::clamp(wanted - k - q, -100, 100) : 0};
}

/// The whole exponent stands in the factor of q or in that of k.
void put_descale(AttentionProblem& p, Random& random, Number level, int exponent) {
  const auto factors = [&](int power) {
    Tensor result = Tensor::dense(Format::f32, {p.sequences(), p.k_heads()});
    for (Number i = 0; i < result.elements(); ++i) {
      result.set_bits(i, encode(Format::f32, random.uniform(0.5, 2) * pow2(power)));
    }
    return result;
  };
  const bool in_q = random.chance(0.5), both = random.chance(0.3);
  if ((level & 1) != 0 && (in_q || both)) p.q_descale = factors(in_q ? exponent : 0);
  if ((level & 1) != 0 && (!in_q || both)) p.k_descale = factors(in_q ? 0 : exponent);
  if ((level & 2) != 0) p.v_descale = factors(0);
}

void put_numbers(Problem& problem, Random& random, const Exponents& exponents) {
  auto& p = std::get<AttentionProblem>(problem);
  put_queries(p, random, pow2(exponents.q));
  put_keys(p, random, pow2(exponents.k));
  const double size = p.v.format == Format::e4m3fn ? 16 : 1;
  // The mean of n values of either sign is as small as 1/sqrt(n), and a bound for sums in any order grows as n: of long rows it
  // would excuse a row that is wrong by a hundredth.
  const bool one_signed = p.k_length() > 1024;  // by column: a fault may be one of negative sums
  put_values(problem, random, [=](Random& r, Number, Number column) {
    const double value = size * r.normal();
    return one_signed ? std::copysign(value, column % 2 == 0 ? 1 : -1) : value;
  });
  if (p.has_bias()) {
    put_bias(p, random, [](Random& r, const LogitSite&, std::span<double> logits) {
      for (double& logit : logits) logit = r.normal();
    });
  }
}

void require_own_keys(const CaseSpec& spec) {
  for (const char* key : {"kv_format", "descale"}) {
    if (spec.keys.contains(key)) {
      throw UsageError("key " + std::string(key) +
                       ": family pairs sets it by the seed, legal only for mixed_fp8 and descale");
    }
  }
}

struct Extents {
  Number b, hq, hk, sq, sk, d, dv;
};
Extents extents(const CaseSpec& spec, const Numbers& n) {
  const Heads heads = heads_for(n);
  const auto hq = integer_key(spec, "hq"), hk = integer_key(spec, "hk");
  Extents e{integer_key(spec, "b").value_or(n[kBatch]),
            hq.value_or(hk ? *hk * (heads.q / heads.k) : heads.q),
            hk.value_or(hq ? (heads.k < heads.q ? 1 : *hq) : heads.k),
            integer_key(spec, "sq").value_or(n[kQueries]),
            integer_key(spec, "sk").value_or(n[kKeys]),
            integer_key(spec, "d").value_or(n[kDim]),
            integer_key(spec, "dv").value_or(n[kValueDim])};
  if (e.hq % e.hk != 0) {
    throw UsageError("key hk: " + std::to_string(e.hk) + " must divide hq = " + std::to_string(e.hq));
  }
  require_product("sq", "b * hq * sq * d", {e.b, e.hq, e.sq, e.d});
  require_product("sq", "b * hq * sq * dv", {e.b, e.hq, e.sq, e.dv});
  require_product("sk", "b * hk * sk * d", {e.b, e.hk, e.sk + n[kPage], e.d});
  require_product("sk", "b * hk * sk * dv", {e.b, e.hk, e.sk + n[kPage], e.dv});
  require_product("sk", "b * hq * sq * sk", {e.b, e.hq, e.sq, e.sk});
  return e;
}

/// Storage, lengths and plan: everything of the problem but its numbers and features.
AttentionProblem shape(const CaseSpec& spec, const Numbers& n, Random& random) {
  constexpr std::string_view kNames[] = {"dense", "padded", "transposed"};
  const Extents e = extents(spec, n);
  const std::string layout = text_key(spec, "layout").value_or(std::string(kNames[n[kLayout]]));
  const Number pad = random.integer(1, 3);
  const Format format = *parse_format(text_key(spec, "format").value_or("f32"));
  const Format kv = key_format(n[kKeyFormat], format);
  const bool packed = n[kPacked] == 1;
  AttentionProblem p;
  if (packed) p.q_start = starts(random, e.b, e.sq, true);
  p.q = with_layout(layout, pad, format, {packed ? 1 : e.b, e.hq, packed ? p.q_start.back() : e.sq, e.d});
  const Number page = n[kPage];
  const Number per_sequence = page == 0 ? 0 : std::max<Number>((e.sk + page - 1) / page, 1);
  Number outer = e.b, length = e.sk;
  if (page > 0) {
    outer = e.b * per_sequence + random.integer(0, 2);
    length = page;
  } else if (packed) {
    p.k_start = starts(random, e.b, e.sk, n[kLengths] != kRagged);
    outer = 1;
    length = p.k_start.back() + random.integer(0, 2);
  }
  p.k = with_layout(layout, pad, kv, {outer, e.hk, length, e.d});
  p.v = with_layout(layout, pad, kv, {outer, e.hk, length, e.dv});
  const Number keys = page > 0 ? per_sequence * page : e.sk;
  if (n[kBias] == 1) p.bias = with_layout(layout, pad, Format::f32, {e.b, e.hq, e.sq, keys});
  // Keys of a sequence in pages are as many as its length says: of none, all that have room.
  put_lengths(p, random, n[kLengths], e.sk);
  if (page > 0) put_pages(p, random, per_sequence, outer);
  return p;
}

Problem make_attention(const CaseSpec& spec, const Numbers& n, Random& random) {
  require_own_keys(spec);
  Problem problem = shape(spec, n, random);
  auto& p = std::get<AttentionProblem>(problem);
  const bool chosen = spec.keys.contains("sk") || spec.keys.contains("chunk") || spec.keys.contains("order");
  if (chosen) {  // what the keys leave of the plan
    const Number longest = integer_key(spec, "chunk").value_or(n[kChunk]);
    p.plan.boundary = draw_boundaries(random, p.k_length(), longest, false);
    p.plan.order = draw_order(random, static_cast<int>(p.plan.boundary.size()) - 1, spec.seed, text_key(spec, "order"));
  } else {
    p.plan.boundary = boundaries(random, n[kKeys], n[kChunk], n[kChunks]);
    p.plan.order = order_of(random, static_cast<int>(p.plan.boundary.size()) - 1, n[kOrder]);
  }
  const auto exponent = static_cast<int>(n[kScale]);
  const double drawn = (n[kSign] == 1 ? -1 : 1) * pow2(exponent) * (exponent <= -126 ? 1 : random.uniform(1, 2));
  p.scale = static_cast<float>(round_to(Format::f32, number_key(spec, "scale").value_or(drawn)));
  p.causal = integer_key(spec, "causal").value_or(n[kCausal]) == 1;
  put_window(p, random, n[kWindow]);
  if (n[kSoftcap] == 1) family::put_softcap(p, random);
  if (n[kAlibi] == 1) family::put_alibi(p, random);
  if (n[kSink] == 1) family::put_sink(p, random, false);
  const Exponents powers = exponents(p, exponent, (n[kDescale] & 1) != 0);
  put_descale(p, random, n[kDescale], powers.descale);
  put_numbers(problem, random, powers);
  return problem;
}

}  // namespace

const Kind kAttentionKind{plain_attention, [](Numbers& n) { return attention_fits(n, kProducts); }, choose_attention,
                          make_attention};

}  // namespace flashproof::pairwise
