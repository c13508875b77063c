/* What calls.c and waits.c share: a call's callback. */
#ifndef LACUNA_CALLS_H
#define LACUNA_CALLS_H

#include "cupti.h"

/* CUpti_CallbackData: valid during the callback only. */
typedef struct {
	uint32_t site, pad; /* 0 the call begins, 1 it ends */
	const char *function;
	void *const *parameters;
	const uint32_t *result;
	const char *symbol;
	void *context;
	uint32_t context_id, pad2;
	uint64_t *kept; /* ours, from the call's beginning to its end */
	uint32_t corr;
} lac_call_data;

typedef enum { LAC_NO_WAIT, LAC_RECORDS, LAC_STREAM_WAITS, LAC_EVENT_SYNC, LAC_STREAM_SYNC, LAC_DEVICE_SYNC } lac_wait;

/* What a call is, by its name without "cuda" or "cu". */
lac_wait lac_wait_of(const char *stem);
/* The rows of a call that waited or recorded an event. per_thread: its default stream is the thread's own. */
void lac_wait_ended(lac_wait wait, const lac_call_data *c, bool per_thread, uint64_t start, uint64_t end);

#endif
