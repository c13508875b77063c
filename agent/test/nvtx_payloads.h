/* Scenarios of test/nvtx_unit.c with NVTX's extended payloads: schemas and enums as NCCL registers them, all types, what is broken,
 * and what chance makes. */
#ifndef NVTX_PAYLOADS_H
#define NVTX_PAYLOADS_H

#include "nvtx_rest.h"

static void extended(void)
{
	attach();
	window(true);
	void *nccl = nvtxDomainCreateA("NCCL");
	enum { STATIC = 1 << 24, SCHEMA_MASK = 1 << 2 | 1 << 4 | 1 << 5 | 1 << 6 | 1 << 8, DYNAMIC_MASK = 1 << 4 | 1 << 5 };
	/* As NCCL registers it: an enum of operations and the parameters of AllReduce. */
	const nvtx_enum_entry operations[] = {{"Sum", 0, 0}, {"Prod", 1, 0}, {NULL, 2, 0}};
	const nvtx_enum op = {1 << 2 | 1 << 3 | 1 << 4 | 1 << 5, NULL, operations, 3, sizeof(int), STATIC + 11, NULL};
	const nvtx_schema_entry entries[] = {{0, 18, "NCCL communicator ID", NULL, 0, 0, NULL, NULL}, {0, 22, "Message size [bytes]", NULL, 0, 8, NULL, NULL}, {0, STATIC + 11, "Reduction operation", NULL, 0, 16, NULL, NULL}};
	const nvtx_schema allreduce = {SCHEMA_MASK, NULL, 1, 0, entries, 3, 0, 0, STATIC + 5, NULL};
	keep_row("static IDs are kept: %d", nvtxPayloadEnumRegister(nccl, &op) == STATIC + 11 && nvtxPayloadSchemaRegister(nccl, &allreduce) == STATIC + 5);
	struct {
		uint64_t comm;
		size_t bytes;
		int op;
	} parameters = {0xFEDCBA9876543210, 1 << 20, 0};
	nvtx_payload data = {STATIC + 5, sizeof parameters, &parameters};
	nvtx_attributes a = nvtx_registered(nvtxDomainRegisterStringA(nccl, "ncclAllReduce"));
	a.payloadType = (int32_t)0xDFBD0009;
	a.reserved0 = 1;
	a.payload.ull = (uintptr_t)&data;
	nvtxDomainRangePushEx(nccl, &a);
	nvtxDomainRangePop(nccl);
	parameters.op = 2; /* without a name */
	nvtxDomainMarkEx(nccl, &a);
	parameters.op = 77;
	nvtxDomainMarkEx(nccl, &a);
	data.size = 17; /* the last one does not lie in it */
	nvtxDomainMarkEx(nccl, &a);
	nvtxMarkEx(&a); /* the ID is NCCL's: in this domain it says nothing */
	a.payload.ull = 0;
	nvtxDomainMarkEx(nccl, &a);

	/* All types, offsets found by alignment, a registered string, texts, arrays. */
	struct {
		char c; unsigned char uc; short s; unsigned short us; int i; unsigned u; long l; unsigned long ul; float f; double d; void *p;
		char text[8]; int32_t array[3]; uint8_t byte; void *string; double nan; const char *pointer; int last;
	} all = {'"', 200, -3, 60000, -4, 4000000000u, -5, 5, 1.5f, -0.1, (void *)0x1234, "in it", {1, -2, 3}, 0xAB, nvtxDomainRegisterStringA(NULL, "kept"), 0.0 / 0.0, "not followed", 42};
	const nvtx_schema_entry types[] = {{0, 1, "c", 0, 0, 0, 0, 0}, {0, 2, "uc", 0, 0, 0, 0, 0}, {0, 3, "s", 0, 0, 0, 0, 0}, {0, 4, "us", 0, 0, 0, 0, 0}, {0, 5, "i", 0, 0, 0, 0, 0}, {0, 6, "u", 0, 0, 0, 0, 0},
		{0, 7, "l", 0, 0, 0, 0, 0}, {0, 8, "ul", 0, 0, 0, 0, 0}, {0, 19, "f", 0, 0, 0, 0, 0}, {0, 20, "d", 0, 0, 0, 0, 0}, {0, 23, "p", 0, 0, 0, 0, 0}, {0, 75, "text", 0, 8, 0, 0, 0},
		{1 << 4, 15, "array", 0, 3, 0, 0, 0}, {0, 32, "byte", 0, 0, 0, 0, 0}, {0, 80, "string", 0, 0, 0, 0, 0}, {0, 20, "nan", 0, 0, 0, 0, 0}, {0, 75, "pointer", 0, 0, 0, 0, 0}, {0, 5, NULL, 0, 0, 0, 0, 0}};
	const nvtx_schema schema = {DYNAMIC_MASK, "all", 0, 0, types, sizeof types / sizeof *types, 0, 0, 0, NULL};
	uint64_t id = nvtxPayloadSchemaRegister(NULL, &schema);
	keep_row("dynamic ID: %d", id >= (uint64_t)1 << 32);
	nvtx_payload two[] = {{id, sizeof all, &all}, {5, sizeof(int), &parameters.op}, {75, SIZE_MAX, "a text"}, {99999, 4, &all}, {1023, 4, &all}, {id, SIZE_MAX, &all}, {id, 4, NULL}};
	nvtxMarkPayload(NULL, two, sizeof two / sizeof *two);
	nvtxMarkPayload(nccl, two, 1); /* a dynamic ID holds everywhere */

	/* The event's message in the payload. */
	const nvtx_schema_entry message[] = {{1 << 10, 75, "message", 0, 16, 0, 0, 0}, {0, 5, "n", 0, 0, 16, 0, 0}};
	const nvtx_schema named = {DYNAMIC_MASK, NULL, 0, 0, message, 2, 0, 0, 0, NULL};
	struct {
		char text[16];
		int n;
	} event = {"by payload", 3};
	nvtx_payload one = {nvtxPayloadSchemaRegister(NULL, &named), sizeof event, &event};
	LEVELS(nvtxRangePushPayload(NULL, &one, 1));
	LEVELS(nvtxRangePopPayload(NULL, &one, 1));
	uint64_t range = nvtxRangeStartPayload(NULL, &one, 1);
	nvtxRangeEndPayload(NULL, range, &one, 1);

	/* What is not flat, and what is no schema. */
	const nvtx_schema_entry odd[] = {{1 << 1, 5, "pointer", 0, 0, 0, 0, 0}, {3 << 4, 5, "array", 0, 0, 8, 0, 0}, {0, STATIC + 5, "nested", 0, 0, 16, 0, 0}, {0, 5, "after", 0, 0, 0, 0, 0}, {0, 5, "placed", 0, 0, 32, 0, 0}, {0, 5, "far", 0, 0, UINT64_MAX, 0, 0},
		{1 << 4, 5, "huge", 0, UINT64_MAX, 40, 0, 0}, {1 << 4, 17, "overflow", 0, (uint64_t)1 << 61, 40, 0, 0}};
	const nvtx_schema odds = {DYNAMIC_MASK, NULL, 0, 0, odd, 8, 0, 0, 0, NULL}, none = {0, NULL, 0, 0, odd, 8, 0, 0, 0, NULL}, huge = {DYNAMIC_MASK, NULL, 0, 0, odd, SIZE_MAX, 0, 0, 0, NULL}, joined = {DYNAMIC_MASK | 1 << 2, NULL, 3, 0, odd, 8, 0, 0, 0, NULL};
	int numbers[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
	one = (nvtx_payload){nvtxPayloadSchemaRegister(NULL, &odds), sizeof numbers, numbers};
	nvtxMarkPayload(NULL, &one, 1);
	one.schemaId = nvtxPayloadSchemaRegister(NULL, &joined);
	keep_row("a union has an ID: %d", one.schemaId != 0);
	nvtxMarkPayload(NULL, &one, 1);
	keep_row("refused: %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64, nvtxPayloadSchemaRegister(NULL, NULL), nvtxPayloadSchemaRegister(NULL, &none), nvtxPayloadSchemaRegister(NULL, &huge), nvtxPayloadEnumRegister(NULL, NULL));

	/* More than the JSON holds is an object all the same. */
	nvtx_schema_entry wide[200];
	char names[200][64];
	for (int i = 0; i < 200; i++) {
		snprintf(names[i], sizeof names[i], "a number with a name of some length, %d", i);
		wide[i] = (nvtx_schema_entry){0, 12, names[i], NULL, 0, (uint64_t)i, NULL, NULL};
	}
	uint8_t bytes[200] = {9};
	const nvtx_schema big = {DYNAMIC_MASK, NULL, 0, 0, wide, 200, 0, 0, 0, NULL};
	one = (nvtx_payload){nvtxPayloadSchemaRegister(NULL, &big), sizeof bytes, bytes};
	nvtxMarkPayload(NULL, &one, 1);
}

static uint64_t chance(uint64_t n)
{
	static uint64_t state = 88172645463325252u;
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state % n;
}

/* Schemas and payloads of chance, the payload in memory of exactly the size that is stated: the sanitizer sees a read past it. */
static void fuzz(void)
{
	attach();
	print_rows = false;
	window(true);
	uint64_t ids[64] = {0}, extremes[] = {0, 1, UINT64_MAX, (uint64_t)1 << 63, (uint64_t)1 << 61, 1 << 20, 63, 64, 65};
	for (int i = 0; i < 3000; i++) {
		nvtx_schema_entry entries[8];
		const nvtx_enum_entry labels[] = {{"a", chance(4), 0}, {NULL, chance(4), 1}};
		unsigned n = 1 + (unsigned)chance(8);
		for (unsigned j = 0; j < n; j++) {
			uint64_t type = chance(4) ? chance(130) : ids[chance(64)];
			entries[j] = (nvtx_schema_entry){chance(3) ? 0 : chance(1 << 12), type, chance(2) ? "name" : NULL, NULL, chance(4) ? chance(12) : extremes[chance(9)],
				chance(3) ? chance(40) : chance(8) ? 0 : extremes[chance(9)], NULL, NULL};
		}
		const nvtx_schema schema = {1 << 4 | 1 << 5 | chance(16) << 5, NULL, chance(5), 0, entries, n, 0, chance(9), ((uint64_t)1 << 24) + chance(16), NULL};
		const nvtx_enum names = {1 << 2 | 1 << 3 | 1 << 4, NULL, labels, 2, chance(20), 0, NULL};
		if (i < 1500)
			ids[chance(64)] = chance(4) ? nvtxPayloadSchemaRegister(NULL, &schema) : nvtxPayloadEnumRegister(NULL, &names);
		size_t size = chance(64);
		uint8_t *data = malloc(size + 1); /* malloc(0) may be NULL */
		uint8_t *exact = data + 1;
		for (size_t j = 0; j < size; j++)
			exact[j] = (uint8_t)chance(256);
		nvtx_payload p[2] = {{chance(4) ? ids[chance(64)] : chance(130), size, exact}, {ids[chance(64)], size, exact}};
		nvtxRangePushPayload(NULL, p, 1 + chance(2));
		nvtxRangePop();
		free(data);
	}
	printf("%llu events\n", (unsigned long long)atomic_load(&lac_accounts.nvtx));
	n_rows = 0;
}

#endif
