// The PTX in a fat binary, the container that nvcc embeds into an object. NVIDIA does not document it: this is what fatbinary of CUDA
// 13.0 writes, read off its output in each of its five modes of compression. Every number in it is checked against the bytes that there are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace flashproof::cudart {

/// The text of the PTX for the newest architecture that a device of this capability (90: 9.0) can run.
/// Throws UsageError for a damaged container, for one without such PTX, which names the flag of nvcc that adds it, for more than
/// ptx::kMaxFileBytes, and for PTX packed by LZ4 (`-compress-mode=speed`; the others pack by zstd).
std::string ptx_of(std::span<const std::byte> container, std::uint32_t capability);

/// The bytes of the container at this address, by the length that it states. Throws UsageError where no container is.
std::span<const std::byte> container_at(const void* address);

}  // namespace flashproof::cudart
