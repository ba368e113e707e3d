/* What onnxruntime.cpp uses of ONNX Runtime's C interface, whose wheel brings the library and no header: a table of
 * functions whose places never change (OrtApi). Where the header is there, include <onnxruntime_c_api.h> instead. */
#pragma once

#include <stddef.h>
#include <stdint.h>

extern "C" {

typedef struct OrtStatus OrtStatus;
typedef struct OrtEnv OrtEnv;
typedef struct OrtSession OrtSession;
typedef struct OrtSessionOptions OrtSessionOptions;
typedef struct OrtRunOptions OrtRunOptions;
typedef struct OrtValue OrtValue;
typedef struct OrtMemoryInfo OrtMemoryInfo;
typedef struct OrtTypeInfo OrtTypeInfo;
typedef struct OrtTensorTypeAndShapeInfo OrtTensorTypeAndShapeInfo;
typedef struct OrtAllocator OrtAllocator;

enum { ORT_LOGGING_LEVEL_ERROR = 3, ORT_ENABLE_ALL = 99, ORT_DEVICE_ALLOCATOR = 0, ORT_MEM_TYPE_DEFAULT = 0 };

struct OrtApi {
  void* unused0[2];
  const char* (*GetErrorMessage)(const OrtStatus*);
  OrtStatus* (*CreateEnv)(int level, const char* name, OrtEnv** out);
  void* unused4[3];
  OrtStatus* (*CreateSession)(const OrtEnv*, const char* model, const OrtSessionOptions*, OrtSession** out);
  void* unused8[1];
  OrtStatus* (*Run)(OrtSession*, const OrtRunOptions*, const char* const* input_names, const OrtValue* const* inputs,
                    size_t inputs_count, const char* const* output_names, size_t outputs_count, OrtValue** outputs);
  OrtStatus* (*CreateSessionOptions)(OrtSessionOptions** out);
  void* unused11[12];
  OrtStatus* (*SetSessionGraphOptimizationLevel)(OrtSessionOptions*, int level);
  OrtStatus* (*SetIntraOpNumThreads)(OrtSessionOptions*, int threads);
  OrtStatus* (*SetInterOpNumThreads)(OrtSessionOptions*, int threads);
  void* unused26[4];
  OrtStatus* (*SessionGetInputCount)(const OrtSession*, size_t* out);
  OrtStatus* (*SessionGetOutputCount)(const OrtSession*, size_t* out);
  void* unused32[1];
  OrtStatus* (*SessionGetInputTypeInfo)(const OrtSession*, size_t index, OrtTypeInfo** out);
  void* unused34[2];
  OrtStatus* (*SessionGetInputName)(const OrtSession*, size_t index, OrtAllocator*, char** out);
  OrtStatus* (*SessionGetOutputName)(const OrtSession*, size_t index, OrtAllocator*, char** out);
  void* unused38[11];
  OrtStatus* (*CreateTensorWithDataAsOrtValue)(const OrtMemoryInfo*, void* data, size_t bytes, const int64_t* shape,
                                               size_t rank, int type, OrtValue** out);
  void* unused50[5];
  OrtStatus* (*CastTypeInfoToTensorInfo)(const OrtTypeInfo*, const OrtTensorTypeAndShapeInfo** out);
  void* unused56[4];
  OrtStatus* (*GetTensorElementType)(const OrtTensorTypeAndShapeInfo*, int* out);
  OrtStatus* (*GetDimensionsCount)(const OrtTensorTypeAndShapeInfo*, size_t* out);
  OrtStatus* (*GetDimensions)(const OrtTensorTypeAndShapeInfo*, int64_t* values, size_t count);
  void* unused63[2];
  OrtStatus* (*GetTensorTypeAndShape)(const OrtValue*, OrtTensorTypeAndShapeInfo** out);
  void* unused66[3];
  OrtStatus* (*CreateCpuMemoryInfo)(int allocator, int memory, OrtMemoryInfo** out);
  void* unused70[6];
  OrtStatus* (*AllocatorFree)(OrtAllocator*, void* memory);
  void* unused77[1];
  OrtStatus* (*GetAllocatorWithDefaultOptions)(OrtAllocator** out);
  void* unused79[14];
  void (*ReleaseStatus)(OrtStatus*);
  void (*ReleaseMemoryInfo)(OrtMemoryInfo*);
  void (*ReleaseSession)(OrtSession*);
  void (*ReleaseValue)(OrtValue*);
  void* unused97[1];
  void (*ReleaseTypeInfo)(OrtTypeInfo*);
  void (*ReleaseTensorTypeAndShapeInfo)(OrtTensorTypeAndShapeInfo*);
  void (*ReleaseSessionOptions)(OrtSessionOptions*);
};

struct OrtApiBase {
  const OrtApi* (*GetApi)(uint32_t version);
  const char* (*GetVersionString)();
};

const OrtApiBase* OrtGetApiBase();
}
