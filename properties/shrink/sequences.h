// Fewer sequences and pages of a problem: several sequences may read one page.
#pragma once

#include <cstdint>
#include <span>

#include "reference/problem/problems.h"

namespace flashproof {

/// Sequence s of a packed or paged problem, or of a batch, as a plain problem of one, with this plan.
AttentionProblem one_sequence(const AttentionProblem& p, std::int64_t s, ChunkPlan plan);
/// Some sequences of a batch. Of pages all stay: what several sequences share they still share.
void keep_sequences(AttentionProblem& p, std::span<const std::int64_t> kept);
void keep_sequences(BackwardProblem& p, std::span<const std::int64_t> kept);
/// Of every sequence the first so many pages, with this plan.
void keep_first_pages(AttentionProblem& p, std::int64_t pages, ChunkPlan plan);
/// The pages that hold a key of some sequence, in the order of storage.
void keep_used_pages(AttentionProblem& p);

}  // namespace flashproof
