//go:build ignore

/* Tries libraries until CUPTI answers, and becomes its subscriber. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "cupti.h"

/* Of the attempts under way; one search at a time (cupti.c's life). */
static int outcome; /* 0 taken, -1 failed, -2 another client has it */
static lac_cupti_callback on_callback;
static char why[512], holder[128];

static uint32_t register_buffers(void)
{
	lac_buffers_limit(lac_set()->memory / 2, lac_cupti.version >= CUPTI_12_9); /* the rings have the other half */
	lac_buffers_zeroed(false);
	if (lac_cupti.shared)
		return lac_cupti.register_callbacks2(lac_cupti.subscriber, lac_buffer_requested2, lac_buffer_completed2);
	enum { ZEROED_OUT_ACTIVITY_BUFFER = 5 }; /* CUpti_ActivityAttribute */
	lac_buffers_zeroed(lac_cupti.set_attribute != NULL && lac_cupti.set_attribute(ZEROED_OUT_ACTIVITY_BUFFER, &(size_t){1}, &(uint8_t){1}) == CUPTI_OK);
	return lac_cupti.register_callbacks(lac_buffer_requested, lac_buffer_completed);
}

/* From 13.3 on clients may share CUPTI, if the first of them allowed it. All that we then call must be of the second form. */
static uint32_t subscribe_shared(void)
{
	lac_cupti_api *api = &lac_cupti;
	if (api->version < CUPTI_13_3 || api->subscribe2 == NULL || api->register_callbacks2 == NULL || api->enable2 == NULL || api->disable2 == NULL || api->next_record2 == NULL)
		return CUPTI_TOO_NEW;
	lac_cupti_params params = {.size = sizeof params, .name = "lacuna", .holder = holder, .holder_size = sizeof holder, .share = 1};
	uint32_t result = api->subscribe2(&api->subscriber, on_callback, NULL, &params);
	if (result != CUPTI_OK)
		return result;
	api->shared = true;
	if (register_buffers() == CUPTI_OK && lac_kinds_probe() == CUPTI_OK)
		return CUPTI_OK;
	api->shared = false;
	api->unsubscribe(api->subscriber);
	return CUPTI_TOO_NEW;
}

static uint32_t subscribe(void)
{
	*holder = 0;
	lac_cupti.shared = false;
	uint32_t result = subscribe_shared();
	if (result == CUPTI_OK || result == CUPTI_TAKEN)
		return result;
	result = lac_cupti.subscribe(&lac_cupti.subscriber, on_callback, NULL);
	if (result != CUPTI_OK)
		return result;
	if ((result = register_buffers()) == CUPTI_OK)
		result = lac_kinds_probe();
	if (result != CUPTI_OK)
		lac_cupti.unsubscribe(lac_cupti.subscriber);
	return result;
}

static void refused(uint32_t code)
{
	char by[128], text[256], fields[640];
	if (*holder == 0)
		lac_find_holder(holder, sizeof holder);
	snprintf(why, sizeof why, "CUPTI serves one client at a time, and %s has it", *holder != 0 ? holder : "another tool");
	lac_json(by, sizeof by, holder);
	lac_json(text, sizeof text, why);
	snprintf(fields, sizeof fields, "\"code\":%u,\"why\":\"%s\",\"holder\":\"%s\"", code, text, by);
	lac_out_note("refused", fields);
	outcome = -2;
}

/* Tries one library. True: the search is over, outcome says how. */
static bool attempt(const char *path, bool loaded)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL | (loaded ? RTLD_NOLOAD : 0));
	if (library == NULL) {
		if (*why == 0 || *lac_set()->cupti != 0)
			snprintf(why, sizeof why, "%s", dlerror());
		return false;
	}
	static void *bound;
	const char *missing = NULL;
	if (library != bound) { /* the same again after a stop: a callback that is about to return may still read it */
		lac_cupti = (lac_cupti_api){.driver = lac_cupti.driver};
		bound = NULL;
		missing = lac_cupti_bind(&lac_cupti, library);
	}
	if (missing != NULL || lac_cupti.get_version(&lac_cupti.version) != CUPTI_OK) {
		snprintf(why, sizeof why, "%s: is not a usable CUPTI: it lacks %s", path, missing != NULL ? missing : "a version");
		return false;
	}
	if (lac_cupti.version < CUPTI_11_8) {
		snprintf(why, sizeof why, "%s: is CUPTI of version %u, older than that of CUDA 11.8", path, lac_cupti.version);
		return false;
	}
	bound = library;
	Dl_info info;
	void *symbol;
	memcpy(&symbol, &lac_cupti.subscribe, sizeof symbol);
	snprintf(lac_cupti.path, sizeof lac_cupti.path, "%s", dladdr(symbol, &info) != 0 && info.dli_fname != NULL ? info.dli_fname : path);
	const uint32_t result = subscribe();
	if (result == CUPTI_TAKEN) {
		refused(result);
		return true;
	}
	if (result != CUPTI_OK) {
		snprintf(why, sizeof why, "%.300s: CUPTI answers %u %.100s%s", lac_cupti.path, result, lac_cupti_result(result), result == CUPTI_TOO_NEW ? " (newer than the driver?)" : "");
		return false; /* it stays loaded: unloading would pull its threads' code away */
	}
	lac_buffers_prepare();
	outcome = 0;
	return true;
}

int lac_cupti_subscribe(lac_cupti_callback callback, char *reason, size_t size)
{
	on_callback = callback;
	outcome = -1;
	*why = 0;
	lac_cupti.driver = lac_driver_version();
	if (lac_cupti.driver == 0) /* CUPTI would load and start it */
		snprintf(why, sizeof why, "the program has not loaded CUDA's driver");
	else if (!lac_find_cupti(lac_cupti.driver, attempt) && *why == 0)
		snprintf(why, sizeof why, "libcupti: was not found; install nvidia-cuda-cupti or the CUDA toolkit, or name it with --cupti");
	if (outcome == 0) {
		*why = 0;
		if (lac_cupti.thread_ids != NULL && lac_kinds_group("tid"))
			lac_cupti.thread_ids(1); /* the system's, as everywhere else */
	}
	snprintf(reason, size, "%s", why);
	return outcome;
}
