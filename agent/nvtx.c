//go:build ignore

/* NVTX's functions: the program's annotations become rows. NVTX finds us by NVTX_INJECTION64_PATH at the first call that
 * the program makes, CUDA or not; each library of the program that has NVTX compiled in asks on its own. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

#include "nvtx.h"

/* nvtxEventAttributes_t: versions 1 to 3 have one layout; size says how much of it is there. */
typedef struct {
	uint16_t version, size;
	uint32_t category;
	int32_t color_type;
	uint32_t color;
	int32_t payload_type;
	int32_t extended; /* with payload_type EXTENDED: how many lac_payload the payload points to */
	uint64_t payload;
	int32_t message_type;
	uint64_t message;
} attributes;
_Static_assert(sizeof(attributes) == 48, "nvtxEventAttributes_t has 48 bytes");
#define HAS(a, field) ((a)->size >= offsetof(attributes, field) + sizeof (a)->field)

enum { COLOR_ARGB = 1, MESSAGE_ASCII = 1, MESSAGE_WIDE, MESSAGE_REGISTERED, PAYLOAD_LAST = 6, PAYLOAD_32_BITS = 4 /* this type and later ones */, EXTENDED = (int32_t)0xDFBD0009 };

/* --- what NVTX calls ----------------------------------------------------------------------------------------------------- */

/* An event of attributes of which nothing is read past their size. wide: LAC_WIDE for a message in wchar_t. */
static lac_event event_of(const void *from, char *wide)
{
	lac_event e = {0};
	const attributes *a = from;
	if (!a)
		return e;
	if (HAS(a, category))
		e.category = a->category;
	if (HAS(a, color) && a->color_type == COLOR_ARGB)
		e.color = a->color;
	if (HAS(a, payload)) {
		if (a->payload_type > 0 && a->payload_type <= PAYLOAD_LAST) {
			e.payload_type = (uint8_t)a->payload_type;
			e.payload = a->payload_type >= PAYLOAD_32_BITS ? (uint32_t)a->payload : a->payload;
		} else if (a->payload_type == EXTENDED && a->extended > 0) {
			e.extended = (const lac_payload *)(uintptr_t)a->payload;
			e.n = e.extended ? (size_t)a->extended : 0;
		}
	}
	const void *message = HAS(a, message) ? (const void *)(uintptr_t)a->message : NULL;
	if (!message)
		return e;
	if (a->message_type == MESSAGE_ASCII) {
		e.text = message;
	} else if (a->message_type == MESSAGE_WIDE) {
		lac_utf8(wide, LAC_WIDE, message);
		e.text = wide;
	} else if (a->message_type == MESSAGE_REGISTERED) {
		const lac_name *name = lac_name_of(LAC_NAME_STRING, message);
		e.text = name ? name->text : NULL;
	}
	return e;
}

static lac_event event_a(const char *text)
{
	return (lac_event){.text = text};
}

static lac_event event_w(const wchar_t *text, char *wide)
{
	if (text)
		lac_utf8(wide, LAC_WIDE, text);
	return (lac_event){.text = text ? wide : NULL};
}

static void hook_mark_ex(const void *a) { char wide[LAC_WIDE]; lac_event e = event_of(a, wide); lac_nvtx_one(LAC_MARK, 0, 0, &e); }
static void hook_mark_a(const char *text) { lac_event e = event_a(text); lac_nvtx_one(LAC_MARK, 0, 0, &e); }
static void hook_mark_w(const wchar_t *text) { char wide[LAC_WIDE]; lac_event e = event_w(text, wide); lac_nvtx_one(LAC_MARK, 0, 0, &e); }
static uint64_t hook_start_ex(const void *a) { char wide[LAC_WIDE]; lac_event e = event_of(a, wide); return lac_nvtx_start(0, &e); }
static uint64_t hook_start_a(const char *text) { lac_event e = event_a(text); return lac_nvtx_start(0, &e); }
static uint64_t hook_start_w(const wchar_t *text) { char wide[LAC_WIDE]; lac_event e = event_w(text, wide); return lac_nvtx_start(0, &e); }
static void hook_end(uint64_t id) { lac_nvtx_one(LAC_END, 0, id, NULL); }
static int hook_push_ex(const void *a) { char wide[LAC_WIDE]; lac_event e = event_of(a, wide); return lac_nvtx_push(0, &e); }
static int hook_push_a(const char *text) { lac_event e = event_a(text); return lac_nvtx_push(0, &e); }
static int hook_push_w(const wchar_t *text) { char wide[LAC_WIDE]; lac_event e = event_w(text, wide); return lac_nvtx_push(0, &e); }
static int hook_pop(void) { return lac_nvtx_pop(0, NULL); }

static void *keep_a(lac_name_kind kind, const char *text)
{
	return text ? lac_name_handle(lac_name_keep(kind, text, strlen(text))) : NULL;
}

static void *keep_w(lac_name_kind kind, const wchar_t *text)
{
	char wide[LAC_WIDE];
	return text ? lac_name_handle(lac_name_keep(kind, wide, lac_utf8(wide, sizeof wide, text))) : NULL;
}

