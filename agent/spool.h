/* The spool: the file that the agent writes while a program runs. This header is its specification; docs/formats/spool.md
 * says the same in prose. Little endian throughout.
 *
 * A spool is chunks, one after the other, and is only ever appended to. A chunk is a header of 32 bytes and its payload:
 *
 *   0  u32 magic        SPOOL_MAGIC
 *   4  u16 type         SPOOL_BEGIN, SPOOL_SCHEMA, SPOOL_TEXTS, SPOOL_NOTE, or a table's number
 *   6  u16 flags        SPOOL_SNAPPY: the payload is packed, as Snappy's block format
 *   8  u32 stored       bytes of the payload as it lies here
 *   12 u32 plain        bytes of the payload unpacked; at most SPOOL_MAX_PLAIN
 *   16 u32 rows         of a table: rows in it; of texts: texts in it; else 0
 *   20 u32 sequence     0 for SPOOL_BEGIN, then one more for each chunk of the stream: a gap says what was lost
 *   24 u32 payload_crc  CRC-32C of the payload as it lies
 *   28 u32 header_crc   CRC-32C of the 28 bytes before
 *
 * A stream is what one process wrote: SPOOL_BEGIN, SPOOL_SCHEMA, then chunks in any order, but a text comes before the
 * row that names it. A file is one stream or several, one after the other: `cat` of spools is a spool, and so is its
 * zstd. A chunk that the file's end cuts off never happened; after damage a reader goes on at the next header that is whole.
 *
 *   SPOOL_BEGIN   JSON object: {"format":1, "role":"agent"|"recorder", "version":"…", "session":"…", "pid":…, "ppid":…,
 *                 "host":"…", "boot":"…", "command":["…"], "exe":"…", "real_ns":…, "env":{"RANK":"0",…}}
 *   SPOOL_SCHEMA  a line for each table: NUMBER NAME FIELD:TYPE FIELD:TYPE …   A reader takes fields by name and skips
 *                 what it does not know; the order of a line is that of the row, without gaps.
 *   SPOOL_TEXTS   {u32 id, u32 bytes, bytes} for each; IDs count from 1 within the stream, 0 is no text
 *   SPOOL_NOTE    JSON object with "note": its kind; see SPOOL_NOTES
 *   tables        rows of fixed size as the schema says
 *
 * Types of fields: u8 u16 u32 u64 i32 i64 f64, text (u32, a text's ID), and three of time, each u64 ns:
 * real (CLOCK_REALTIME), mono (CLOCK_MONOTONIC), gpu (CUPTI's clock, cuptiGetTimestamp). The table clock pairs them.
 * All bits set means "none" for IDs (correlation, stream, event), as in CUPTI. */
#ifndef LACUNA_SPOOL_H
#define LACUNA_SPOOL_H

#include <stdint.h>

#define SPOOL_FORMAT 1
#define SPOOL_MAGIC 0x314B434Cu /* "LCK1" */
#define SPOOL_MAX_PLAIN (4u << 20)
#define SPOOL_SNAPPY 1u

enum { SPOOL_BEGIN = 0, SPOOL_SCHEMA = 1, SPOOL_TEXTS = 2, SPOOL_NOTE = 3 };

/* SPOOL_NOTES. Kinds of notes and their fields:
 *   cupti    version, driver, library (path), kinds (list of names that are on), missing (list of {what, code, why})
 *   refused  code, why, holder ("" unknown): another client has CUPTI; GPU work is not recorded
 *   taken    why: another client seems to use CUPTI beside the agent; GPU records may be missing
 *   calls    why: another way of recording calls was taken
 *   graphs   why: graphs are not recorded as it was asked for
 *   yielded  why: stands aside for another client (--yield)
 *   state    state ("armed", "recording", "stopped", "refused", "yielded", "failed"), why
 *   full     errno, why, dropped (rows so far): the disk was full until now
 *   fork     parent: this process is a fork of a recorded one
 *   chain    why: the injection library that was asked for before this one could not be loaded
 *   loss     what, why: names were cut (too many)
 *   clock    what is special about clocks here (WSL)
 *   nvtx     to (path), why: NVTX's events went to another tool, not here
 *   end      why ("exit", "stop", "unload")
 *   lost     bytes, chunks, cut: what of this stream was damaged when lacuna record packed it
 *   host     of the recorder: cpus, kernel, perf (what of sampling works and why not), nvml (driver or why not)
 * A reader passes over kinds and fields that it does not know. */

