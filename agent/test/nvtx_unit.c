/* Drives the agent's NVTX side alone and prints the rows that it would write, one a line: nvtx_unit SCENARIO. What the rest of
 * the agent does is replaced by nvtx_rest.h. */
#define _GNU_SOURCE
#include <unistd.h>

#include "nvtx_rest.h"

/* --- scenarios ---------------------------------------------------------------------------------------------------------- */

static void basic(void)
{
	attach();
	window(true);
	nvtxMarkA("a mark");
	nvtxMarkW(L"ein W\u00f6rtchen \u20ac \U0001F600 \xD800");
	nvtxMarkA(NULL);
	LEVELS(nvtxRangePushA("outer"), nvtxRangePushW(L"middle"), nvtxRangePushA(""));
	LEVELS(nvtxRangePop(), nvtxRangePop(), nvtxRangePop(), nvtxRangePop());
	uint64_t a = nvtxRangeStartA("over threads"), b = nvtxRangeStartW(L"wide");
	nvtxRangeEnd(a);
	nvtxRangeEnd(b);
	nvtxNameCategoryA(3, "loading");
	nvtxNameCategoryW(4, L"rechn\u00e4n");
	nvtxNameOsThreadA(4242, "loader");
	nvtxNameOsThreadW(4243, L"other");
	nvtxNameOsThreadA(4242, "loader"); /* nothing new */
	nvtxNameOsThreadA(4242, "renamed");
	nvtxNameOsThreadA(4242, "loader");
	nvtxNameCudaStreamA((void *)1, "no harm");
	keep_row("resource %p, user sync %p, enabled %u", nvtxDomainResourceCreate(NULL, NULL), nvtxDomainSyncUserCreate(NULL, NULL), nvtxDomainIsEnabled(NULL));
	window(false);
	nvtxMarkA("unseen");
}

static void domains(void)
{
	attach();
	void *early = nvtxDomainCreateA("early");
	nvtxDomainNameCategoryA(early, 1, "of early");
	void *string = nvtxDomainRegisterStringA(early, "a registered \"name\"");
	window(true);
	void *late = nvtxDomainCreateW(L"sp\u00e4t"), *again = nvtxDomainCreateA("early");
	keep_row("the same: %d", early == again && late != early && early);
	nvtx_attributes a = nvtx_registered(string);
	LEVELS(nvtxDomainRangePushEx(early, &a), nvtxDomainRangePushEx(late, &a), nvtxDomainRangePushEx(early, &a));
	LEVELS(nvtxDomainRangePop(early), nvtxDomainRangePop(late), nvtxDomainRangePop(early), nvtxDomainRangePop(NULL));
	a = nvtx_registered(nvtxDomainRegisterStringW(late, L"\u00fcber"));
	nvtxDomainMarkEx(NULL, &a);
	uint64_t id = nvtxDomainRangeStartEx(late, &a);
	nvtxDomainRangeEnd(late, id);
	nvtxDomainNameCategoryW(late, 9, L"neun");
	nvtxDomainNameCategoryA(early, 1, "of early, anew");
	nvtxDomainDestroy(late);
	nvtxDomainMarkEx(late, &a);
	window(false);
	void *between = nvtxDomainCreateA("between");
	a = nvtx_message("in it");
	window(true);
	nvtxDomainMarkEx(between, &a);
	lac_nvtx_forked(); /* a child's spool has none of these yet */
	window(true);
}

