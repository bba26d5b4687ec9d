#include "kernels/thresholds.h"

#include <vector>

// A namespace of its own: nothing of the headers is launched here.
#undef FP_EXECUTOR
#define FP_EXECUTOR sizes
#include "kernels/attention/parts/mma_tile.h"
#include "kernels/attention/parts/split_kv_layout.h"
#include "kernels/attention/parts/tile.h"
#include "kernels/attention_backward/tile.h"
#include "kernels/merge/row_group.h"
#include "kernels/softmax/fused_row.h"
#include "kernels/softmax/online_block.h"
#include "kernels/softmax/online_element.h"
#include "kernels/softmax/parts/whole_row.h"
#include "kernels/softmax/split_row.h"
#include "kernels/softmax/warp_per_row.h"

namespace flashproof {
namespace {

using namespace sizes;

constexpr std::string_view kVectorWhat = "numbers of 16 bytes";
constexpr std::string_view kThreadsWhat = "a column per thread";
constexpr std::string_view kLimitWhat = "the most that is taken";
constexpr int kVector32 = kVector<Format::f32>, kVector16 = kVector<Format::f16>;
constexpr int kPiece32 = kPieceElements<Format::f32>, kPiece16 = kPieceElements<Format::f16>;
constexpr int kWarp = 32;

// By exclusion a glob cannot say it: the kernels of attention/parts/tile.h.
constexpr std::string_view kTiled[] = {"attention.deferred.*",       "attention.fused.*",
                                       "attention.lse_running.*",    "attention.online_chunk.*",
                                       "attention.online_chunk_*",   "attention.online_element.*",
                                       "attention.paged.*",          "attention.recap_normalized.*",
                                       "attention.subtract_scale.*", "attention.three_stage.*"};
constexpr Threshold kOfTiles[] = {
    {{}, "queries", kTileRows, "a tile"},          {{}, "longest chunk", kRowLanes, "a key per lane"},
    {{}, "longest chunk", kMaxTileKeys, "a tile"}, {{}, "d", kVector32, kVectorWhat},
    {{}, "d", sizes::kMaxHeadDim, kLimitWhat},     {{}, "dv", kVector32, kVectorWhat},
    {{}, "dv", sizes::kMaxValueDim, kLimitWhat},
};

constexpr Threshold kOthers[] = {

    // softmax: a row to a block of threads
    {"softmax.naive.*", "columns", kRowThreads, kThreadsWhat},
    {"softmax.safe.*", "columns", kRowThreads, kThreadsWhat},
    {"softmax.eager_safe.*", "columns", kRowThreads, kThreadsWhat},
    {"softmax.lse_*", "columns", kRowThreads, kThreadsWhat},
    {"softmax.three_pass.*", "columns", kRowThreads, kThreadsWhat},
    {"softmax.online_two_pass.*", "columns", kRowThreads, kThreadsWhat},
    {"softmax.online_chunk.*", "longest chunk", kRowThreads, kThreadsWhat},
    {"softmax.merge_*", "longest chunk", kWarp, kThreadsWhat},
    {"softmax.merge_*", "columns", kRowThreads, kThreadsWhat},
    {"softmax.online_block.*", "columns", kOnlineBlockThreads, kThreadsWhat},
    {"softmax.online_block.*", "columns", std::int64_t{kOnlineBlockThreads} * kOnlineBlockPerThread, kLimitWhat},
    {"softmax.split_row.*", "longest chunk", kSplitRowThreads, kThreadsWhat},
    {"softmax.split_row.*", "longest chunk", std::int64_t{kSplitRowThreads} * kVector32, "a vector per thread", 32},
    {"softmax.split_row.*", "longest chunk", std::int64_t{kSplitRowThreads} * kVector16, "a vector per thread", 16},
    {"softmax.split_row.*", "columns", kVector32, kVectorWhat, 32},
    {"softmax.split_row.*", "columns", kVector16, kVectorWhat, 16},
    {"softmax.fused_row.*", "columns", kVector32, kVectorWhat, 32},
    {"softmax.fused_row.*", "columns", kVector16, kVectorWhat, 16},
    {"softmax.fused_row.*", "columns", kWarp* kFusedColumns, "a warp"},
    {"softmax.fused_row.*", "columns", kFusedThreads* kFusedColumns, "16 columns of a thread"},
    {"softmax.fused_row.*", "columns", kFusedThreads * 2 * kFusedColumns, "32 columns of a thread"},
    {"softmax.fused_row.*", "columns", kFusedLongest16, kLimitWhat, 16},
    // to a warp, to a thread
    {"softmax.warp_per_row.*", "columns", kWarpColumns / 4, "vectors of a lane"},
    {"softmax.warp_per_row.*", "columns", kWarpColumns / 2, "vectors of a lane"},
    {"softmax.warp_per_row.*", "columns", kWarpColumns, kLimitWhat},
    {"softmax.warp_per_row.*", "rows", kWarpRows, "a block"},
    {"softmax.online_element.*", "rows", kElementRows, "a block"},
    // merges: lanes side by side on a row
    {"merge.*", "dv", kPiece32, kVectorWhat, 32},
    {"merge.*", "dv", kPiece16, kVectorWhat, 16},
    {"merge.*", "dv", kWarp* kPiece32, "a row of 32 lanes", 32},
    {"merge.*", "dv", kWarp* kPiece16, "a row of 32 lanes", 16},
    {"merge.*", "rows", kMergeThreads / kWarp, "a block, 32 lanes a row"},
    {"merge.*", "rows", kMergeThreads, "a block, one lane a row"},
    {"merge.*.hardened", "states", kMergeMaxStates, kLimitWhat},
    {"merge.ring_update.*", "states", kMergeMaxStates, kLimitWhat},
    // a block per query, four parts
    {"attention.split_kv*", "chunks", kParts, "a chunk per part"},
    {"attention.split_kv*", "longest chunk", kKeyGroups, "a key per group of lanes"},
    {"attention.split_kv*", "d", kSetColumns, "a set of columns"},
    {"attention.split_kv*", "d", 2 * kSetColumns, "two sets of columns"},
    {"attention.split_kv*", "dv", kSetColumns, "a set of columns"},
    {"attention.split_kv*", "dv", 2 * kSetColumns, "two sets of columns"},
    // matrix units
    {"attention.mma_*", "queries", kMmaRows, "a warp"},
    {"attention.mma_*", "queries", kMmaRows* kMmaWarps, "a block"},
    {"attention.mma_*", "longest chunk", kMmaGroup, "a step of the unit"},
    {"attention.mma_*", "longest chunk", kMmaKeys, "a tile"},
    {"attention.mma_*", "d", kPiece, kVectorWhat},
    {"attention.mma_*", "d", kMmaGroup, "a step of the unit"},
    {"attention.mma_*", "d", 64, "a form of its own"},
    {"attention.mma_*", "d", 128, "a form of its own"},
    {"attention.mma_*", "d", kMmaMaxDim, kLimitWhat},
    {"attention.mma_*", "dv", kMmaGroup, "a step of the unit"},
    {"attention.mma_*", "dv", kMmaMaxDim, kLimitWhat},
    // gradients: tiles of queries by keys, groups of columns for the wider of d and dv
    {"attention_backward.*", "queries", backward::kTile, "a tile"},
    {"attention_backward.*", "keys", backward::kTile, "a tile"},
    {"attention_backward.*", "d", kVector32, kVectorWhat},
    {"attention_backward.*", "d", backward::kGroupColumns, "a group of columns"},
    {"attention_backward.*", "d", backward::kFewColumns, "four groups of columns"},
    {"attention_backward.*", "d", backward::kMaxDim, kLimitWhat},
    {"attention_backward.*", "dv", kVector32, kVectorWhat},
    {"attention_backward.*", "dv", kRowLanes, "a column per lane of D"},
    {"attention_backward.*", "dv", backward::kGroupColumns, "a group of columns"},
    {"attention_backward.*", "dv", backward::kFewColumns, "four groups of columns"},
    {"attention_backward.*", "dv", backward::kMaxDim, kLimitWhat},
};

}  // namespace

std::span<const Threshold> thresholds() {
  static const std::vector<Threshold> all = [] {
    std::vector<Threshold> list(std::begin(kOthers), std::end(kOthers));
    for (const std::string_view kernel : kTiled) {
      for (Threshold of : kOfTiles) {
        of.kernels = kernel;
        list.push_back(of);
      }
    }
    return list;
  }();
  return all;
}

}  // namespace flashproof