/* Tables. F(type, name) for each field, in the order of the row. */
#define SPOOL_KERNEL_FIELDS(F) \
	F(gpu, start) F(gpu, end) F(u64, node) F(i64, grid_id) F(u32, device) F(u32, context) F(u32, stream) F(u32, corr) \
	F(text, name) F(i32, grid_x) F(i32, grid_y) F(i32, grid_z) F(i32, block_x) F(i32, block_y) F(i32, block_z) \
	F(i32, shared_static) F(i32, shared_dynamic) F(u64, local_total) F(u32, graph) F(u32, cluster_x) F(u32, cluster_y) F(u32, cluster_z) \
	F(i32, priority) F(u32, channel) F(u16, registers) F(u8, launch_type)
#define SPOOL_COPY_FIELDS(F) \
	F(gpu, start) F(gpu, end) F(u64, bytes) F(u64, node) F(u32, device) F(u32, context) F(u32, stream) F(u32, corr) F(u32, graph) \
	F(u32, src_device) F(u32, dst_device) F(u8, kind) F(u8, src) F(u8, dst) F(u8, async)
#define SPOOL_SET_FIELDS(F) \
	F(gpu, start) F(gpu, end) F(u64, bytes) F(u64, node) F(u32, device) F(u32, context) F(u32, stream) F(u32, corr) F(u32, graph) F(u32, value) F(u8, memory)
#define SPOOL_CALL_FIELDS(F) F(gpu, start) F(gpu, end) F(u32, tid) F(u32, corr) F(text, name) F(u32, result) F(u8, driver)
#define SPOOL_SYNC_FIELDS(F) \
	F(gpu, start) F(gpu, end) F(u32, kind) F(u32, context) F(u32, stream) F(u32, corr) F(u32, event) F(u64, sync_id) F(u32, result)
#define SPOOL_EVENT_FIELDS(F) F(u32, context) F(u32, stream) F(u32, corr) F(u32, event) F(u32, device) F(gpu, time) F(u64, sync_id)
#define SPOOL_GRAPH_RUN_FIELDS(F) F(gpu, start) F(gpu, end) F(u32, device) F(u32, context) F(u32, stream) F(u32, corr) F(u32, graph)
/* what: 1 graph created, 2 graph cloned, 3 node created, 4 node cloned, 5 executable created, 6 executable destroyed */
#define SPOOL_GRAPH_FIELDS(F) F(real, time) F(u32, tid) F(u32, what) F(u32, graph) F(u32, from_graph) F(u32, exec) F(u64, node) F(u64, from_node) F(u32, node_type)
#define SPOOL_OVERHEAD_FIELDS(F) F(gpu, start) F(gpu, end) F(u32, kind) F(u32, object) F(u32, tid) F(u32, corr)
/* operation: 1 allocated, 2 released (CUpti_ActivityMemoryOperationType) */
#define SPOOL_MEMORY_FIELDS(F) F(gpu, time) F(u64, address) F(u64, bytes) F(u32, operation) F(u32, kind) F(u32, device) F(u32, context) F(u32, stream) F(u32, corr) F(text, name) F(u8, async)
#define SPOOL_POOL_FIELDS(F) F(gpu, time) F(u64, address) F(u64, size) F(u64, used) F(u64, threshold) F(u64, keep) F(u32, operation) F(u32, type) F(u32, device) F(u32, corr)
#define SPOOL_STREAM_FIELDS(F) F(u32, context) F(u32, stream) F(u32, priority) F(u32, flags)
#define SPOOL_CONTEXT_FIELDS(F) F(u32, context) F(u32, device) F(u32, null_stream) F(u32, api)
#define SPOOL_DEVICE_FIELDS(F) \
	F(u32, device) F(text, name) F(text, uuid) F(u32, major) F(u32, minor) F(u32, sms) F(u32, warp) F(u32, clock_khz) F(u64, bandwidth_kbs) F(u64, memory) \
	F(u32, l2) F(u32, shared_per_sm) F(u32, registers_per_sm) F(u32, warps_per_sm)