static void attributes(void)
{
	attach();
	window(true);
	nvtx_attributes a = nvtx_message("all");
	a.category = 5;
	a.colorType = 1;
	a.color = 0xFF00AA11;
	static const struct {
		int type;
		uint64_t bits;
	} payloads[] = {{1, 0xFFFFFFFFFFFFFFFF}, {2, (uint64_t)-5}, {3, 0x3FF8000000000000}, {4, 0xDEADBEEF00000007}, {5, 0xFFFFFFFFFFFFFFFF}, {6, 0x3FC00000}, {0, 1}, {7, 1}, {-1, 1}};
	for (unsigned i = 0; i < sizeof payloads / sizeof *payloads; i++) {
		a.payloadType = payloads[i].type;
		a.payload.ull = payloads[i].bits;
		nvtxMarkEx(&a);
	}
	/* What lies past size is poison: on the heap, so that a read of it is seen. */
	for (unsigned size = 0; size <= 48; size += 4) {
		nvtx_attributes *cut = malloc(size < 4 ? 4 : size);
		a.payloadType = 1;
		a.payload.ull = 1;
		a.size = (uint16_t)size;
		memcpy(cut, &a, size < 4 ? 4 : size);
		nvtxMarkEx(cut);
		free(cut);
	}
	a.size = 1000;
	nvtxMarkEx(&a);
	a.colorType = 0;
	a.messageType = 99;
	nvtxMarkEx(&a);
	a.messageType = 2;
	a.message.unicode = L"weit";
	nvtxRangePushEx(&a);
	nvtxRangeEnd(nvtxRangeStartEx(&a));
}

static void garbage(void)
{
	attach();
	window(true);
	static const uint64_t handles[] = {1, 0xDEADBEEF, 0x7FFFFFFFF000, 0xFFFFFFFFFFFFFFFF, 0x4C41430100000001, 0x4C41430200000001, 0x4C414301FFFFFFFF, 0x4C41430300000001};
	nvtx_attributes text = nvtx_message("text"), a;
	nvtxDomainRegisterStringA(NULL, "the only string");
	for (unsigned i = 0; i < sizeof handles / sizeof *handles; i++) {
		void *h = (void *)(uintptr_t)handles[i];
		LEVELS(nvtxDomainRangePushEx(h, &text), nvtxDomainRangePop(h), (int)nvtxDomainRangeStartEx(h, &text));
		nvtxDomainMarkEx(h, &text);
		nvtxDomainRangeEnd(h, 1);
		nvtxDomainNameCategoryA(h, 1, "x");
		nvtxDomainDestroy(h);
		a = nvtx_registered(h);
		nvtxMarkEx(&a);
	}
	nvtxMarkEx(NULL);
	nvtxRangePushEx(NULL);
	nvtxRangePop();
	nvtxDomainRangePushEx(NULL, NULL);
	nvtxRangeEnd(12345);
	nvtxNameCategoryA(1, NULL);
	nvtxNameOsThreadW(1, NULL);
	keep_row("%p %p %p", nvtxDomainCreateA(NULL), nvtxDomainCreateW(NULL), nvtxDomainRegisterStringA(NULL, NULL));
	LEVELS(InitializeInjectionNvtx2(NULL), InitializeInjectionNvtxExtension(NULL), InitializeInjectionNvtx(nvtx_export));
	struct nvtx_info other = {3, sizeof other, 5, 1, 0, NULL, NULL, NULL};
	keep_row("another extension %d", InitializeInjectionNvtxExtension(&other));
}

/* Windows that open while ranges are open. */
static void windows(void)
{
	attach();
	void *d = nvtxDomainCreateA("d");
	nvtx_attributes a = nvtx_message("in d, with a name that is longer than what is kept of it, by a little");
	a.category = 8;
	a.colorType = 1;
	a.color = 0xFF123456;
	nvtxRangePushA("epoch 3");
	nvtxDomainRangePushEx(d, &a);
	nvtxRangePushA("batch 1");
	window(true);
	nvtxRangePop();
	nvtxRangePushA("batch 2");
	window(false);
	nvtxRangePop();
	nvtxRangePushA("batch 3");
	window(true);
	window(false);
	window(true);
	nvtxMarkA("here");
	nvtxRangePop();
	nvtxDomainRangePop(d);
	nvtxRangePop();
	LEVELS(nvtxRangePop(), nvtxDomainRangePop(d));
}

