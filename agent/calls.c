//go:build ignore

/* Which of CUDA's some 1,500 calls are recorded: what launches, copies, sets, waits, allocates, frees, builds graphs, loads code,
 * or makes streams and contexts. Not what only asks (cudaGetDevice, cudaEventQuery): a framework asks several times per launch,
 * and each record costs the program. They are chosen by name when recording starts, so that no table of IDs has to be kept. */
#include <string.h>

#include "cupti.h"

/* Beginnings of names without "cuda" or "cu". */
static const char *const matter[] = {
	"Launch", "GraphLaunch", "GraphInstantiate", "GraphExecUpdate", "GraphUpload", "GraphExecDestroy", "GraphDestroy", "GraphClone",
	"Memcpy", "Memset", "MemPrefetch", "MemAdvise", "MemBatch", "MemAlloc", "MemFree", "MemHost", "MemCreate", "MemRelease", "MemMap",
	"MemUnmap", "MemSetAccess", "MemAddress", "MemPoolCreate", "MemPoolDestroy", "MemPoolTrim", "Malloc", "Free", "HostAlloc", "HostRegister", "HostUnregister",
	"ArrayCreate", "ArrayDestroy", "EventCreate", "EventRecord", "EventSynchronize", "EventDestroy",
	"StreamCreate", "StreamDestroy", "StreamSynchronize", "StreamWait", "StreamWrite", "StreamBatch", "StreamBegin", "StreamEndCapture", "StreamAddCallback", "StreamAttach",
	"DeviceSynchronize", "ThreadSynchronize", "CtxSynchronize", "CtxCreate", "CtxDestroy", "DevicePrimaryCtxRetain", "DevicePrimaryCtxRelease", "DevicePrimaryCtxReset", "DeviceReset",
	"ModuleLoad", "ModuleUnload", "LibraryLoad", "LibraryUnload", "LinkCreate", "LinkAdd", "LinkComplete", "ProfilerStart", "ProfilerStop", "Init",
	"IpcOpen", "IpcClose", "DeviceEnablePeerAccess", "CtxEnablePeerAccess", "MulticastCreate", "MulticastBind",
};

/* The name without "cuda" or "cu". */
static const char *stem(const char *name)
{
	if (strncmp(name, "cuda", 4) == 0)
		return name + 4;
	return strncmp(name, "cu", 2) == 0 ? name + 2 : name;
}

bool lac_call_matters(const char *name)
{
	const char *s = stem(name);
	for (size_t i = 0; i < sizeof matter / sizeof *matter; i++)
		if (strncmp(s, matter[i], strlen(matter[i])) == 0)
			return true;
	return false;
}

bool lac_call_launches(const char *name)
{
	const char *s = stem(name);
	return strncmp(s, "Launch", 6) == 0 && strncmp(s, "LaunchHostFunc", 14) != 0;
}

/* Every call of a domain that has a name. IDs have gaps; their end is where 64 in a row have none. */
static void each(uint32_t domain, void (*what)(uint32_t domain, uint32_t cbid, const char *name, void *arg), void *arg)
{
	unsigned nameless = 0;
	for (uint32_t cbid = 1; cbid < 4096 && nameless < 64; cbid++) {
		const char *name = NULL;
		if (lac_cupti.callback_name(domain, cbid, &name) != CUPTI_OK || name == NULL) {
			nameless++;
			continue;
		}
		nameless = 0;
		what(domain, cbid, name, arg);
	}
}

typedef struct {
	bool on;
	unsigned taken;
} selection;

static void select_one(uint32_t domain, uint32_t cbid, const char *name, void *arg)
{
	const lac_cupti_api *api = &lac_cupti;
	selection *s = arg;
	if (!lac_call_matters(name))
		return;
	const bool runtime = domain == CUPTI_RUNTIME;
	const uint32_t result = api->shared ? (runtime ? api->runtime_api2 : api->driver_api2)(api->subscriber, cbid, s->on) : (runtime ? api->runtime_api : api->driver_api)(cbid, s->on);
	s->taken += result == CUPTI_OK;
}

/* From 12.5 on CUPTI can be told of single calls, and the kind itself stays off: launch-bound loops then take 1.00 to 1.05 times
 * as long. With the kind on and the other calls switched off one by one they took 1.22 to 1.33 times as long, because every call then goes
 * through CUPTI (H200, CUPTI 13.0; docs/capture.md). False: this release cannot; the kind must be on, and records.c leaves out the rest. */
bool lac_calls_select(uint32_t domain, bool on)
{
	const lac_cupti_api *api = &lac_cupti;
	const bool runtime = domain == CUPTI_RUNTIME;
	if (api->shared ? (runtime ? api->runtime_api2 : api->driver_api2) == NULL : (runtime ? api->runtime_api : api->driver_api) == NULL)
		return false;
	selection s = {.on = on};
	each(domain, select_one, &s);
	return s.taken > 0;
}

static void wait_one(uint32_t domain, uint32_t cbid, const char *name, void *arg)
{
	if (lac_waits_take(domain, cbid, name))
		lac_cupti.enable_callback(*(bool *)arg, lac_cupti.subscriber, domain, cbid);
}

void lac_calls_waits(bool on)
{
	each(CUPTI_DRIVER, wait_one, &on);
	each(CUPTI_RUNTIME, wait_one, &on);
}