#define SPOOL_MODULE_FIELDS(F) F(real, time) F(u32, module) F(u64, bytes) F(u8, loaded)
/* JIT and module loading that CUPTI records (kind 52) */
#define SPOOL_JIT_FIELDS(F) F(gpu, start) F(gpu, end) F(u32, entry) F(u32, operation) F(u32, device) F(u32, corr) F(u64, bytes) F(text, path) F(u32, tid)
/* what: 1 push, 2 pop, 3 start, 4 end, 5 mark. id pairs start and end. payload_type: 0 none, 1 u64, 2 i64, 3 f64, 4 u32, 5 i32, 6 f32
 * (NVTX's own numbers); payload is its bits; extended is JSON of an extended payload. color: ARGB, 0 none.
 * A thread's ranges that are pushed when a window begins are told as pushes at its beginning (the outermost 8 of a domain; the
 * pops of the others are left out), with id 1; those that are pushed when it ends have no pop. Both stand for ranges that go on outside. */
#define SPOOL_NVTX_FIELDS(F) \
	F(real, time) F(u64, id) F(u64, payload) F(u32, tid) F(u32, domain) F(u32, category) F(text, name) F(text, extended) F(u32, color) F(u8, what) F(u8, payload_type)
#define SPOOL_DOMAIN_FIELDS(F) F(u32, domain) F(text, name)
#define SPOOL_CATEGORY_FIELDS(F) F(u32, domain) F(u32, category) F(text, name)
#define SPOOL_THREAD_FIELDS(F) F(u32, tid) F(text, name)
/* width: ns from the first to the last reading of the four; gpu 0: CUPTI was not there */
#define SPOOL_CLOCK_FIELDS(F) F(gpu, gpu) F(real, real) F(mono, mono) F(u64, tsc) F(u32, width)
/* A window of recording: on 1 began, 0 ended. */
#define SPOOL_WINDOW_FIELDS(F) F(real, time) F(u8, on) F(text, why)
/* The account, once a flush: counts since the stream began. launched: calls seen that issue GPU work; kernels: kernel records;
 * unfinished: records without an end; cupti_dropped: by CUPTI; dropped: by the agent; nvtx: events taken; nvtx_ns and
 * callback_ns: time spent in our own hooks on the program's threads: of each thread's first 1,024 events measured, of later ones 1 in 64 is, for
 * all; writer_ns: CPU time of our threads. */
#define SPOOL_ACCOUNT_FIELDS(F) \
	F(real, time) F(u64, records) F(u64, launched) F(u64, kernels) F(u64, unfinished) F(u64, cupti_dropped) F(u64, dropped) F(u64, nvtx) F(u64, nvtx_ns) \
	F(u64, callbacks) F(u64, callback_ns) F(u64, writer_ns) F(u64, memory) F(u64, written)
