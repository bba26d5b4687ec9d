// What the judging process and the process that has the library exchange: the record of one call, at the beginning of the memory that
// both see at the same address, and the messages between them. Plain data; what comes back is as little trusted as the library.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "kernels/plugin.h"

#ifdef FLASHPROOF_HAS_DLPACK
#error "the tensors of a call are laid out by plugin.h's own structures"
#endif

namespace flashproof {

inline constexpr std::size_t kMessageBytes = 512;         // room for a kernel's message
inline constexpr std::size_t kBehindMessageBytes = 1024;  // a zone behind it
inline constexpr std::size_t kMostTensors = 24;           // of one call

/// A tensor as the library sees it. What a library writes there changes nothing of ours.
struct Slot {
  flashproof_tensor tensor;
  std::array<std::int64_t, 4> shape, strides;
};

/// Which code of the library may run: none of this call yet, the function that has the record, none any more.
enum class CallPhase : std::uint32_t { asked, running, returned };

struct CallRecord {
  flashproof_call call;
  flashproof_softmax softmax;
  flashproof_merge merge;
  flashproof_attention attention;
  flashproof_attention_backward attention_backward;
  std::array<Slot, kMostTensors> slots;
  std::uint64_t tensors;  // of slots
  // Set by the process that runs the call, for messages alone.
  CallPhase phase;
  std::uint32_t threads;  // of that process when it began
  std::array<char, kMessageBytes + kBehindMessageBytes> message;
};

/// To the process that has the library; the kernel's id follows.
struct PluginRequest {
  enum class What : std::uint32_t { list, load, workspace, run };
  std::uint64_t number;  // the answer repeats it
  What what;
  std::uint32_t kernel;  // its place in the library's list
  std::uint64_t used;    // bytes of the shared memory
  std::uint64_t phase;   // of its filled parts
};

/// From it, in one or several packets; text follows.
struct PluginReply {
  enum class Kind : std::uint32_t { done, usage, fault, infrastructure };
  std::uint64_t number;
  Kind kind;
  std::uint32_t more;    // 1: another packet follows
  std::int64_t value;    // what the function returned
  std::uint64_t forked;  // 1: the process has children
};

inline constexpr std::size_t kPacketText = 32768;  // bytes of text in one packet

}  // namespace flashproof
