// The block that every command which judges kernels shows: the verdict in one sentence, what was tested and how much of it
// was decided, what was found by cause, and where the rest is. At most kBlockLines lines of at most kBlockColumns columns,
// whatever was found; a command that is longer than a line goes on in the next, behind a backslash, so that it can be pasted. Only a
// single word of a command, as a path, may be longer than a line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "reports/views/terminal/colour.h"

namespace flashproof {

inline constexpr std::size_t kBlockLines = 60, kBlockColumns = 100;

/// undecided: nothing failed, and too little was decided to call it a pass. partial: interrupted or given up. none: only kernels
/// were run that may fail.
enum class BlockOutcome : std::uint8_t { pass, fail, undecided, partial, none };

/// Findings with one cause.
struct CauseEntry {
  std::string sentence;  // what is wrong, and where
  std::string extent;    // how much is behind it
  std::string replay;    // the command that shows the smallest case again; empty: there is none
};

/// A line or two under a heading of one word.
struct BlockNote {
  std::string heading, text;
};

struct VerdictBlock {
  BlockOutcome outcome = BlockOutcome::pass;
  std::string sentence;            // behind the word of the outcome
  std::vector<BlockNote> tested;   // what was tested, how much was decided
  std::vector<CauseEntry> causes;  // the most important first
  std::vector<BlockNote> notes;    // what is not tested, undecided, expected or worth a look
  std::vector<BlockNote> rest;     // files, options
  std::string more = "--verbose";  // what shows the causes and notes that did not fit
  std::string_view word = {};      // in place of the outcome's own, PASS or FAIL: "WORSE"; a literal
};

/// Lines, each ended. What does not fit is counted: "3 more causes".
std::string block_text(const VerdictBlock& block, Colour colour);

/// The block on stdout, with what --verbose adds (lines, each ended; empty: nothing). On a terminal the block comes first: who
/// scrolls back to the command sees the verdict. Elsewhere it comes last, where `tail` looks.
void show_block(const VerdictBlock& block, const std::string& detail);

}  // namespace flashproof