static void call_a(lac_name_kind kind, uint32_t domain, uint32_t id, const char *text)
{
	if (text)
		lac_name_call(kind, domain, id, text, strlen(text));
}

static void call_w(lac_name_kind kind, uint32_t domain, uint32_t id, const wchar_t *text)
{
	char wide[LAC_WIDE];
	if (text)
		lac_name_call(kind, domain, id, wide, lac_utf8(wide, sizeof wide, text));
}

static void hook_category_a(uint32_t id, const char *text) { call_a(LAC_NAME_CATEGORY, 0, id, text); }
static void hook_category_w(uint32_t id, const wchar_t *text) { call_w(LAC_NAME_CATEGORY, 0, id, text); }
static void hook_thread_a(uint32_t tid, const char *text) { call_a(LAC_NAME_THREAD, 0, tid, text); }
static void hook_thread_w(uint32_t tid, const wchar_t *text) { call_w(LAC_NAME_THREAD, 0, tid, text); }

/* Of a domain that is none of ours nothing is taken. */
static void hook_domain_mark(void *domain, const void *a)
{
	char wide[LAC_WIDE];
	uint32_t d;
	lac_event e = event_of(a, wide);
	if (lac_domain_of(domain, &d))
		lac_nvtx_one(LAC_MARK, d, 0, &e);
}

static uint64_t hook_domain_start(void *domain, const void *a)
{
	char wide[LAC_WIDE];
	uint32_t d;
	lac_event e = event_of(a, wide);
	return lac_domain_of(domain, &d) ? lac_nvtx_start(d, &e) : 0;
}

static void hook_domain_end(void *domain, uint64_t id)
{
	uint32_t d;
	if (lac_domain_of(domain, &d))
		lac_nvtx_one(LAC_END, d, id, NULL);
}

static int hook_domain_push(void *domain, const void *a)
{
	char wide[LAC_WIDE];
	uint32_t d;
	lac_event e = event_of(a, wide);
	return lac_domain_of(domain, &d) ? lac_nvtx_push(d, &e) : LAC_NO_TRACKING;
}

static int hook_domain_pop(void *domain)
{
	uint32_t d;
	return lac_domain_of(domain, &d) ? lac_nvtx_pop(d, NULL) : LAC_NO_TRACKING;
}

static void hook_domain_category_a(void *domain, uint32_t id, const char *text)
{
	uint32_t d;
	if (lac_domain_of(domain, &d))
		call_a(LAC_NAME_CATEGORY, d, id, text);
}

static void hook_domain_category_w(void *domain, uint32_t id, const wchar_t *text)
{
	uint32_t d;
	if (lac_domain_of(domain, &d))
		call_w(LAC_NAME_CATEGORY, d, id, text);
}

/* A string of one domain may be used in another: its domain does not matter. */
static void *hook_string_a(void *domain, const char *text) { (void)domain; return keep_a(LAC_NAME_STRING, text); }
static void *hook_string_w(void *domain, const wchar_t *text) { (void)domain; return keep_w(LAC_NAME_STRING, text); }
static void *hook_domain_create_a(const char *text) { return keep_a(LAC_NAME_DOMAIN, text); }
static void *hook_domain_create_w(const wchar_t *text) { return keep_w(LAC_NAME_DOMAIN, text); }
static void hook_domain_destroy(void *domain) { (void)domain; /* its events remain, and so does its name */ }

/* --- the payload extension's ------------------------------------------------------------------------------------------------ */

static int hook_push_payload(void *domain, const lac_payload *all, size_t n)
{
	uint32_t d;
	lac_event e = {.extended = all, .n = all ? n : 0};
	return lac_domain_of(domain, &d) ? lac_nvtx_push(d, &e) : LAC_NO_TRACKING;
}

static int hook_pop_payload(void *domain, const lac_payload *all, size_t n)
{
	uint32_t d;
	lac_event e = {.extended = all, .n = all ? n : 0};
	return lac_domain_of(domain, &d) ? lac_nvtx_pop(d, &e) : LAC_NO_TRACKING;
}

static uint64_t hook_start_payload(void *domain, const lac_payload *all, size_t n)
{
	uint32_t d;
	lac_event e = {.extended = all, .n = all ? n : 0};
	return lac_domain_of(domain, &d) ? lac_nvtx_start(d, &e) : 0;
}

static void hook_end_payload(void *domain, uint64_t id, const lac_payload *all, size_t n)
{
	uint32_t d;
	lac_event e = {.extended = all, .n = all ? n : 0};
	if (lac_domain_of(domain, &d))
		lac_nvtx_one(LAC_END, d, id, &e);
}

static void hook_mark_payload(void *domain, const lac_payload *all, size_t n)
{
	uint32_t d;
	lac_event e = {.extended = all, .n = all ? n : 0};
	if (lac_domain_of(domain, &d))
		lac_nvtx_one(LAC_MARK, d, 0, &e);
}

