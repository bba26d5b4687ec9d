// Small witnesses for tests: at least one of each problem, together with every feature a file has to keep. The fuzz corpus
// and the Python test read the files that write_samples makes of them.
#pragma once

#include <map>
#include <string>

#include "reference/problem/witness/witness.h"

namespace flashproof {

Witness sample_softmax();       // f16, padded rows, a longer storage, row lengths, −inf and NaN, chunks out of order
Witness sample_merge();         // f32, concat, lse broadcast over the rows
Witness sample_merge_states();  // bf16, un-normalised states, strided l, one of them empty, a tree of joins
Witness sample_attention();  // bf16, transposed heads, kv broadcast over the batch, bias, causal, lengths, scale 0.1f
Witness sample_packed();     // f16, packed with empty sequences, window, softcap, slopes for all sequences, sinks
Witness sample_paged();      // f32, pages shared and unused, unused table entries, lengths, bias, right window
Witness sample_descaled();   // descale factors, and keys of 8 bits beside a query of 16
Witness sample_backward();   // f16 with o in f32, gaps in k and o, transposed lse, slopes, window, mode gradient

/// File name without extension -> witness: softmax, merge, merge_states, attention, attention_packed, attention_paged,
/// attention_descaled, attention_backward.
std::map<std::string, Witness> samples();

}  // namespace flashproof