/* Of the recorder. device: NVML's index, all bits set: the host. */
#define SPOOL_TRACK_FIELDS(F) F(u32, track) F(u32, device) F(text, name) F(text, unit) F(text, uuid)
#define SPOOL_COUNTER_FIELDS(F) F(real, time) F(u32, track) F(f64, value)
/* Call stacks as a tree: parent 0 is none; frames count from 1. */
#define SPOOL_FRAME_FIELDS(F) F(u32, frame) F(u32, parent) F(text, symbol) F(text, module)
#define SPOOL_SAMPLE_FIELDS(F) F(mono, time) F(u32, pid) F(u32, tid) F(u32, cpu) F(u32, frame) F(u64, weight)
/* A thread left the CPU (in 0) or got it (in 1); preempted 1: it was still runnable. */
#define SPOOL_SWITCH_FIELDS(F) F(mono, time) F(u32, pid) F(u32, tid) F(u32, cpu) F(u8, in) F(u8, preempted)
/* A process or thread of the program as the recorder saw it: name is its comm. */
#define SPOOL_TASK_FIELDS(F) F(u32, pid) F(u32, tid) F(text, name)

/* T(NUMBER, name, FIELDS): every table. */
#define SPOOL_TABLES(T) \
	T(16, kernel, SPOOL_KERNEL_FIELDS) T(17, copy, SPOOL_COPY_FIELDS) T(18, set, SPOOL_SET_FIELDS) T(19, call, SPOOL_CALL_FIELDS) \
	T(20, sync, SPOOL_SYNC_FIELDS) T(21, event, SPOOL_EVENT_FIELDS) T(22, graph_run, SPOOL_GRAPH_RUN_FIELDS) T(23, graph, SPOOL_GRAPH_FIELDS) \
	T(24, overhead, SPOOL_OVERHEAD_FIELDS) T(25, memory, SPOOL_MEMORY_FIELDS) T(26, pool, SPOOL_POOL_FIELDS) T(27, stream, SPOOL_STREAM_FIELDS) \
	T(28, context, SPOOL_CONTEXT_FIELDS) T(29, device, SPOOL_DEVICE_FIELDS) T(30, module, SPOOL_MODULE_FIELDS) T(31, jit, SPOOL_JIT_FIELDS) \
	T(32, nvtx, SPOOL_NVTX_FIELDS) T(33, domain, SPOOL_DOMAIN_FIELDS) T(34, category, SPOOL_CATEGORY_FIELDS) T(35, thread, SPOOL_THREAD_FIELDS) \
	T(36, clock, SPOOL_CLOCK_FIELDS) T(37, window, SPOOL_WINDOW_FIELDS) T(38, account, SPOOL_ACCOUNT_FIELDS) T(39, track, SPOOL_TRACK_FIELDS) \
	T(40, counter, SPOOL_COUNTER_FIELDS) T(41, frame, SPOOL_FRAME_FIELDS) T(42, sample, SPOOL_SAMPLE_FIELDS) T(43, switch, SPOOL_SWITCH_FIELDS) \
	T(44, task, SPOOL_TASK_FIELDS)

/* The rows as C structs: spool_kernel and so on, packed; and the numbers: SPOOL_T_kernel. */
typedef uint8_t spool_u8;
typedef uint16_t spool_u16;
typedef uint32_t spool_u32;
typedef uint64_t spool_u64;
typedef int32_t spool_i32;
typedef int64_t spool_i64;
typedef double spool_f64;
typedef uint32_t spool_text;
typedef uint64_t spool_real;
typedef uint64_t spool_mono;
typedef uint64_t spool_gpu;

#define SPOOL_FIELD(type, name) spool_##type name;
#define SPOOL_ROW(number, table, fields) \
	typedef struct __attribute__((packed)) { fields(SPOOL_FIELD) } spool_##table;
SPOOL_TABLES(SPOOL_ROW)
#undef SPOOL_ROW
#undef SPOOL_FIELD

#define SPOOL_NUMBER(number, table, fields) SPOOL_T_##table = number,
enum { SPOOL_TABLES(SPOOL_NUMBER) SPOOL_T_END };
#undef SPOOL_NUMBER

/* The text of SPOOL_SCHEMA. */
#define SPOOL_FIELD_TEXT(type, name) " " #name ":" #type
#define SPOOL_LINE(number, table, fields) #number " " #table fields(SPOOL_FIELD_TEXT) "\n"
#define SPOOL_SCHEMA_TEXT SPOOL_TABLES(SPOOL_LINE)

#endif