/* Deeper than what is kept: each pop that is told has its push. */
static void deep(void)
{
	char name[32];
	attach();
	for (int i = 0; i < 12; i++) {
		snprintf(name, sizeof name, "level %d", i);
		nvtxRangePushA(name);
	}
	window(true);
	nvtxRangePop();
	nvtxRangePushA("new 11");
	nvtxRangePushA("new 12");
	window(false);
	window(true);
	while (nvtxRangePop() > 6)
		;
	nvtxRangePushA("new 6");
	window(false);
	while (nvtxRangePop() >= 0)
		;
	/* A child of a fork is told what is open, once. */
	nvtxRangePushA("before the fork");
	atomic_store(&lac_on, true);
	lac_nvtx_forked();
	nvtxRangePushA("in the child");
	window(true);
	nvtxRangePop();
	nvtxRangePop();
	window(false);
	/* More domains than a thread has names, and than it has levels, for. */
	nvtx_attributes a = nvtx_message("x");
	void *d[40];
	for (int i = 0; i < 40; i++) {
		snprintf(name, sizeof name, "d%d", i);
		d[i] = nvtxDomainCreateA(name);
		int level = nvtxDomainRangePushEx(d[i], &a);
		if (level != (i < 31 ? 0 : -2)) /* the default domain is the first */
			keep_row("domain %d: level %d", i, level);
	}
	print_rows = false;
	window(true);
	print_rows = true;
	for (int i = 39; i >= 0; i--)
		nvtxDomainRangePop(d[i]);
}

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

static void steps(void)
{
	strcpy(settings.window, "steps");
	attach();
	nvtxRangePushA("step 0");
	nvtxRangePop();
	nvtxRangePushW(L"step 1");
	nvtx_attributes a = nvtx_registered(nvtxDomainRegisterStringA(NULL, "step 2"));
	nvtxRangeStartEx(&a);
	nvtxMarkA("no step");
}

static void off(void)
{
	*settings.dir = 0;
	attach(); /* core is empty then, and the extension says no */
	nvtxRangePushA("x");
	LEVELS(nvtxRangePushA("x"), nvtxDomainCreateA("d") != NULL);
}

static void chain(void)
{
	snprintf(settings.chain_nvtx, sizeof settings.chain_nvtx, "%s", getenv("OTHER"));
	attach();
	window(true);
	LEVELS(nvtxRangePushA("x"));
}

/* Names beyond what is kept: no crash, no endless memory, and rows that were dropped come again. */
static void many(void)
{
	attach();
	char name[64];
	unsigned kept = 0, domains = 0;
	for (unsigned i = 0; i < 400000; i++) {
		snprintf(name, sizeof name, "a name that is used once, %u", i);
		kept += nvtxDomainRegisterStringA(NULL, name) != NULL;
	}
	nvtx_attributes a = nvtx_registered(nvtxDomainRegisterStringA(NULL, "a name that is used once, 0"));
	for (unsigned i = 0; i < 10; i++)
		domains += nvtxDomainCreateA(name) != NULL;
	window(true);
	nvtxMarkEx(&a);
	keep_row("kept at least 200000: %d, all: %d, domains after that: %d", kept >= 200000, kept == 400000, domains);
}

static void dropped(void)
{
	attach();
	nvtxDomainCreateA("d");
	drop = true;
	window(true);
	drop = false;
	window(true);
	window(true);
}

/* --- threads ----------------------------------------------------------------------------------------------------------------- */

enum { THREADS = 16, EVENTS = 4000 };