/* True also outside a window: a program may ask once and remember. */
static uint8_t hook_enabled(void *domain) { (void)domain; return 1; }

/* --- entry -------------------------------------------------------------------------------------------------------------------- */

typedef void (*function)(void);
typedef const void *(*get_table)(uint32_t id);
typedef struct {
	size_t size;
	int (*module)(int32_t module, function ***table, unsigned *size);
} callbacks;

enum { TABLE_CALLBACKS = 1, MODULE_CORE = 1, MODULE_CORE2 = 5, MODULE_PAYLOAD = 2 };
#define F(f) ((function)(uintptr_t)(f))

/* Puts our functions where NVTX looks for them; those that we leave out cost it nothing (names of CUDA's and OpenCL's
 * objects, which say nothing without their handles; user-defined synchronisation; resources). */
static void fill(const callbacks *from, int32_t module, const function *ours, unsigned n)
{
	function **table = NULL;
	unsigned size = 0;
	if (!from->module(module, &table, &size) || !table)
		return;
	for (unsigned i = 1; i < n && i < size; i++)
		if (ours[i] && table[i])
			*table[i] = ours[i];
}

static atomic_bool handed_over; /* NVTX is another tool's */

void lac_nvtx_say(void)
{
	char path[2 * sizeof lac_set()->chain_nvtx], fields[sizeof path + 128];
	if (!atomic_load(&handed_over))
		return;
	lac_json(path, sizeof path, lac_set()->chain_nvtx);
	snprintf(fields, sizeof fields, "\"to\":\"%s\",\"why\":\"another tool was in NVTX_INJECTION64_PATH and has NVTX\"", path);
	lac_out_note("nvtx", fields);
}

static void *chained(const char *entry)
{
	const char *path = lac_set()->chain_nvtx;
	void *library = *path ? dlopen(path, RTLD_NOW) : NULL;
	return library ? dlsym(library, entry) : NULL;
}

__attribute__((visibility("default"))) int InitializeInjectionNvtx2(get_table get)
{
	static const function core[] = {NULL, F(hook_mark_ex), F(hook_mark_a), F(hook_mark_w), F(hook_start_ex), F(hook_start_a), F(hook_start_w),
		F(hook_end), F(hook_push_ex), F(hook_push_a), F(hook_push_w), F(hook_pop), F(hook_category_a), F(hook_category_w), F(hook_thread_a), F(hook_thread_w)};
	static const function core2[] = {NULL, F(hook_domain_mark), F(hook_domain_start), F(hook_domain_end), F(hook_domain_push), F(hook_domain_pop),
		NULL, NULL, F(hook_domain_category_a), F(hook_domain_category_w), F(hook_string_a), F(hook_string_w), F(hook_domain_create_a),
		F(hook_domain_create_w), F(hook_domain_destroy)};
	lac_enter();
	if (lac_get_state() == LAC_OFF)
		return 1; /* nothing is filled in, and NVTX makes its functions empty */
	lac_nvtx_ready();
	/* Another tool that was there first has its own handles for all that is registered: it gets all, or we do. */
	int (*other)(get_table) = (int (*)(get_table))(uintptr_t)chained("InitializeInjectionNvtx2");
	if (other && other != InitializeInjectionNvtx2 && other(get)) {
		atomic_store(&handed_over, true);
		return 1;
	}
	const callbacks *table = get ? get(TABLE_CALLBACKS) : NULL;
	if (!table || table->size < sizeof *table || !table->module)
		return 0;
	fill(table, MODULE_CORE, core, sizeof core / sizeof *core);
	fill(table, MODULE_CORE2, core2, sizeof core2 / sizeof *core2);
	return 1;
}

/* The older name, of NVTX 2. */
__attribute__((visibility("default"))) int InitializeInjectionNvtx(get_table get)
{
	return InitializeInjectionNvtx2(get);
}

typedef struct {
	size_t id, n;
	intptr_t *slots;
} segment;

/* nvtxExtModuleInfo_t */
typedef struct {
	uint16_t nvtx, size, module, compatible;
	size_t n;
	segment *segments;
} module_info;

__attribute__((visibility("default"))) int InitializeInjectionNvtxExtension(module_info *info)
{
	static const function payload[] = {F(lac_schema_register), F(lac_enum_register), F(hook_mark_payload), F(hook_push_payload), F(hook_pop_payload),
		F(hook_start_payload), F(hook_end_payload), F(hook_enabled)};
	lac_enter();
	int (*other)(module_info *) = (int (*)(module_info *))(uintptr_t)chained("InitializeInjectionNvtxExtension");
	if (other && other != InitializeInjectionNvtxExtension && other(info))
		return 1;
	if (!info || info->size < sizeof *info || info->module != MODULE_PAYLOAD || !info->n || !info->segments || lac_get_state() == LAC_OFF)
		return 0;
	for (unsigned i = 0; i < sizeof payload / sizeof *payload && i < info->segments->n; i++)
		info->segments->slots[i] = (intptr_t)payload[i];
	return 1;
}
