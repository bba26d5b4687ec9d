// Some thousand corrupted witnesses, made from the samples by fixed rules. Each must read as a valid problem or be
// refused with one line. Compiled, with the sources it tests, under AddressSanitizer and UndefinedBehaviorSanitizer
// whatever the rest of the build uses; a single allocation beyond 64 MiB, which no file here justifies, stops the test
// as well.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "reference/problem/random.h"
#include "reference/problem/witness/safetensors.h"
#include "reference/problem/witness/samples.h"
#include "reference/system/error.h"
#include "reference/system/text.h"

extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() { return "max_allocation_size_mb=64:allocator_may_return_null=0"; }

namespace flashproof {
namespace {

using Bytes = std::vector<std::byte>;

/// What became of the files of one test.
struct ReaderOutcomes {
  int accepted = 0;
  int refused = 0;
  std::set<std::string> messages;  // with digits dropped: how many different complaints

  /// Reads a corrupted file; returns the complaint without the name, or "" if it is a valid witness.
  std::string read(const Bytes& bytes) {
    try {
      const Witness witness = parse_witness(bytes, "file");
      validate(witness.content.problem);
      EXPECT_EQ(parse_witness(format_witness(witness), "again"), witness) << "what is accepted can be kept";
      ++accepted;
      return "";
    } catch (const UsageError& error) {
      const std::string message = error.what();
      EXPECT_EQ(message, printable(message, 2000)) << "one printable line";
      EXPECT_THAT(message, testing::StartsWith("file: "));
      EXPECT_LT(message.size(), 400U);
      ++refused;
      std::string kind;
      for (char c : message) {
        if (c < '0' || c > '9') kind += c;
      }
      messages.insert(kind);
      return message.substr(6);
    }
  }
};

std::string header_of(const Bytes& bytes) {
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), 8);
  return {reinterpret_cast<const char*>(bytes.data()) + 8, length};
}

/// The same data behind another header, with its true length.
Bytes with_header(const Bytes& bytes, const std::string& header) {
  const std::uint64_t length = header.size();
  Bytes result(8 + header.size());
  std::memcpy(result.data(), &length, 8);
  std::memcpy(result.data() + 8, header.data(), header.size());
  result.insert(result.end(), bytes.begin() + 8 + static_cast<std::ptrdiff_t>(header_of(bytes).size()), bytes.end());
  return result;
}

/// One replacement in the header of a sample; `from` must occur.
Bytes edited(const Witness& witness, const std::string& from, const std::string& to) {
  const Bytes bytes = format_witness(witness);
  std::string header = header_of(bytes);
  const std::size_t at = header.find(from);
  if (at == std::string::npos) ADD_FAILURE() << "no " << from << " in " << header;
  return with_header(bytes, header.replace(at, from.size(), to));
}

TEST(Corruption, EveryTruncation) {
  for (const auto& [name, witness] : samples()) {
    const Bytes bytes = format_witness(witness);
    ReaderOutcomes tally;
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      tally.read(Bytes(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)));
    }
    EXPECT_EQ(tally.accepted, 0) << name;
    EXPECT_GE(tally.refused, 300);
    EXPECT_GE(tally.messages.size(), 3U) << "short, lying header, missing data";
  }
}

TEST(Corruption, EveryHeaderByteFlipped) {
  for (const auto& [name, witness] : samples()) {
    const Bytes bytes = format_witness(witness);
    ReaderOutcomes tally;
    for (std::size_t at = 0; at < 8 + header_of(bytes).size(); ++at) {
      for (int mask : {0x01, 0x02, 0x10, 0x20, 0x80, 0xff}) {
        Bytes bad = bytes;
        bad[at] ^= static_cast<std::byte>(mask);
        tally.read(bad);
      }
    }
    EXPECT_GE(tally.refused, 1000) << name;
    EXPECT_GE(tally.accepted, 10) << "a letter of the family changed is another valid witness";
    EXPECT_GE(tally.messages.size(), 30U);
  }
}

// Data bytes carry no structure, except that elements which share storage must agree, and that l has no sign.
TEST(Corruption, EveryDataByteFlipped) {
  for (const auto& [name, witness] : samples()) {
    const Bytes bytes = format_witness(witness);
    ReaderOutcomes tally;
    for (std::size_t at = 8 + header_of(bytes).size(); at < bytes.size(); ++at) {
      Bytes bad = bytes;
      bad[at] ^= std::byte{0xff};
      const std::string complaint = tally.read(bad);
      EXPECT_TRUE(complaint.empty() || complaint.find("share storage") != std::string::npos ||
                  complaint.find("must be 0 or more, or NaN, where lse is not -inf") != std::string::npos)
          << complaint;
    }
    EXPECT_GT(tally.accepted, 0) << name;
    const bool broadcasts = name != "softmax" && name != "attention_backward";  // the samples of these share no storage
    EXPECT_EQ(tally.refused > 0, broadcasts) << name;
  }
}

