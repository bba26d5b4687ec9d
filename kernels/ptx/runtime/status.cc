#include "kernels/ptx/runtime/status.h"

namespace flashproof::cudart {
namespace {

struct Row {
  int number;
  const char *name, *words;
};

constexpr Row kRows[] = {
    {0, "cudaSuccess", "no error"},
    {1, "cudaErrorInvalidValue", "invalid argument"},
    {2, "cudaErrorMemoryAllocation", "out of memory"},
    {3, "cudaErrorInitializationError", "initialization error"},
    {4, "cudaErrorCudartUnloading", "driver shutting down"},
    {5, "cudaErrorProfilerDisabled", "profiler disabled"},
    {6, "cudaErrorProfilerNotInitialized", "profiler not initialized"},
    {7, "cudaErrorProfilerAlreadyStarted", "profiler already started"},
    {8, "cudaErrorProfilerAlreadyStopped", "profiler already stopped"},
    {9, "cudaErrorInvalidConfiguration", "invalid configuration argument"},
    {12, "cudaErrorInvalidPitchValue", "invalid pitch argument"},
    {13, "cudaErrorInvalidSymbol", "invalid device symbol"},
    {16, "cudaErrorInvalidHostPointer", "invalid host pointer"},
    {17, "cudaErrorInvalidDevicePointer", "invalid device pointer"},
    {18, "cudaErrorInvalidTexture", "invalid texture"},
    {19, "cudaErrorInvalidTextureBinding", "invalid texture binding"},
    {20, "cudaErrorInvalidChannelDescriptor", "invalid channel descriptor"},
    {21, "cudaErrorInvalidMemcpyDirection", "invalid copy direction"},
    {22, "cudaErrorAddressOfConstant", "address of constant"},
    {23, "cudaErrorTextureFetchFailed", "texture fetch failed"},
    {24, "cudaErrorTextureNotBound", "texture not bound"},
    {25, "cudaErrorSynchronizationError", "synchronization error"},
    {26, "cudaErrorInvalidFilterSetting", "invalid filter setting"},
    {27, "cudaErrorInvalidNormSetting", "invalid norm setting"},
    {28, "cudaErrorMixedDeviceExecution", "mixed device execution"},
    {31, "cudaErrorNotYetImplemented", "not yet implemented"},
    {32, "cudaErrorMemoryValueTooLarge", "memory value too large"},
    {34, "cudaErrorStubLibrary", "stub library"},
    {35, "cudaErrorInsufficientDriver", "the driver is too old for the runtime"},
    {36, "cudaErrorCallRequiresNewerDriver", "call requires newer driver"},
    {37, "cudaErrorInvalidSurface", "invalid surface"},
    {43, "cudaErrorDuplicateVariableName", "duplicate variable name"},
    {44, "cudaErrorDuplicateTextureName", "duplicate texture name"},
    {45, "cudaErrorDuplicateSurfaceName", "duplicate surface name"},
    {46, "cudaErrorDevicesUnavailable", "devices unavailable"},
    {49, "cudaErrorIncompatibleDriverContext", "incompatible driver context"},
    {52, "cudaErrorMissingConfiguration", "no configuration was pushed for this launch"},
    {53, "cudaErrorPriorLaunchFailure", "prior launch failure"},
    {65, "cudaErrorLaunchMaxDepthExceeded", "launch max depth exceeded"},
    {66, "cudaErrorLaunchFileScopedTex", "launch file scoped tex"},
    {67, "cudaErrorLaunchFileScopedSurf", "launch file scoped surf"},
    {68, "cudaErrorSyncDepthExceeded", "sync depth exceeded"},
    {69, "cudaErrorLaunchPendingCountExceeded", "launch pending count exceeded"},
    {98, "cudaErrorInvalidDeviceFunction", "invalid device function"},
    {100, "cudaErrorNoDevice", "no device was found"},
    {101, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {102, "cudaErrorDeviceNotLicensed", "device not licensed"},
    {103, "cudaErrorSoftwareValidityNotEstablished", "software validity not established"},
    {127, "cudaErrorStartupFailure", "startup failure"},
    {200, "cudaErrorInvalidKernelImage", "device kernel image is invalid"},
    {201, "cudaErrorDeviceUninitialized", "device uninitialized"},
    {205, "cudaErrorMapBufferObjectFailed", "map buffer object failed"},
    {206, "cudaErrorUnmapBufferObjectFailed", "unmap buffer object failed"},
    {207, "cudaErrorArrayIsMapped", "array is mapped"},
    {208, "cudaErrorAlreadyMapped", "already mapped"},
    {209, "cudaErrorNoKernelImageForDevice", "no kernel image is available for execution on the device"},
    {210, "cudaErrorAlreadyAcquired", "already acquired"},
    {211, "cudaErrorNotMapped", "not mapped"},
    {212, "cudaErrorNotMappedAsArray", "not mapped as array"},
    {213, "cudaErrorNotMappedAsPointer", "not mapped as pointer"},
    {214, "cudaErrorECCUncorrectable", "uncorrectable memory error"},
    {215, "cudaErrorUnsupportedLimit", "limit is not supported"},
    {216, "cudaErrorDeviceAlreadyInUse", "device already in use"},
    {217, "cudaErrorPeerAccessUnsupported", "peer access unsupported"},
    {218, "cudaErrorInvalidPtx", "a PTX compilation failed"},
    {219, "cudaErrorInvalidGraphicsContext", "invalid graphics context"},
    {220, "cudaErrorNvlinkUncorrectable", "nvlink uncorrectable"},
    {221, "cudaErrorJitCompilerNotFound", "no compiler for PTX was found"},
    {222, "cudaErrorUnsupportedPtxVersion", "the version of the PTX is not supported"},
    {223, "cudaErrorJitCompilationDisabled", "jit compilation disabled"},
    {224, "cudaErrorUnsupportedExecAffinity", "unsupported exec affinity"},
    {225, "cudaErrorUnsupportedDevSideSync", "unsupported dev side sync"},
    {226, "cudaErrorContained", "contained"},
    {300, "cudaErrorInvalidSource", "invalid source"},
    {301, "cudaErrorFileNotFound", "file not found"},
    {302, "cudaErrorSharedObjectSymbolNotFound", "shared object symbol not found"},
    {303, "cudaErrorSharedObjectInitFailed", "shared object init failed"},
    {304, "cudaErrorOperatingSystem", "a call of the operating system failed"},
    {400, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {401, "cudaErrorIllegalState", "illegal state"},
    {402, "cudaErrorLossyQuery", "lossy query"},
    {500, "cudaErrorSymbolNotFound", "named symbol not found"},
    {600, "cudaErrorNotReady", "device not ready"},
    {700, "cudaErrorIllegalAddress", "an illegal memory access was encountered"},
    {701, "cudaErrorLaunchOutOfResources", "too many resources requested for launch"},
    {702, "cudaErrorLaunchTimeout", "the launch timed out and was ended"},
    {703, "cudaErrorLaunchIncompatibleTexturing", "launch incompatible texturing"},
    {704, "cudaErrorPeerAccessAlreadyEnabled", "peer access already enabled"},
    {705, "cudaErrorPeerAccessNotEnabled", "peer access not enabled"},
    {708, "cudaErrorSetOnActiveProcess", "set on active process"},
    {709, "cudaErrorContextIsDestroyed", "context is destroyed"},
    {710, "cudaErrorAssert", "device-side assert triggered"},
    {711, "cudaErrorTooManyPeers", "too many peers"},
    {712, "cudaErrorHostMemoryAlreadyRegistered", "this host memory is registered already"},
    {713, "cudaErrorHostMemoryNotRegistered", "this host memory is not registered"},
    {714, "cudaErrorHardwareStackError", "hardware stack error"},
    {715, "cudaErrorIllegalInstruction", "an illegal instruction was encountered"},
    {716, "cudaErrorMisalignedAddress", "misaligned address"},
    {717, "cudaErrorInvalidAddressSpace", "an address of the wrong space"},
    {718, "cudaErrorInvalidPc", "invalid pc"},
    {719, "cudaErrorLaunchFailure", "unspecified launch failure"},
    {720, "cudaErrorCooperativeLaunchTooLarge", "too many blocks in a cooperative launch"},
    {721, "cudaErrorTensorMemoryLeak", "tensor memory leak"},
    {800, "cudaErrorNotPermitted", "operation not permitted"},
    {801, "cudaErrorNotSupported", "operation not supported"},
    {802, "cudaErrorSystemNotReady", "system not ready"},
    {803, "cudaErrorSystemDriverMismatch", "system driver mismatch"},
    {804, "cudaErrorCompatNotSupportedOnDevice", "compat not supported on device"},
    {805, "cudaErrorMpsConnectionFailed", "mps connection failed"},
    {806, "cudaErrorMpsRpcFailure", "mps rpc failure"},
    {807, "cudaErrorMpsServerNotReady", "mps server not ready"},
    {808, "cudaErrorMpsMaxClientsReached", "mps max clients reached"},
    {809, "cudaErrorMpsMaxConnectionsReached", "mps max connections reached"},
    {810, "cudaErrorMpsClientTerminated", "mps client terminated"},
    {811, "cudaErrorCdpNotSupported", "cdp not supported"},
    {812, "cudaErrorCdpVersionMismatch", "cdp version mismatch"},
    {900, "cudaErrorStreamCaptureUnsupported", "operation not permitted while a stream is captured"},
    {901, "cudaErrorStreamCaptureInvalidated", "stream capture invalidated"},
    {902, "cudaErrorStreamCaptureMerge", "stream capture merge"},
    {903, "cudaErrorStreamCaptureUnmatched", "stream capture unmatched"},
    {904, "cudaErrorStreamCaptureUnjoined", "stream capture unjoined"},
    {905, "cudaErrorStreamCaptureIsolation", "stream capture isolation"},
    {906, "cudaErrorStreamCaptureImplicit", "stream capture implicit"},
    {907, "cudaErrorCapturedEvent", "captured event"},
    {908, "cudaErrorStreamCaptureWrongThread", "stream capture wrong thread"},
    {909, "cudaErrorTimeout", "timeout"},
    {910, "cudaErrorGraphExecUpdateFailure", "graph exec update failure"},
    {911, "cudaErrorExternalDevice", "external device"},
    {912, "cudaErrorInvalidClusterSize", "invalid size of a cluster"},
    {913, "cudaErrorFunctionNotLoaded", "function not loaded"},
    {914, "cudaErrorInvalidResourceType", "invalid resource type"},
    {915, "cudaErrorInvalidResourceConfiguration", "invalid resource configuration"},
    {999, "cudaErrorUnknown", "unknown error"},
};

const Row* row_of(int status) {
  for (const Row& row : kRows) {
    if (row.number == status) return &row;
  }
  return nullptr;
}

}  // namespace

const char* name_of(int status) {
  const Row* row = row_of(status);
  return row != nullptr ? row->name : "unrecognized error code";
}

const char* words_of(int status) {
  const Row* row = row_of(status);
  return row != nullptr ? row->words : "unrecognized error code";
}

}  // namespace flashproof::cudart