static void *storm(void *arg)
{
	char name[32];
	for (int i = 0; i < EVENTS; i++) {
		snprintf(name, sizeof name, "domain %d", i % 7);
		void *d = nvtxDomainCreateA(name);
		snprintf(name, sizeof name, "string %d", i % 100);
		nvtx_attributes a = nvtx_registered(nvtxDomainRegisterStringA(d, name));
		nvtxDomainRangePushEx(d, &a);
		nvtxRangePushA("own");
		nvtxDomainNameCategoryA(d, (uint32_t)i % 5, name);
		nvtxRangePop();
		nvtxDomainRangePop(d);
		nvtxRangeEnd(nvtxRangeStartA(arg));
	}
	return NULL;
}

static void *flicker(void *arg)
{
	atomic_bool *stop = arg;
	while (!atomic_load(stop)) {
		lac_nvtx_begins();
		atomic_store(&lac_on, true);
		lac_nvtx_window();
		atomic_store(&lac_on, false);
	}
	return NULL;
}

static void threads(void)
{
	atomic_bool stop = false;
	pthread_t all[THREADS], other;
	print_rows = false;
	attach();
	pthread_create(&other, NULL, flicker, &stop);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&all[i], NULL, storm, "storm");
	for (int i = 0; i < THREADS; i++)
		pthread_join(all[i], NULL);
	atomic_store(&stop, true);
	pthread_join(other, NULL);
	print_rows = true;
	/* What was registered is there once, and no range has the ID of another. */
	lac_nvtx_forked();
	atomic_store(&lac_on, true);
	lac_nvtx_window();
	printf("%zu names, ", n_rows);
	printf("next range %" PRIu64 "\n", nvtxRangeStartA("last"));
	n_rows = 0;
}

static double per_event(bool on, const char *name, int deep)
{
	enum { N = 2000000 };
	atomic_store(&lac_on, on);
	for (int i = 0; i < deep; i++)
		nvtxRangePushA("outer");
	uint64_t began = now_ns();
	for (int i = 0; i < N; i++) {
		nvtxRangePushA(name);
		nvtxRangePop();
	}
	double ns = (double)(now_ns() - began) / N;
	for (int i = 0; i < deep; i++)
		nvtxRangePop();
	return ns;
}

/* ns of a push and a pop together; without the rest of the agent. */
/* The account: a thread's first 1,024 events each for itself, then one in 64 for all of them, and one that was interrupted for itself. */
static void timing(void)
{
	attach();
	atomic_store(&lac_on, true);
	counted = true;
	for (int i = 0; i < 2000; i++) {
		next_takes = i == 32 ? 20000 : i == 1024 ? 60000 : 10;
		nvtxMarkA("m");
	}
	counted = false;
	printf("%llu events, %llu ns\n", (unsigned long long)atomic_load(&lac_accounts.nvtx), (unsigned long long)atomic_load(&lac_accounts.nvtx_ns));
	n_rows = 0;
}

static void cost(void)
{
	print_rows = false;
	printf("no_tool %.1f\n", per_event(false, "forward", 0));
	attach();
	printf("outside %.1f\n", per_event(false, "forward", 0));
	printf("outside_long %.1f\n", per_event(false, "a name of forty bytes, give or take some", 0));
	printf("outside_deep %.1f\n", per_event(false, "forward", 9));
	printf("inside %.1f\n", per_event(true, "forward", 0));
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} all[] = {{"basic", basic}, {"domains", domains}, {"attributes", attributes}, {"garbage", garbage}, {"windows", windows}, {"deep", deep}, {"extended", extended}, {"fuzz", fuzz},
		{"steps", steps}, {"off", off}, {"chain", chain}, {"many", many}, {"dropped", dropped}, {"threads", threads}, {"timing", timing}, {"cost", cost}};
	for (unsigned i = 0; argc == 2 && i < sizeof all / sizeof *all; i++)
		if (!strcmp(argv[1], all[i].name)) {
			all[i].run();
			for (size_t j = 0; j < n_rows; j++)
				puts(rows[j]);
			return 0;
		}
	fprintf(stderr, "usage: %s SCENARIO\n", argv[0]);
	return 2;
}