TEST(Corruption, LyingHeaderLengths) {
  const Bytes bytes = format_witness(sample_attention());
  ReaderOutcomes tally;
  std::vector<std::uint64_t> lies = {0, 1, 2, 7, 8, bytes.size() - 8, bytes.size() - 7, bytes.size(), kMaxHeaderBytes};
  for (int bit = 0; bit < 64; ++bit) {
    lies.push_back(std::uint64_t{1} << bit);
    lies.push_back(~std::uint64_t{0} << bit);
    lies.push_back(header_of(bytes).size() ^ (std::uint64_t{1} << bit));
  }
  for (std::uint64_t lie : lies) {
    Bytes bad = bytes;
    std::memcpy(bad.data(), &lie, 8);
    EXPECT_NE(tally.read(bad), "") << lie;
  }
  EXPECT_GE(tally.refused, 200);
}

TEST(Corruption, RandomBytes) {
  Random random(5, 5);
  ReaderOutcomes tally;
  const Bytes base = format_witness(sample_softmax());
  for (int i = 0; i < 400; ++i) {
    Bytes bad(static_cast<std::size_t>(random.integer(0, 200)));
    for (std::byte& b : bad) b = static_cast<std::byte>(random.next_u32());
    tally.read(bad);
    bad = base;
    for (int k = 0; k < 4; ++k) {
      bad[static_cast<std::size_t>(random.integer(8, static_cast<std::int64_t>(bad.size()) - 1))] =
          static_cast<std::byte>(random.next_u32());
    }
    tally.read(bad);
  }
  EXPECT_EQ(tally.accepted + tally.refused, 800);
  EXPECT_GE(tally.refused, 600);
}

struct Edit {
  Witness (*sample)();
  std::string from;
  std::string to;
  std::string complaint;
};

