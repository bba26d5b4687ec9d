// Plants in q, k, v and bias. What is planted in k or v lies in a slot of storage, and a slot may be a key of several sequences, which
// share its page, and hold several plants then: those of all of them. A row sees what lies in the slots of the keys that it sees,
// whichever of them it was planted for: a NaN in k of one makes the row NaN; one in v its column, and several in one slot so many columns; of a slot
// that is a key of its sequence, but hidden from it, a kernel that isolates hidden keys leaves nothing in the row; of one that is no key
// of its sequence no kernel does, as of any storage that belongs to no key.

#include "properties/laws/support/change.h"
#include "properties/laws/support/plant.h"
#include "properties/laws/support/plant_places.h"
#include "reference/problem/special_values.h"

namespace flashproof {
namespace {

/// Of an element of a dense tensor.
std::vector<std::int64_t> index_of(const Tensor& tensor, std::int64_t offset) {
  std::vector<std::int64_t> index;
  for (std::size_t axis = 0; axis < tensor.shape.size(); ++axis) {
    const std::int64_t stride = tensor.stride[axis];
    index.push_back(tensor.shape[axis] == 1 || stride == 0 ? 0 : offset / stride % tensor.shape[axis]);
  }
  return index;
}

/// Where NaN was planted, and in what: the index of the plant; −1: none.
struct Places {
  std::vector<std::int32_t> q;               // by row of the output: a row of it is a row of q
  std::vector<std::int32_t> k;               // by slot of dense k: the latest
  std::vector<std::vector<std::int32_t>> v;  // by slot of dense v: all of them; the last of an index is the column
  std::vector<std::int32_t> bias;            // by row
};

class Planter {
 public:
  Planter(const AttentionProblem& given, Planted& result, Random& random)
      : from_(given), result_(result), to_(std::get<AttentionProblem>(result.problem)), random_(random) {
    const auto slots = static_cast<std::size_t>(from_.k.elements() / from_.head_dim());
    places_ = {std::vector<std::int32_t>(result.lse.size(), -1), std::vector<std::int32_t>(slots, -1),
               std::vector<std::vector<std::int32_t>>(slots), std::vector<std::int32_t>(result.lse.size(), -1)};
  }

  /// Into sequence s and the query heads of one kv head.
  void plant(int which, std::int64_t s, std::int64_t kv) {
    const std::int64_t group = from_.q_heads() / from_.k_heads();
    if (from_.q_length(s) == 0) return;
    if (which >= 4 && !from_.has_bias()) which -= 4;
    // The keys of a drawn row: what is planted is seen, if the row sees anything.
    const std::int64_t row = random_.integer(0, from_.q_length(s) - 1);
    const auto seen = from_.visible_keys(s, row);
    if (seen.first >= seen.last) return;
    const std::int64_t key = one_of({seen.first, seen.last}, random_);
    if (which == 1) plant_k(s, kv, {key, key + 1});
    if (which == 2) {
      plant_k(s, kv, chunk_in({seen.first, seen.last}, from_.plan, random_));
    }
    if (which == 3) {
      const std::int64_t column = random_.integer(0, from_.value_dim() - 1);
      places_.v[slot(s, kv, key)].push_back(plant_nan("v", to_.v, from_.v_offset(s, kv, key) + column));
    }
    for (std::int64_t h = kv * group; h < (kv + 1) * group; ++h) {
      if (which == 0) {
        const std::int64_t c = random_.integer(0, from_.head_dim() - 1);
        places_.q[static_cast<std::size_t>(from_.output_row(s, h, row))] =
            plant_nan("q", to_.q, from_.q_offset(s, h, row) + c);
      }
      if (which >= 4) plant_bias(s, h, row, which == 5);
    }
  }

