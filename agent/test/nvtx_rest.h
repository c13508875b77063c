/* What the rest of the agent does, for test/nvtx_unit.c: rows are kept in memory as text, in their order. */
#ifndef NVTX_REST_H
#define NVTX_REST_H

#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <time.h>

#include "../nvtx.h"
#include "nvtx_client.h"

static lac_settings settings = {.dir = "/somewhere", .window = "whole"};
static char **rows;
static size_t n_rows, room;
static bool print_rows = true, drop;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static atomic_ullong emitted;

atomic_bool lac_on;
lac_account lac_accounts;
const lac_settings *lac_set(void) { return &settings; }
void lac_enter(void) {}
lac_state lac_get_state(void) { return *settings.dir ? LAC_RECORDING : LAC_OFF; }
uint32_t lac_tid(void) { return 7; }
void lac_step_began(const char *name) { printf("step %s\n", name); }
double lac_ns_per_cycle(void) { return 1; }
void lac_out_note(const char *kind, const char *fields) { printf("note %s {%s}\n", kind, fields); }

static uint64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}
uint64_t lac_real_ns(void) { return now_ns(); }
/* Counted, not measured, in the scenario timing: an event's second reading is 10 after its first, or what is next. */
static bool counted;
static uint64_t cycles, next_takes = 10;
uint64_t lac_cycles(void)
{
	if (!counted)
		return now_ns();
	cycles += next_takes;
	return cycles;
}

size_t lac_json(char *to, size_t size, const char *text)
{
	size_t n = 0;
	for (; *text; text++) {
		char one[8];
		int m = *text == '"' || *text == '\\' ? snprintf(one, sizeof one, "\\%c", *text) : (unsigned char)*text < 32 ? snprintf(one, sizeof one, "\\u%04x", *text) : snprintf(one, sizeof one, "%c", *text);
		for (int i = 0; i < m; i++, n++)
			if (n + 1 < size)
				to[n] = one[i];
	}
	if (size)
		to[n < size ? n : size - 1] = 0;
	return n;
}

static void keep_row(const char *format, ...)
{
	va_list args;
	char *line;
	va_start(args, format);
	if (vasprintf(&line, format, args) < 0)
		abort();
	va_end(args);
	pthread_mutex_lock(&mutex);
	if (n_rows == room)
		rows = realloc(rows, (room = room ? 2 * room : 64) * sizeof *rows);
	rows[n_rows++] = line;
	pthread_mutex_unlock(&mutex);
}

static const char *text_at(uint16_t at, const lac_text *texts, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (texts[i].at == at) {
			static __thread char copies[2][20000];
			static __thread unsigned which;
			char *copy = copies[which++ % 2];
			size_t bytes = texts[i].bytes == SIZE_MAX ? strlen(texts[i].text) : texts[i].bytes;
			snprintf(copy, sizeof copies[0], "%.*s", (int)bytes, texts[i].text);
			return copy;
		}
	return NULL;
}

bool lac_emit(uint16_t table, const void *row, uint16_t bytes, const lac_text *texts, unsigned n)
{
	static const char *const what[] = {"?", "push", "pop", "start", "end", "mark"};
	atomic_fetch_add(&emitted, 1);
	if (drop)
		return false;
	if (!print_rows)
		return true;
	if (table == SPOOL_T_nvtx && bytes == sizeof(spool_nvtx)) {
		const spool_nvtx *r = row;
		char line[8192];
		int at = snprintf(line, sizeof line, "%s", what[r->what]);
#define ADD(has, ...) at += (has) ? snprintf(line + at, sizeof line - (size_t)at, __VA_ARGS__) : 0
		ADD(r->domain, " domain=%u", r->domain);
		ADD(r->id, " id=%" PRIu64, r->id);
		ADD(text_at(LAC_AT(nvtx, name), texts, n), " '%s'", text_at(LAC_AT(nvtx, name), texts, n));
		ADD(r->category, " category=%u", r->category);
		ADD(r->color, " color=%08x", r->color);
		ADD(r->payload_type || r->payload, " payload=%u:%" PRIx64, r->payload_type, r->payload);
		ADD(text_at(LAC_AT(nvtx, extended), texts, n), " %s", text_at(LAC_AT(nvtx, extended), texts, n));
		keep_row("%s", line);
	} else if (table == SPOOL_T_domain && bytes == sizeof(spool_domain)) {
		keep_row("domain %u %s", ((const spool_domain *)row)->domain, text_at(LAC_AT(domain, name), texts, n));
	} else if (table == SPOOL_T_category && bytes == sizeof(spool_category)) {
		const spool_category *r = row;
		keep_row("category %u:%u %s", r->domain, r->category, text_at(LAC_AT(category, name), texts, n));
	} else if (table == SPOOL_T_thread && bytes == sizeof(spool_thread)) {
		keep_row("thread %u %s", ((const spool_thread *)row)->tid, text_at(LAC_AT(thread, name), texts, n));
	} else {
		keep_row("table %u, %u bytes", table, bytes);
	}
	return true;
}

static void window(bool on)
{
	if (on)
		lac_nvtx_begins();
	atomic_store(&lac_on, on);
	if (on)
		lac_nvtx_window();
	keep_row("window %s", on ? "begins" : "ends");
}

int InitializeInjectionNvtx2(const void *(*get)(uint32_t));
int InitializeInjectionNvtx(const void *(*get)(uint32_t));
int InitializeInjectionNvtxExtension(struct nvtx_info *info);

static void attach(void)
{
	if (!nvtx_attach(InitializeInjectionNvtx2, InitializeInjectionNvtxExtension))
		printf("not attached\n");
}

/* The results of calls, in the order of the calls. */
#define LEVELS(...) \
	do { \
		const int all[] = {__VA_ARGS__}; \
		char line[256]; \
		int at = snprintf(line, sizeof line, "levels"); \
		for (unsigned i = 0; i < sizeof all / sizeof *all; i++) \
			at += snprintf(line + at, sizeof line - (size_t)at, " %d", all[i]); \
		keep_row("%s", line); \
	} while (0)

#endif
