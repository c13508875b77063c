/* Drives the agent's NVTX side alone and prints the rows that it would write, one a line: nvtx_unit SCENARIO. What the rest of
 * the agent does is replaced by nvtx_rest.h. */
#define _GNU_SOURCE
#include <unistd.h>

#include "nvtx_rest.h"
#include "nvtx_payloads.h"

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
