//go:build ignore

/* GPUs as the driver describes them. CUPTI tells of devices only where its kind is on while CUDA comes up (CUPTI 13.0, H200: a recording that is
 * armed and started later got no such record); then the driver is asked here, with queries that change nothing. Only of a GPU that a record has
 * named: so CUDA is up, and cuInit is over. Writer's thread only, never a callback. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>

#include "cupti.h"

/* CUdevice_attribute. */
enum {
	WARP = 10, CLOCK_KHZ = 13, SMS = 16, MEMORY_KHZ = 36, BUS_BITS = 37, L2 = 38, THREADS_PER_SM = 39, MAJOR = 75, MINOR = 76,
	SHARED_PER_SM = 81, REGISTERS_PER_SM = 82
};
enum { DEVICES = 64 };

/* Q(member, symbol, arguments). The newer name of a function is tried first. */
#define QUERIES(Q) \
	Q(get, "cuDeviceGet", "cuDeviceGet", (int *, int)) Q(name, "cuDeviceGetName", "cuDeviceGetName", (char *, int, int)) \
	Q(attribute, "cuDeviceGetAttribute", "cuDeviceGetAttribute", (int *, int, int)) Q(memory, "cuDeviceTotalMem_v2", "cuDeviceTotalMem", (size_t *, int)) \
	Q(uuid, "cuDeviceGetUuid_v2", "cuDeviceGetUuid", (uint8_t *, int))
#define MEMBER(member, newer, older, arguments) int (*member) arguments;

typedef struct {
	QUERIES(MEMBER)
} driver;

static uint64_t used, told; /* a bit each */

void lac_device_used(uint32_t device)
{
	if (device < DEVICES)
		used |= 1ull << device;
}

bool lac_device_told(uint32_t device)
{
	const uint64_t bit = device < DEVICES ? 1ull << device : 0, was = told;
	told |= bit;
	return (was & bit) != 0;
}

uint32_t lac_uuid_text(const uint8_t *uuid)
{
	/* "GPU-8-4-4-4-12", as NVML and nvidia-smi write it. */
	char text[41] = "GPU-";
	size_t n = 4;
	for (size_t i = 0; i < 16; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			text[n++] = '-';
		text[n++] = "0123456789abcdef"[uuid[i] >> 4];
		text[n++] = "0123456789abcdef"[uuid[i] & 15];
	}
	return lac_out_text(text, n);
}

static bool find(driver *d)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	if (library == NULL)
		return false;
	void *symbol;
#define BIND(member, newer, older, arguments) \
	if ((symbol = dlsym(library, newer)) == NULL && (symbol = dlsym(library, older)) == NULL) \
		return false; \
	memcpy(&d->member, &symbol, sizeof symbol);
	QUERIES(BIND)
#undef BIND
	return true; /* the program has it loaded for good, and one more count does no harm */
}

static uint32_t attribute(const driver *d, int device, int which)
{
	int value = 0;
	return d->attribute(&value, which, device) == 0 && value > 0 ? (uint32_t)value : 0;
}

static void ask(const driver *d, uint32_t ordinal)
{
	int device;
	char name[256] = "";
	uint8_t uuid[16];
	size_t memory = 0;
	if (d->get(&device, (int)ordinal) != 0 || d->name(name, sizeof name - 1, device) != 0)
		return;
	const uint32_t warp = attribute(d, device, WARP);
	const spool_device row = {
		.device = ordinal, .name = lac_out_text(name, SIZE_MAX), .uuid = d->uuid(uuid, device) == 0 ? lac_uuid_text(uuid) : 0,
		.major = attribute(d, device, MAJOR), .minor = attribute(d, device, MINOR), .sms = attribute(d, device, SMS), .warp = warp, .clock_khz = attribute(d, device, CLOCK_KHZ),
		/* Two transfers a clock: CUPTI's 4,814,304,000 of an H200 are 3,201 MHz and 6,016 bits so; GPUs were not asked for both yet. */
		.bandwidth_kbs = (uint64_t)attribute(d, device, MEMORY_KHZ) * 2 * attribute(d, device, BUS_BITS) / 8,
		.memory = d->memory(&memory, device) == 0 ? memory : 0, .l2 = attribute(d, device, L2), .shared_per_sm = attribute(d, device, SHARED_PER_SM),
		.registers_per_sm = attribute(d, device, REGISTERS_PER_SM), .warps_per_sm = warp > 0 ? attribute(d, device, THREADS_PER_SM) / warp : 0,
	};
	atomic_fetch_add_explicit(&lac_accounts.records, 1, memory_order_relaxed);
	lac_out_row(SPOOL_T_device, &row, sizeof row);
}

void lac_devices_ask(void)
{
	static driver d;
	if ((used & ~told) == 0)
		return;
	const bool found = d.uuid != NULL || find(&d);
	for (uint32_t i = 0; i < DEVICES; i++)
		if ((used >> i & 1) != 0 && !lac_device_told(i) && found)
			ask(&d, i);
}

void lac_devices_forked(void) { used = told = 0; }
