//go:build ignore

/* CUPTI's resource callbacks: graphs and their nodes as they are made, and modules. They say which node of which graph a kernel's
 * record names, on every release since 11.8, and where in the program it was captured. Called on the program's threads, up to thousands of
 * times in a capture: two questions to CUPTI (which it allows here) and one row. */
#include "cupti.h"

enum { /* IDs of callbacks that cupti.c enables */
	MODULE_LOADED = 6, MODULE_UNLOADED = 7, GRAPH_CREATED = 9, GRAPH_CLONED = 11, NODE_CREATED = 13, EXEC_CREATED = 18, EXEC_DESTROYED = 19, NODE_CLONED = 20
};

/* CUpti_ResourceData, CUpti_GraphData, CUpti_ModuleResourceData: valid during the callback only. */
typedef struct {
	void *context, *handle, *descriptor;
} resource;
typedef struct {
	void *graph, *from_graph, *node, *from_node;
	uint32_t type, pad;
	void *dependency, *exec;
} graph_data;
typedef struct {
	uint32_t module, pad;
	uint64_t bytes;
	const void *code;
} module_data;

static uint32_t graph_id(void *graph)
{
	uint32_t id = UINT32_MAX;
	if (graph != NULL && lac_cupti.graph_id != NULL && lac_cupti.graph_id(graph, &id) != CUPTI_OK)
		id = UINT32_MAX;
	return id;
}

static uint64_t node_id(void *node)
{
	uint64_t id = UINT64_MAX;
	if (node != NULL && lac_cupti.node_id != NULL && lac_cupti.node_id(node, &id) != CUPTI_OK)
		id = UINT64_MAX;
	return id;
}

static uint32_t exec_id(void *exec)
{
	uint32_t id = UINT32_MAX;
	if (exec != NULL && lac_cupti.exec_id != NULL && lac_cupti.exec_id(exec, &id) != CUPTI_OK)
		id = UINT32_MAX;
	return id;
}

/* A field that an event does not carry is "none": CUPTI leaves what stood there before. */
static void graph_row(uint32_t what, const graph_data *g)
{
	const bool node = what == 3 || what == 4, cloned = what == 2 || what == 4, exec = what == 5 || what == 6;
	spool_graph row = {
		.time = lac_real_ns(), .tid = lac_tid(), .what = what,
		.graph = what != 6 ? graph_id(g->graph) : UINT32_MAX, .from_graph = cloned ? graph_id(g->from_graph) : UINT32_MAX,
		.exec = exec ? exec_id(g->exec) : UINT32_MAX,
		.node = node ? node_id(g->node) : UINT64_MAX, .from_node = what == 4 ? node_id(g->from_node) : UINT64_MAX,
		.node_type = node ? g->type : UINT32_MAX,
	};
	lac_emit(SPOOL_T_graph, &row, sizeof row, NULL, 0);
}

static void module_row(const module_data *m, bool loaded)
{
	spool_module row = {.time = lac_real_ns(), .module = m->module, .bytes = m->bytes, .loaded = loaded};
	lac_emit(SPOOL_T_module, &row, sizeof row, NULL, 0);
}

void lac_resource(uint32_t cbid, const void *data)
{
	const resource *r = data;
	if (r == NULL || r->descriptor == NULL || !atomic_load_explicit(&lac_on, memory_order_relaxed))
		return;
	const uint64_t begin = lac_cycles();
	switch (cbid) {
	case MODULE_LOADED: module_row(r->descriptor, true); break;
	case MODULE_UNLOADED: module_row(r->descriptor, false); break;
	case GRAPH_CREATED: graph_row(1, r->descriptor); break;
	case GRAPH_CLONED: graph_row(2, r->descriptor); break;
	case NODE_CREATED: graph_row(3, r->descriptor); break;
	case NODE_CLONED: graph_row(4, r->descriptor); break;
	case EXEC_CREATED: graph_row(5, r->descriptor); break;
	case EXEC_DESTROYED: graph_row(6, r->descriptor); break;
	}
	atomic_fetch_add_explicit(&lac_accounts.callbacks, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&lac_accounts.callback_ns, (uint64_t)((double)(lac_cycles() - begin) * lac_ns_per_cycle()), memory_order_relaxed);
}
