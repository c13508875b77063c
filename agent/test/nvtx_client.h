/* NVTX 3 as a program has it compiled in, for tests: the tables that it shows to an injected library, and calls through them.
 * Written to the public ABI, and on its own: nothing here is shared with the agent. */
#ifndef NVTX_CLIENT_H
#define NVTX_CLIENT_H

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

typedef void (*nvtx_function)(void);

/* nvtxEventAttributes_t, version 3. */
typedef struct {
	uint16_t version, size;
	uint32_t category;
	int32_t colorType;
	uint32_t color;
	int32_t payloadType;
	int32_t reserved0;
	union {
		uint64_t ull;
		int64_t ll;
		double d;
		uint32_t ui;
		int32_t i;
		float f;
	} payload;
	int32_t messageType;
	union {
		const char *ascii;
		const wchar_t *unicode;
		void *registered;
	} message;
} nvtx_attributes;

typedef struct {
	uint64_t schemaId;
	size_t size;
	const void *payload;
} nvtx_payload;

typedef struct {
	uint64_t flags, type;
	const char *name, *description;
	uint64_t arrayOrUnionDetail, offset;
	const void *semantics, *reserved;
} nvtx_schema_entry;

typedef struct {
	uint64_t fieldMask;
	const char *name;
	uint64_t type, flags;
	const nvtx_schema_entry *entries;
	size_t numEntries, payloadStaticSize, packAlign;
	uint64_t schemaId;
	void *extension;
} nvtx_schema;

typedef struct {
	const char *name;
	uint64_t value;
	int8_t isFlag;
} nvtx_enum_entry;

typedef struct {
	uint64_t fieldMask;
	const char *name;
	const nvtx_enum_entry *entries;
	size_t numEntries, sizeOfEnum;
	uint64_t schemaId;
	void *extension;
} nvtx_enum;

/* What each module has, by its ID: core, CUDA, OpenCL, CUDART, core2, sync. */
static const unsigned nvtx_sizes[] = {0, 16, 9, 15, 7, 16, 7};
static nvtx_function nvtx_functions[7][17];
static nvtx_function *nvtx_pointers[7][18]; /* NULL at its end, as NVTX has */
static intptr_t nvtx_slots[64];

static int nvtx_module(int module, nvtx_function ***table, unsigned *size)
{
	if (module < 1 || module > 6)
		return 0;
	for (unsigned i = 1; i < nvtx_sizes[module]; i++)
		nvtx_pointers[module][i] = &nvtx_functions[module][i];
	*table = nvtx_pointers[module];
	*size = nvtx_sizes[module];
	return 1;
}

static const void *nvtx_export(uint32_t id)
{
	static const struct {
		size_t size;
		int (*module)(int, nvtx_function ***, unsigned *);
	} callbacks = {sizeof callbacks, nvtx_module};
	return id == 1 ? &callbacks : NULL;
}

struct nvtx_segment {
	size_t id, n;
	intptr_t *slots;
};
struct nvtx_info {
	uint16_t version, size, module, compatible;
	size_t n;
	struct nvtx_segment *segments;
	void *function;
	const void *extra;
};

/* Attaches a tool as NVTX does at its first call; 0: it would not. */
static inline int nvtx_attach(int (*init)(const void *(*)(uint32_t)), int (*extension)(struct nvtx_info *))
{
	static struct nvtx_segment segment = {0, 63, nvtx_slots};
	static struct nvtx_info info = {3, sizeof info, 2, 0x0104, 1, &segment, NULL, NULL};
	return init && init(nvtx_export) && extension && extension(&info);
}

/* Attaches what NVTX_INJECTION64_PATH names. */
static inline int nvtx_start(void)
{
	const char *path = getenv("NVTX_INJECTION64_PATH");
	void *library = path ? dlopen(path, RTLD_LAZY) : NULL;
	if (!library)
		return 0;
	return nvtx_attach((int (*)(const void *(*)(uint32_t)))(uintptr_t)dlsym(library, "InitializeInjectionNvtx2"),
		(int (*)(struct nvtx_info *))(uintptr_t)dlsym(library, "InitializeInjectionNvtxExtension"));
}

/* The functions, as nvToolsExt.h has them; without a tool they do nothing. */
#define NVTX_CALL(module, id, type) ((type)(uintptr_t)nvtx_functions[module][id])
#define NVTX_VOID(name, module, id, parameters, arguments) \
	static inline void name parameters \
	{ \
		if (nvtx_functions[module][id]) \
			NVTX_CALL(module, id, void(*) parameters) arguments; \
	}
#define NVTX_VALUE(type, none, name, module, id, parameters, arguments) \
	static inline type name parameters \
	{ \
		return nvtx_functions[module][id] ? NVTX_CALL(module, id, type(*) parameters) arguments : none; \
	}