// Each edit tells one lie and must be refused for that reason.
TEST(Corruption, EditedFields) {
  const auto softmax = sample_softmax;
  const auto merge = sample_merge;
  const auto states = sample_merge_states;
  const auto attention = sample_attention;
  const auto packed = sample_packed;
  const auto paged = sample_paged;
  const std::string deep(100'000, '[');
  std::string deep_objects;
  for (int i = 0; i < 100'000; ++i) deep_objects += R"({"a":)";
  const std::string shape = R"("shape":[3,5])", offsets = R"("data_offsets":[0,30])", x = R"("x":{)";
  const std::string o_offsets = R"("data_offsets":[24,120])", lse_offsets = R"("data_offsets":[0,24])";
  const Edit edits[] = {
      // JSON itself
      {softmax, R"({"__metadata__")", deep_objects, "nested deeper than 3"},
      {softmax, shape, R"("shape":)" + deep, "nested deeper than 3"},
      {softmax, shape, R"("shape":[[3,5]])", "nested deeper than 3"},
      {softmax, "}}", "}", "not JSON"},
      {softmax, "}}", "}}}", "not JSON"},
      {softmax, "}}", "}}x", "not JSON"},
      {softmax, "}}", std::string("}}\0", 3), "not JSON"},
      {softmax, "}}", "},}", "not JSON"},
      {softmax, "{", "\xef\xbb\xbf{", "must begin with {"},
      {softmax, "{", " {", "must begin with {"},
      {softmax, "{", "[{", "must begin with {"},
      {softmax, shape, R"("shape":[3,NaN])", "not JSON"},
      {softmax, shape, R"("shape":[3,05])", "not JSON"},
      {softmax, "sample", "\xff\xfe", "not JSON"},
      {softmax, "sample", "\\ud800", "not JSON"},
      {softmax, shape, R"("shape":[3,1e999])", "beyond the range of a double"},
      {softmax, x, R"("x":1,"x":{)", R"(key "x" is given twice)"},
      {softmax, R"("problem")", R"("problem":"softmax","problem")", R"(key "problem" is given twice)"},
      {softmax, shape, shape + "," + shape, R"(key "shape" is given twice)"},
      // the container
      {softmax, R"("__metadata__")", R"("__metadata_")", "must have exactly dtype, shape and data_offsets"},
      {softmax, R"("plan.order":"1,0")", R"("plan.order":10)", R"("plan.order": must be a string)"},
      {softmax, x, R"("x":null,"y":{)", R"(tensor "x": must have exactly)"},
      {softmax, x, R"("x":{"extra":0,)", R"(tensor "x": must have exactly)"},
      {softmax, R"("dtype":"F16")", R"("dtype":"I32")", R"(tensor "x": dtype must be F64)"},
      {softmax, R"("dtype":"F16")", R"("dtype":16)", "dtype must be"},
      {softmax, shape, R"("shape":[])", "shape: must be a list of 1..8 integers"},
      {softmax, shape, R"("shape":[1,1,1,1,1,1,1,3,5])", "shape: must be a list of 1..8 integers"},
      {softmax, shape, R"("shape":"3,5")", "shape: must be a list"},
      {softmax, shape, R"("shape":[3,-5])", "shape: every item must be an integer"},
      {softmax, shape, R"("shape":[3,5.0])", "shape: every item must be an integer"},
      {softmax, shape, R"("shape":[3,true])", "shape: every item must be an integer"},
      {softmax, shape, R"("shape":[3,18446744073709551615])", "shape: every item must be an integer"},
      {softmax, shape, R"("shape":[3,18446744073709551621])", "shape: every item must be an integer"},
      {softmax, shape, R"("shape":[4611686018427387904,4611686018427387904])", "must be below 2^63"},
      {softmax, shape, R"("shape":[4294967296,4294967296])", "must be below 2^63"},
      {softmax, shape, R"("shape":[5,3,1])", "2 numbers for 3 axes"},
      {softmax, shape, R"("shape":[3,6])", "must span the 36 bytes of its shape"},
      {softmax, offsets, R"("data_offsets":[0,30,30])", "must be a list of 2..2 integers"},
      {softmax, offsets, R"("data_offsets":[-2,28])", "every item must be an integer"},
      {softmax, offsets, R"("data_offsets":[30,0])", "must span the 30 bytes"},
      {softmax, offsets, R"("data_offsets":[2,32])", "must begin at 0"},
      {softmax, offsets, R"("data_offsets":[4611686018427387874,4611686018427387904])", "must begin at 0"},
      {merge, lse_offsets, R"("data_offsets":[4,28])", "must begin at 0"},
      {merge, o_offsets, R"("data_offsets":[23,119])", "must begin at 24"},
      {merge, o_offsets, R"("data_offsets":[0,96])", "must begin at 24"},
      {merge, o_offsets, R"("data_offsets":[28,124])", "must begin at 24"},
      {merge, R"("shape":[2,3]})", R"("shape":[2,2]})", "must span the 16 bytes"},
      // the witness
      {softmax, "witness 1", "witness 2", R"(flashproof: "witness 2" must be "witness 1")"},
      {softmax, R"("flashproof")", R"("flashprof")", "no flashproof"},
      {softmax, "softmax:sample", "softmin:sample", "must be softmax, merge, attention or attention_backward"},
      {softmax, "softmax:sample", "merge:sample", "must be that of the case, merge"},
      {softmax, "cols=5", "cols=", "must have a value"},
      {softmax, R"("problem":"softmax")", R"("problem":"merge")", "must be that of the case, softmax"},
      {softmax, x, R"("y":{)", "tensor x: missing"},
      {softmax, R"("stride.x")", R"("stride.y")", "no stride.x"},
      {softmax, R"("stride.x":"8,1")", R"("stride.x":"8;1")", "must be a list like"},
      {softmax, R"("stride.x":"8,1")", R"("stride.x":"-8,1")", "must be a list like"},
      {softmax, R"("stride.x":"8,1")", R"("stride.x":"8")", "1 numbers for 2 axes"},
      {softmax, R"("stride.x":"8,1")", R"("stride.x":"10,1")", "48 bytes, must be at least 50"},
      {softmax, R"("stride.x":"8,1")", R"("stride.x":"4611686018427387904,1")", "must be below 2^63"},
      {softmax, R"("stride.x":"8,1")", R"("stride.x":"0,0")", "share storage"},
      {softmax, R"("storage.x":"48")", R"("storage.x":"47")", "a multiple of 2"},
      {softmax, R"("storage.x":"48")", R"("storage.x":"1073741826")", "may take 1073741824 bytes at most"},
      {softmax, R"("storage.x":"48")", R"("storage.x":"9223372036854775807")", "may take 1073741824 bytes at most"},
      {softmax, R"("storage.x":"48")", R"("storage.x":"1e9")", "must be a number of bytes"},
      {softmax, R"("row_length":"5,0,2")", R"("row_length":"5,0,6")", "row_length[2]: 6, must be 0..5"},
      {softmax, R"("row_length":"5,0,2")", R"("row_length":"5,0,4294967296")", "must be 0..2^31-1"},
      {softmax, R"("row_length":"5,0,2")", R"("row_length":"5,0,nan")", "must be a list like"},
      {softmax, R"("plan.boundary":"0,2,5")", R"("plan.boundary":"0,5,5")", "plan.boundary[2]: 5"},
      {softmax, R"("plan.order":"1,0")", R"("plan.order":"1,1")", "must be a permutation of 0..1"},
      {softmax, R"("problem")", R"("causal":"true","problem")", R"(unknown field "causal")"},
      {softmax, "note.kernel", "note.Kernel", "note \"Kernel\": must be"},
      {merge, R"("lse":{)", R"("lsd":{)", "tensor lse: missing"},
      {merge, R"("form":"concat")", R"("form":"product")", "must be sum or concat"},
      {merge, R"("order":"1,0")", R"("order":"")", "order: 0 entries, must be 2"},
      {merge, R"("o":{)", R"("a":{"data_offsets":[0,0],"dtype":"F32","shape":[0]},"o":{)",
       R"(tensor "a": not part of this problem)"},
      {states, R"("joins":"3,1,0,2,5,4")", R"("joins":"3,1,0,2,5")", "joins: 5 nodes, must be two for each"},
      {states, R"("joins":"3,1,0,2,5,4")", R"("joins":"3,1,0,2")", "joins: 2 joins, must be none or 3"},
      {states, R"("joins":"3,1,0,2,5,4")", R"("joins":"3,1,0,2,5,5")", "joins[2]: node 5 is used twice"},
      {states, R"("joins":"3,1,0,2,5,4")", R"("joins":"3,1,0,2,6,4")", "joins[2]: node 6, must be 0..5"},
      {states, R"("joins":"3,1,0,2,5,4")", R"("joins":"3,-1,0,2,5,4")", "must be a list like"},
      {states, R"("joins":"3,1,0,2,5,4")", R"("joins":"3,2147483648,0,2,5,4")", "must be 0..2^31-1"},
      {states, R"("l":{)", R"("m":{)", "unknown field \"storage.l\""},
      {states, R"("stride.l":"3,0")", R"("stride.l":"1,0,0")", "3 numbers for 2 axes"},
      {states, R"("order")", R"("plan.order":"0","order")", R"(unknown field "plan.order")"},
      {softmax, R"("problem")", R"("joins":"0,1","problem")", R"(unknown field "joins")"},
      {attention, R"("bias":{)", R"("mask":{)", "unknown field \"storage.bias\""},
      {attention, R"("causal":"true")", R"("causal":"yes")", "must be true or false"},
      {attention, R"("scale":"0x1.99999ap-4")", R"("scale":"0x1.999999p-4")", "must be a finite f32"},
      {attention, R"("scale":"0x1.99999ap-4")", R"("scale":"nan")", "must be a finite f32"},
      {attention, R"("scale":"0x1.99999ap-4")", R"("scale":"0xinf")", "must be a finite f32"},
      {attention, R"("scale":"0x1.99999ap-4")", R"("scale":"0x-1p0")", "must be a finite f32"},
      {attention, R"("scale":"0x1.99999ap-4")", R"("scale":"0x1p999999999")", "must be a finite f32"},
      {attention, R"("scale":"0x1.99999ap-4")", R"("scale":"0x1p-200")", "must be a finite f32"},
      {attention, R"("scale":"0x1.99999ap-4")", R"("scale":"0.1")", "must be a finite f32"},
      // the features of attention
      {packed, R"("window":"1,0")", R"("window":"1")", "window: 1 numbers, must be left,right"},
      {packed, R"("window":"1,0")", R"("window":"1,0,0")", "window: 3 numbers, must be left,right"},
      {packed, R"("window":"1,0")", R"("window":"")", "window: 0 numbers"},
      {packed, R"("window":"1,0")", R"("window":"-2,0")", "window_left: -2, must be -1..2147483647"},
      {packed, R"("window":"1,0")", R"("window":"2147483648,0")", "must be -2^31..2^31-1"},
      {packed, R"("window":"1,0")", R"("window":"1,-0")", "must be a list like"},
      {packed, R"("window":"1,0")", R"("window":"1,--1")", "must be a list like"},
      {packed, R"("window":"1,0")", R"("window":"1,+1")", "must be a list like"},
      {packed, R"("softcap":"0x1.ep+4")", R"("softcap":"-0x1.ep+4")", "softcap: -30, must be 0 (none) or finite"},
      {packed, R"("softcap":"0x1.ep+4")", R"("softcap":"nan")", "softcap: \"nan\" must be a finite f32"},
      {packed, R"("softcap":"0x1.ep+4")", R"("softcap":"0x1p+128")", "must be a finite f32"},
      {packed, R"("alibi":{)", R"("aliby":{)", "unknown field \"storage.alibi\""},
      {packed, R"("stride.alibi":"0,1")", R"("stride.alibi":"1,1")", "8 bytes, must be at least 20"},
      {packed, R"("shape":[4,2])", R"("shape":[2,4])", "tensor alibi: "},
      {packed, R"("sink":{)", R"("sing":{)", "unknown field \"storage.sink\""},
      {packed, R"("q_start":"0,2,2,3,4")", R"("q_start":"0,2,1,3,4")", "q_start[2]: 1, must be 2..4"},
      {packed, R"("q_start":"0,2,2,3,4")", R"("q_start":"0,2,2,3,-4")", "must be a list like"},
      {packed, R"("q_start":"0,2,2,3,4")", R"("q_start":"")", "k_start: must be empty without q_start"},
      {packed, R"("k_start":"0,3,4,4,5")", R"("k_start":"0,3,4,4,7")", "k_start[4]: 7, must be 4..6"},
      {packed, R"("k_start":"0,3,4,4,5")", R"("page_table":"0")", "page_table: 1 entries, must be a multiple of the 4"},
      {paged, R"("page_table":"2,0,2)", R"("page_table":"2,2147483647,2)", "page_table[1]: 2147483647, must be 0..3"},
      {paged, R"("page_table":"2,0,2)", R"("page_table":"2,0,-2)", "page_table[2]: -2, must be 0..3"},
      {paged, R"(,2147483647")", R"(,2147483648")", "must be -2^31..2^31-1"},
      {paged, R"(,2147483647")", R"(,-9223372036854775808")", "must be a list like"},
      {paged, R"(,2147483647")", R"(")", "page_table: 5 entries, must be a multiple of the 3 sequences"},
      {paged, R"("page_table":")", R"("page_tabel":")", R"(unknown field "page_tabel")"},
      {attention, R"("storage.bias":"240")", R"("storage.bias":"1073741824")", "may take 1073741824 bytes at most"},
  };
  ReaderOutcomes tally;
  for (const Edit& edit : edits) {
    EXPECT_THAT(tally.read(edited(edit.sample(), edit.from, edit.to)), testing::HasSubstr(edit.complaint))
        << edit.from.substr(0, 60) << " -> " << edit.to.substr(0, 60);
  }
  EXPECT_EQ(tally.accepted, 0);
}

// Edits that keep the meaning must stay readable, or the tests above could pass by refusing everything.
TEST(Corruption, HarmlessEdits) {
  const Edit edits[] = {
      {sample_softmax, "}}", "}}   \n\t", ""},
      {sample_softmax, "{", "{ ", ""},
      {sample_softmax, "sample", "s\\u0061mple", ""},
      {sample_attention, R"("scale":"0x1.99999ap-4")", R"("scale":"-0x0p+0")", ""},
      {sample_merge, R"("form":"concat")", R"("form":"sum")", ""},
      {sample_packed, R"("window":"1,0")", R"("window":"-1,-1")", ""},
      {sample_packed, R"("softcap":"0x1.ep+4")", R"("softcap":"-0x0p+0")", ""},
      {sample_paged, R"(,-1,)", R"(,-2147483647,)", ""},
  };
  ReaderOutcomes tally;
  for (const Edit& edit : edits) EXPECT_EQ(tally.read(edited(edit.sample(), edit.from, edit.to)), "") << edit.to;
}

TEST(Corruption, TrailingGarbage) {
  ReaderOutcomes tally;
  for (const auto& [name, witness] : samples()) {
    Bytes bytes = format_witness(witness);
    bytes.push_back(std::byte{0});
    EXPECT_THAT(tally.read(bytes), testing::HasSubstr("bytes of data, the tensors take")) << name;
  }
}

}  // namespace
}  // namespace flashproof
