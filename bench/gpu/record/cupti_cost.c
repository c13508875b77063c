/* What each part of CUPTI costs a program: an injection library (CUDA_INJECTION64_PATH) that cupti_cost.py switches while the program runs.
 *   cc -shared -fPIC -O2 -Wall -Wextra cupti_cost.c -o cupti_cost.so -ldl -lpthread
 * cost_set takes names with commas: kernel copy memory overhead sync event runtime driver (kinds), quiet (calls that only ask are switched
 * off one by one), calls (callbacks of calls that matter, both domains, which note time and correlation). cost_clear takes all off. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define API __attribute__((visibility("default")))

static uint32_t (*subscribe)(void **, void *, void *), (*callbacks)(void *, void *), (*enable)(uint32_t), (*disable)(uint32_t), (*flush)(uint32_t);
static uint32_t (*next)(uint8_t *, size_t, uint8_t **), (*name_of)(uint32_t, uint32_t, const char **), (*callback)(uint32_t, void *, uint32_t, uint32_t);
static uint32_t (*one[3])(uint32_t, uint8_t); /* cuptiActivityEnableDriverApi, RuntimeApi, by domain */
static void *subscriber;
static atomic_ulong records[64], calls;
static _Thread_local uint64_t last[4]; /* where a real tool would keep a row */

enum { BUFFER = 1 << 20, CBIDS = 1200 };
static const uint32_t kinds[] = {10, 1, 2, 22, 49, 50, 17, 38, 36, 5, 4};

static uint64_t now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void on_call(void *user, uint32_t domain, uint32_t cbid, const void *data)
{
	(void)user, (void)domain;
	uint64_t *kept = *(uint64_t *const *)((const char *)data + 56);
	if (*(const uint32_t *)data == 0) {
		if (kept != NULL)
			*kept = now();
		return;
	}
	last[0] = kept != NULL ? *kept : 0, last[1] = now(), last[2] = *(const uint32_t *)((const char *)data + 64), last[3] = cbid;
	calls++;
}

static void requested(uint8_t **buffer, size_t *size, size_t *most)
{
	*buffer = aligned_alloc(8, BUFFER), *size = BUFFER, *most = 0;
}

static void completed(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
	(void)context, (void)stream, (void)size;
	for (uint8_t *r = NULL; valid > 0 && next(buffer, valid, &r) == 0;)
		if (*(uint32_t *)r < 64)
			records[*(uint32_t *)r]++;
	free(buffer);
}

static void *flusher(void *unused)
{
	for (;;) {
		usleep(500000);
		flush(0);
	}
	return unused;
}

static int matters(const char *name)
{
	static const char *const words[] = {"Launch", "Memcpy", "Memset", "Synchronize", "WaitEvent", "EventRecord", "Malloc", "Free", "Alloc", "GraphInst", "Capture", "ModuleLoad", "LibraryLoad", "StreamCreate"};
	if (strstr(name, "IsCapturing") || strstr(name, "GetCaptureInfo") || strstr(name, "ThreadExchange"))
		return 0;
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strstr(name, words[i]))
			return 1;
	return 0;
}

static void each(int of_interest, void (*what)(uint32_t domain, uint32_t cbid, int on), int on)
{
	for (uint32_t domain = 1; domain <= 2; domain++)
		for (uint32_t cbid = 1; cbid < CBIDS; cbid++) {
			const char *name = NULL;
			if (name_of(domain, cbid, &name) == 0 && name != NULL && matters(name) == of_interest)
				what(domain, cbid, on);
		}
}

static void switch_callback(uint32_t domain, uint32_t cbid, int on) { callback((uint32_t)on, subscriber, domain, cbid); }
static void switch_record(uint32_t domain, uint32_t cbid, int on) { one[domain](cbid, (uint8_t)on); }

static int has(const char *list, const char *word)
{
	const size_t n = strlen(word);
	for (const char *at = strstr(list, word); at != NULL; at = strstr(at + 1, word))
		if ((at == list || at[-1] == ',') && (at[n] == 0 || at[n] == ','))
			return 1;
	return 0;
}

API void cost_set(const char *list)
{
	static const struct {
		const char *word;
		uint32_t kinds[3];
	} words[] = {{"kernel", {10}}, {"copy", {1, 2, 22}}, {"memory", {49, 50}}, {"overhead", {17}}, {"sync", {38}}, {"event", {36}}, {"runtime", {5}}, {"driver", {4}}};
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		for (int k = 0; k < 3 && has(list, words[i].word); k++)
			if (words[i].kinds[k] != 0)
				enable(words[i].kinds[k]);
	if (has(list, "quiet"))
		each(0, switch_record, 0);
	if (has(list, "calls"))
		each(1, switch_callback, 1);
}

API void cost_clear(void)
{
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		disable(kinds[i]);
	each(1, switch_callback, 0);
}

API void cost_flush(void) { flush(1); }
API unsigned long cost_count(int kind) { return kind < 0 ? calls : records[kind & 63]; }

API int InitializeInjection(void)
{
	void *lib = dlopen("libcupti.so.13", RTLD_NOW | RTLD_NOLOAD);
	if (lib == NULL && (lib = dlopen("libcupti.so.13", RTLD_NOW)) == NULL && (lib = dlopen("libcupti.so.12", RTLD_NOW)) == NULL) {
		fprintf(stderr, "cupti_cost: %s\n", dlerror());
		return 1;
	}
	const struct {
		void *to;
		const char *symbol;
	} wanted[] = {{&subscribe, "cuptiSubscribe"}, {&callbacks, "cuptiActivityRegisterCallbacks"}, {&enable, "cuptiActivityEnable"}, {&disable, "cuptiActivityDisable"},
		{&flush, "cuptiActivityFlushAll"}, {&next, "cuptiActivityGetNextRecord"}, {&name_of, "cuptiGetCallbackName"}, {&callback, "cuptiEnableCallback"},
		{&one[1], "cuptiActivityEnableDriverApi"}, {&one[2], "cuptiActivityEnableRuntimeApi"}};
	for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
		*(void **)wanted[i].to = dlsym(lib, wanted[i].symbol);
	pthread_t thread;
	if (subscribe(&subscriber, on_call, NULL) != 0 || callbacks(requested, completed) != 0 || pthread_create(&thread, NULL, flusher, NULL) != 0)
		fprintf(stderr, "cupti_cost: cannot begin\n");
	return 1;
}
