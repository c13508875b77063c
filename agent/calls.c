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

/* How CUPTI is told: true, it records all calls and the others are switched off one by one; false, it is told only of those that
 * are wanted, and the kind stays off. */
static const bool switch_off = true;

void lac_calls_select(uint32_t domain)
{
	const lac_cupti_api *api = &lac_cupti;
	const bool runtime = domain == CUPTI_RUNTIME;
	unsigned nameless = 0;
	/* IDs have gaps; their end is where 64 in a row have no name. */
	for (uint32_t cbid = 1; cbid < 4096 && nameless < 64; cbid++) {
		const char *name = NULL;
		if (api->callback_name(domain, cbid, &name) != CUPTI_OK || name == NULL) {
			nameless++;
			continue;
		}
		nameless = 0;
		const bool wanted = lac_call_matters(name);
		if (wanted == switch_off)
			continue;
		if (api->shared) {
			uint32_t (*set)(void *, uint32_t, uint8_t) = runtime ? api->runtime_api2 : api->driver_api2;
			if (set == NULL || set(api->subscriber, cbid, wanted) != CUPTI_OK)
				return; /* then records.c leaves them out */
		} else {
			uint32_t (*set)(uint32_t, uint8_t) = runtime ? api->runtime_api : api->driver_api;
			if (set == NULL)
				return;
			set(cbid, wanted);
		}
	}
}