NVTX_VOID(nvtxMarkEx, 1, 1, (const nvtx_attributes *a), (a))
NVTX_VOID(nvtxMarkA, 1, 2, (const char *a), (a))
NVTX_VOID(nvtxMarkW, 1, 3, (const wchar_t *a), (a))
NVTX_VALUE(uint64_t, 0, nvtxRangeStartEx, 1, 4, (const nvtx_attributes *a), (a))
NVTX_VALUE(uint64_t, 0, nvtxRangeStartA, 1, 5, (const char *a), (a))
NVTX_VALUE(uint64_t, 0, nvtxRangeStartW, 1, 6, (const wchar_t *a), (a))
NVTX_VOID(nvtxRangeEnd, 1, 7, (uint64_t id), (id))
NVTX_VALUE(int, -2, nvtxRangePushEx, 1, 8, (const nvtx_attributes *a), (a))
NVTX_VALUE(int, -2, nvtxRangePushA, 1, 9, (const char *a), (a))
NVTX_VALUE(int, -2, nvtxRangePushW, 1, 10, (const wchar_t *a), (a))
NVTX_VALUE(int, -2, nvtxRangePop, 1, 11, (void), ())
NVTX_VOID(nvtxNameCategoryA, 1, 12, (uint32_t id, const char *a), (id, a))
NVTX_VOID(nvtxNameCategoryW, 1, 13, (uint32_t id, const wchar_t *a), (id, a))
NVTX_VOID(nvtxNameOsThreadA, 1, 14, (uint32_t id, const char *a), (id, a))
NVTX_VOID(nvtxNameOsThreadW, 1, 15, (uint32_t id, const wchar_t *a), (id, a))
NVTX_VOID(nvtxNameCudaStreamA, 4, 3, (void *stream, const char *a), (stream, a))
NVTX_VOID(nvtxDomainMarkEx, 5, 1, (void *d, const nvtx_attributes *a), (d, a))
NVTX_VALUE(uint64_t, 0, nvtxDomainRangeStartEx, 5, 2, (void *d, const nvtx_attributes *a), (d, a))
NVTX_VOID(nvtxDomainRangeEnd, 5, 3, (void *d, uint64_t id), (d, id))
NVTX_VALUE(int, -2, nvtxDomainRangePushEx, 5, 4, (void *d, const nvtx_attributes *a), (d, a))
NVTX_VALUE(int, -2, nvtxDomainRangePop, 5, 5, (void *d), (d))
NVTX_VALUE(void *, NULL, nvtxDomainResourceCreate, 5, 6, (void *d, void *a), (d, a))
NVTX_VOID(nvtxDomainResourceDestroy, 5, 7, (void *r), (r))
NVTX_VOID(nvtxDomainNameCategoryA, 5, 8, (void *d, uint32_t id, const char *a), (d, id, a))
NVTX_VOID(nvtxDomainNameCategoryW, 5, 9, (void *d, uint32_t id, const wchar_t *a), (d, id, a))
NVTX_VALUE(void *, NULL, nvtxDomainRegisterStringA, 5, 10, (void *d, const char *a), (d, a))
NVTX_VALUE(void *, NULL, nvtxDomainRegisterStringW, 5, 11, (void *d, const wchar_t *a), (d, a))
NVTX_VALUE(void *, NULL, nvtxDomainCreateA, 5, 12, (const char *a), (a))
NVTX_VALUE(void *, NULL, nvtxDomainCreateW, 5, 13, (const wchar_t *a), (a))
NVTX_VOID(nvtxDomainDestroy, 5, 14, (void *d), (d))
NVTX_VOID(nvtxInitialize, 5, 15, (const void *r), (r))
NVTX_VALUE(void *, NULL, nvtxDomainSyncUserCreate, 6, 1, (void *d, const void *a), (d, a))

#define NVTX_SLOT(type, none, name, id, parameters, arguments) \
	static inline type name parameters \
	{ \
		return nvtx_slots[id] > 1 || nvtx_slots[id] < 0 ? ((type(*) parameters)nvtx_slots[id]) arguments : none; \
	}
NVTX_SLOT(uint64_t, 0, nvtxPayloadSchemaRegister, 0, (void *d, const nvtx_schema *a), (d, a))
NVTX_SLOT(uint64_t, 0, nvtxPayloadEnumRegister, 1, (void *d, const nvtx_enum *a), (d, a))
NVTX_SLOT(int, 0, nvtxMarkPayload, 2, (void *d, const nvtx_payload *p, size_t n), (d, p, n)) /* void, really */
NVTX_SLOT(int, -2, nvtxRangePushPayload, 3, (void *d, const nvtx_payload *p, size_t n), (d, p, n))
NVTX_SLOT(int, -2, nvtxRangePopPayload, 4, (void *d, const nvtx_payload *p, size_t n), (d, p, n))
NVTX_SLOT(uint64_t, 0, nvtxRangeStartPayload, 5, (void *d, const nvtx_payload *p, size_t n), (d, p, n))
NVTX_SLOT(int, 0, nvtxRangeEndPayload, 6, (void *d, uint64_t id, const nvtx_payload *p, size_t n), (d, id, p, n)) /* void, really */
NVTX_SLOT(uint8_t, 0, nvtxDomainIsEnabled, 7, (void *d), (d))

/* Attributes with a message, or with one that is registered. */
static inline nvtx_attributes nvtx_message(const char *text)
{
	nvtx_attributes a = {.version = 3, .size = sizeof a, .messageType = 1};
	a.message.ascii = text;
	return a;
}

static inline nvtx_attributes nvtx_registered(void *handle)
{
	nvtx_attributes a = {.version = 3, .size = sizeof a, .messageType = 3};
	a.message.registered = handle;
	return a;
}

#endif
