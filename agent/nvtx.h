/* What the files of NVTX's side know of each other. NVTX calls the program's annotations; its ABI (numbers, layouts) is
 * public: github.com/NVIDIA/NVTX, c/include/nvtx3/nvtxDetail/nvtxTypes.h and nvtxExtTypes.h, nvToolsExtPayload.h. */
#ifndef LACUNA_NVTX_H
#define LACUNA_NVTX_H

#include "agent.h"

/* --- nvtx.c ------------------------------------------------------------------------------------------------------------ */

/* Writer's thread: a note if another tool got NVTX. */
void lac_nvtx_say(void);

/* --- nvtx_ranges.c: events, and what each thread has open ------------------------------------------------------------- */

/* nvtxPayloadData_t */
typedef struct {
	uint64_t schema;
	size_t size; /* SIZE_MAX: the tool shall find out */
	const void *data;
} lac_payload;

/* An event as we take it. */
typedef struct {
	const char *text; /* ends with 0; NULL: none */
	uint64_t payload;
	uint32_t category, color;
	uint8_t payload_type;
	const lac_payload *extended;
	size_t n; /* of extended */
} lac_event;

enum { LAC_PUSH = 1, LAC_POP, LAC_START, LAC_END, LAC_MARK }; /* spool.h: nvtx, what */

/* What NVTX defines a push and a pop to return if there is no level: nothing is open, or we do not know. */
#define LAC_NO_RANGE (-1)
#define LAC_NO_TRACKING (-2)

enum { LAC_WIDE = 1024 /* bytes of a message in wchar_t as UTF-8 */ };

/* Before the first event; any number of times. */
void lac_nvtx_ready(void);
int lac_nvtx_push(uint32_t domain, const lac_event *e);
/* e: NULL, or what the program adds at the end of its range */
int lac_nvtx_pop(uint32_t domain, const lac_event *e);
uint64_t lac_nvtx_start(uint32_t domain, const lac_event *e);
/* LAC_END of the range id, or LAC_MARK */
void lac_nvtx_one(uint8_t what, uint32_t domain, uint64_t id, const lac_event *e);

/* --- nvtx_names.c: what NVTX's users register, kept for as long as the process lives --------------------------------- */

typedef enum { LAC_NAME_DOMAIN = 1, LAC_NAME_STRING, LAC_NAME_CATEGORY, LAC_NAME_THREAD } lac_name_kind;

/* A name. Never freed; what it names and its own text never change. */
typedef struct lac_name {
	lac_name_kind kind;
	uint32_t domain; /* the domain's number: of a domain its own, of a category the one that it belongs to; 0: the default */
	uint32_t key;    /* of a category its ID, of a thread its tid */
	uint32_t index, hash, next;               /* nvtx_names.c's */
	_Atomic(const struct lac_name *) called;  /* of a category or thread: the string that it is called by now */
	atomic_bool written;                      /* its row went to the spool of this process */
	size_t bytes;
	char text[]; /* of a domain or string; ends with 0 */
} lac_name;

/* Finds or keeps a domain or a string. NULL: there is no room for more, or no memory. */
const lac_name *lac_name_keep(lac_name_kind kind, const char *text, size_t bytes);
/* What a category or a thread is called from now on. */
void lac_name_call(lac_name_kind kind, uint32_t domain, uint32_t key, const char *text, size_t bytes);
/* The handle that NVTX's user gets for a domain or string, and back; NULL for what is no such handle. */
void *lac_name_handle(const lac_name *name);
const lac_name *lac_name_of(lac_name_kind kind, const void *handle);
/* Writes the rows that were not written yet. */
void lac_names_write(void);
void lac_names_forked(void);
/* Memory that is never given back, zeroed, not from the program's allocator, which may call NVTX. NULL: there is no more. */
void *lac_keep(size_t bytes);

/* The domain's number of a handle, 0 for NULL; false: it is none of ours. */
static inline bool lac_domain_of(const void *handle, uint32_t *domain)
{
	const lac_name *name = handle ? lac_name_of(LAC_NAME_DOMAIN, handle) : NULL;
	*domain = name ? name->domain : 0;
	return name || !handle;
}

/* Text of wchar_t as UTF-8, cut to size, with a 0 at its end. Returns its bytes. */
size_t lac_utf8(char *to, size_t size, const wchar_t *from);

/* --- nvtx_payload.c: extended payloads ------------------------------------------------------------------------------ */

/* What NVTX calls to register schemas and enums. */
uint64_t lac_schema_register(void *domain, const void *attributes);
uint64_t lac_enum_register(void *domain, const void *attributes);
/* A JSON object of n payloads in to, "" if nothing in them is understood; and the event's message, if a schema has one, in name. */
void lac_payload_json(uint32_t domain, const lac_payload *all, size_t n, char *to, size_t size, char *name, size_t name_size);
void lac_schemas_forked(void);

#endif