  void expect(bool isolates, std::span<const std::uint8_t> in_domain) const {
    Planted& result = result_;
    const std::vector<std::uint8_t> ordinary = ordinary_rows(from_);
    for_each_query(to_, [&](std::int64_t s, std::int64_t h, std::int64_t i, std::int64_t row) {
      const auto r = static_cast<std::size_t>(row);
      const std::int64_t kv = to_.kv_head(h), width = to_.value_dim();
      const auto seen = to_.visible_keys(s, i);
      bool sees_any = false, hides_one = false;
      std::int32_t nan = places_.bias[r];
      std::vector<std::int32_t> values;
      for (std::int64_t j = 0; j < to_.visible_length(s); ++j) {
        const std::size_t at = slot(s, kv, j);
        if (j < seen.first || j >= seen.last || to_.hidden_by_bias(s, h, i, j)) {
          hides_one = hides_one || places_.k[at] >= 0 || !places_.v[at].empty();
          continue;
        }
        sees_any = true;
        if (nan < 0) nan = places_.k[at];
        values.insert(values.end(), places_.v[at].begin(), places_.v[at].end());
      }
      if (nan < 0 && sees_any) nan = places_.q[r];
      if (nan >= 0) {
        result.set_row(row, Expect::nan);
        result.seen[r] = nan;
      } else if (hides_one && !isolates) {
        result.set_row(row, Expect::free);
      } else {
        // Beside numbers that are not ordinary the key's score may be −inf, and so it may in a row that is out of domain:
        // its value is not looked at then.
        for (const std::int32_t plant : values) {
          result.seen[r] = plant;
          const std::int64_t c = result.plants[static_cast<std::size_t>(plant)].index.back();
          result.o[r * static_cast<std::size_t>(width) + static_cast<std::size_t>(c)] =
              ordinary[r] != 0 && in_domain[r] != 0 ? Expect::nan : Expect::free;
        }
      }
    });
  }

 private:
  std::size_t slot(std::int64_t s, std::int64_t kv, std::int64_t j) const {
    return static_cast<std::size_t>(from_.k_offset(s, kv, j) / from_.head_dim());
  }

  std::int32_t plant_nan(std::string_view name, Tensor& tensor, std::int64_t offset) {
    plant_at(tensor, offset, kNan);
    return result_.note({name, index_of(tensor, offset), kNan});
  }

  void plant_k(std::int64_t s, std::int64_t kv, KeyRange keys) {
    for (std::int64_t key = keys.first; key < keys.end; ++key) {
      const std::int64_t c = random_.integer(0, from_.head_dim() - 1);
      places_.k[slot(s, kv, key)] = plant_nan("k", to_.k, from_.k_offset(s, kv, key) + c);
    }
  }

  /// Rows that lie an even number from `row`.
  void plant_bias(std::int64_t s, std::int64_t h, std::int64_t row, bool infinite) {
    for (std::int64_t i = row % 2; i < from_.q_length(s); i += 2) {
      const auto seen = from_.visible_keys(s, i);
      if (seen.first >= seen.last) continue;
      const std::int64_t key = one_of({seen.first, seen.last}, random_);
      for (std::int64_t j = seen.first; !infinite && j < seen.last; ++j) to_.bias.set({s, h, i, j}, -kInfinity);
      plant_at(to_.bias, to_.bias.offset({s, h, i, key}), infinite ? kInfinity : kNan);
      places_.bias[static_cast<std::size_t>(from_.output_row(s, h, i))] =
          result_.note({"bias", {s, h, i, key}, infinite ? kInfinity : kNan, 1, !infinite});
    }
  }

  const AttentionProblem& from_;
  Planted& result_;
  AttentionProblem& to_;
  Random& random_;
  Places places_;
};

}  // namespace

Planted planted(const AttentionProblem& p, std::int64_t turn, Random& random, bool isolates,
                std::span<const std::uint8_t> in_domain) {
  Planted result(p, output_shape(p));
  Planter planter(p, result, random);
  for (std::int64_t s = 0; s < p.sequences(); ++s) {
    for (std::int64_t kv = 0; kv < p.k_heads(); ++kv) {
      planter.plant(static_cast<int>((s * p.k_heads() + kv + turn) % kPlants), s, kv);
    }
  }
  planter.expect(isolates, in_domain);
  return result;
}

}  // namespace flashproof
