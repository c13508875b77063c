/* A program that uses CUDA, for tests of the agent with the fake driver: cupti_work WHAT [NUMBER [NUMBER]]. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fake.h"

typedef struct {
	uint32_t x, y, z;
} dim3;

int cuInit(unsigned);
int cuLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
int cuCtxSynchronize(void), cuModuleLoadData(void **, const void *);
int cudaLaunchKernel(const void *, dim3, dim3, void **, size_t, void *);
int cudaMemcpyAsync(void *, const void *, size_t, int, void *), cudaMemcpyPeerAsync(void *, int, const void *, int, size_t, void *);
int cudaMemsetAsync(void *, int, size_t, void *), cudaMalloc(void **, size_t), cudaFree(void *);
int cudaDeviceSynchronize(void), cudaStreamSynchronize(void *), cudaEventSynchronize(void *), cudaStreamWaitEvent(void *, void *, unsigned);
int cudaEventCreate(void **), cudaEventRecord(void *, void *), cudaEventQuery(void *), cudaGetLastError(void), cudaGetDevice(int *), cudaSetDevice(int), cudaStreamCreate(void **);
int cudaStreamBeginCapture(void *, int), cudaStreamEndCapture(void *, void **), cudaGraphInstantiate(void **, void *, unsigned long long);
int cudaGraphLaunch(void *, void *), cudaGraphExecDestroy(void *), cudaGraphDestroy(void *), cudaProfilerStart(void), cudaProfilerStop(void);

static _Noreturn void bad(const char *what)
{
	fprintf(stderr, "cupti_work: %s\n", what);
	exit(9);
}

static void nap(unsigned ms) { nanosleep(&(struct timespec){ms / 1000, (long)(ms % 1000) * 1000000}, NULL); }

static void launch(const char *name, uint32_t grid, void *stream)
{
	if (cudaLaunchKernel(name, (dim3){grid, 2, 3}, (dim3){128, 4, 5}, NULL, 4096, stream) != 0)
		bad("a launch failed");
}

/* One of each thing; the test knows this list. */
static void everything(void)
{
	void *stream, *event, *memory, *graph, *exec, *module;
	int device;
	cudaMalloc(&memory, 123456);
	cudaStreamCreate(&stream);
	cudaEventCreate(&event);
	for (uint32_t i = 1; i <= 10; i++) {
		launch("_Z6kernelPf", i, i % 2 == 0 ? stream : NULL);
		cudaGetDevice(&device);
		cudaGetLastError();
	}
	cuLaunchKernel("triton_kernel", 11, 2, 3, 128, 4, 5, 4096, stream, NULL, NULL);
	cudaMemcpyAsync(memory, NULL, 1111, 1, stream);
	cudaMemcpyAsync(NULL, memory, 2222, 2, stream);
	cudaMemcpyPeerAsync(memory, 1, memory, 0, 3333, stream);
	cudaMemsetAsync(memory, 0x5A, 4444, stream);
	cudaEventRecord(event, stream);
	cudaEventQuery(event);
	cudaStreamWaitEvent(NULL, event, 0);
	cudaStreamBeginCapture(stream, 0);
	launch("captured_a", 21, stream);
	launch("captured_b", 22, stream);
	cudaMemsetAsync(memory, 1, 5555, stream);
	cudaStreamEndCapture(stream, &graph);
	cudaGraphInstantiate(&exec, graph, 0);
	for (int i = 0; i < 3; i++)
		cudaGraphLaunch(exec, stream);
	cuModuleLoadData(&module, NULL);
	cudaEventSynchronize(event);
	cudaStreamSynchronize(stream);
	cudaSetDevice(1);
	launch("on_device_1", 31, NULL);
	cudaDeviceSynchronize();
	cuCtxSynchronize();
	cudaGraphExecDestroy(exec);
	cudaGraphDestroy(graph);
	cudaFree(memory);
}

static unsigned long each;

static void *storm_thread(void *arg)
{
	char name[32];
	void *stream;
	snprintf(name, sizeof name, "storm_%d", (int)(intptr_t)arg);
	cudaStreamCreate(&stream);
	for (unsigned long i = 0; i < each; i++)
		launch(name, (uint32_t)i + 1, stream);
	cudaStreamSynchronize(stream);
	return NULL;
}

static void storm(int threads)
{
	pthread_t t[256];
	cuInit(0);
	for (int i = 0; i < threads; i++)
		pthread_create(&t[i], NULL, storm_thread, (void *)(intptr_t)i);
	for (int i = 0; i < threads; i++)
		pthread_join(t[i], NULL);
	cudaDeviceSynchronize();
}

/* Asks this process's own agent, as lacuna record start and stop do; how long it took, in ms. */
static unsigned ask(const char *request, const char *expect)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	const int n = snprintf(to.sun_path + 1, sizeof to.sun_path - 1, "lacuna-%u-%ld", (unsigned)getuid(), (long)getpid());
	char answer[8192];
	struct timespec a, b;
	clock_gettime(CLOCK_MONOTONIC, &a);
	const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	if (connect(fd, (struct sockaddr *)&to, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n)) != 0)
		bad("cannot reach the agent's socket");
	if (write(fd, request, strlen(request)) < 0)
		bad("cannot ask");
	const ssize_t got = read(fd, answer, sizeof answer - 1);
	answer[got > 0 ? got : 0] = 0;
	close(fd);
	clock_gettime(CLOCK_MONOTONIC, &b);
	if (strstr(answer, expect) == NULL) {
		fprintf(stderr, "asked %s, got %s\n", request, answer);
		bad("the agent answered something else");
	}
	return (unsigned)((b.tv_sec - a.tv_sec) * 1000 + (b.tv_nsec - a.tv_nsec) / 1000000);
}

static int busy = 1;

static void *busy_thread(void *arg)
{
	while (__atomic_load_n(&busy, __ATOMIC_RELAXED)) {
		launch("outside", 1, NULL);
		nap(1);
	}
	return arg;
}

/* Windows one after the other, while another thread calls on; in each, 20 kernels of its own. */
static void restart(int times, int with_calls)
{
	pthread_t t;
	cuInit(0);
	launch("before", 1, NULL);
	if (with_calls)
		pthread_create(&t, NULL, busy_thread, NULL);
	for (int i = 0; i < times; i++) {
		ask("start\n", "recording");
		for (uint32_t k = 1; k <= 20; k++)
			launch("inside", k, NULL);
		cudaDeviceSynchronize();
		const unsigned ms = ask("stop\n", "stopped");
		if (ms > 4000)
			bad("stop took over 4 s");
		for (uint32_t k = 1; k <= 20 && with_calls; k++)
			launch("between", k, NULL);
	}
	__atomic_store_n(&busy, 0, __ATOMIC_RELAXED);
	if (with_calls)
		pthread_join(t, NULL);
}

static void profiler(int times)
{
	cuInit(0);
	for (int i = 0; i < times; i++) {
		for (uint32_t k = 1; k <= 50; k++)
			launch("outside", k, NULL);
		cudaDeviceSynchronize();
		cudaProfilerStart();
		for (uint32_t k = 1; k <= 50; k++)
			launch("inside", k, NULL);
		cudaDeviceSynchronize();
		cudaProfilerStop();
	}
	for (uint32_t k = 1; k <= 50; k++)
		launch("outside", k, NULL);
	cudaDeviceSynchronize();
}

/* A process that forks before it knows of CUDA; the child has a graph from before its windows. In each window three runs of it. */
static void forked_graphs(int windows)
{
	void *stream, *graph, *exec;
	const pid_t child = fork();
	if (child > 0) {
		int status;
		if (waitpid(child, &status, 0) != child || status != 0)
			bad("the child failed");
		return;
	}
	cuInit(0);
	cudaStreamCreate(&stream);
	cudaStreamBeginCapture(stream, 0);
	launch("captured", 1, stream);
	launch("captured", 2, stream);
	cudaStreamEndCapture(stream, &graph);
	cudaGraphInstantiate(&exec, graph, 0);
	for (int i = 0; i < windows; i++) {
		for (int k = 0; k < 5; k++)
			cudaGraphLaunch(exec, stream); /* not synchronised: they end in the window */
		cudaProfilerStart();
		for (int k = 0; k < 3; k++)
			cudaGraphLaunch(exec, stream);
		launch("plain", 1, stream);
		cudaProfilerStop();
		nap(i % 2 == 0 ? 20 : 0);
	}
	cudaGraphLaunch(exec, stream);
	cudaDeviceSynchronize();
	cudaGraphExecDestroy(exec);
	cudaGraphDestroy(graph);
}

/* What the agent's callback of a launch costs: that of the runtime and of the driver's call in it, each at its begin and end. */
static void (*agent)(void *, uint32_t, uint32_t, const void *);
static atomic_uint correlations;

static void *cost_thread(void *arg)
{
	int result = 0;
	uint64_t kept[2];
	struct timespec a, b;
	clock_gettime(CLOCK_MONOTONIC, &a);
	for (unsigned long i = 0; i < each; i++) {
		callback_data d = {.result = &result, .context = (void *)0x1001, .context_id = 1, .correlation = 1000000 + atomic_fetch_add(&correlations, 1)};
		for (int visit = 0; visit < 4; visit++) { /* runtime, driver, driver, runtime */
			const int driver = visit == 1 || visit == 2;
			d.site = visit > 1;
			d.data = &kept[driver];
			agent(NULL, driver ? 1 : 2, driver ? 307 : 211, &d);
		}
	}
	clock_gettime(CLOCK_MONOTONIC, &b);
	*(double *)arg = ((double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec)) / (double)each;
	return NULL;
}

static void cost(int threads, const char *soname)
{
	pthread_t t[64];
	double ns[64], sum = 0;
	launch("first", 1, NULL);
	void *cupti = dlopen(soname, RTLD_NOW | RTLD_NOLOAD);
	void (*(*get)(void))(void *, uint32_t, uint32_t, const void *);
	void *symbol = cupti != NULL ? dlsym(cupti, "fake_cupti_subscriber") : NULL;
	memcpy(&get, &symbol, sizeof symbol);
	if (get == NULL || (agent = get()) == NULL || threads > 64)
		bad("there is no agent");
	for (int i = 0; i < threads; i++)
		pthread_create(&t[i], NULL, cost_thread, &ns[i]);
	for (int i = 0; i < threads; i++, sum += ns[i - 1])
		pthread_join(t[i], NULL);
	printf("%.1f\n", sum / threads);
}

/* A launch each 5 ms, for so many seconds. */
static void steady(int seconds)
{
	for (int i = 0; i < seconds * 200; i++) {
		launch("steady", 1, NULL);
		nap(5);
	}
	cudaDeviceSynchronize();
}

static void forks(int children)
{
	launch("parent", 1, NULL);
	for (int i = 0; i < children; i++)
		if (fork() == 0) {
			if (cudaLaunchKernel("child", (dim3){1, 1, 1}, (dim3){1, 1, 1}, NULL, 0, NULL) != 3)
				_exit(8);
			nap(50);
			exit(0);
		}
	for (int i = 0; i < 100; i++)
		launch("parent", 2, NULL);
	cudaDeviceSynchronize();
	for (int i = 0; i < children; i++) {
		int status;
		if (wait(&status) < 0 || status != 0)
			bad("a child failed");
	}
}

/* The program ends while its threads go on. */
static void abandon(int threads)
{
	pthread_t t;
	cuInit(0);
	for (int i = 0; i < threads; i++) {
		pthread_create(&t, NULL, busy_thread, NULL);
		pthread_detach(t);
	}
	nap(200);
}

static void *mayfly(void *arg)
{
	launch("mayfly", 1, NULL);
	return arg;
}

/* Threads that launch once and end, 50 at a time. */
static void mayflies(int threads)
{
	pthread_t t[50];
	cuInit(0);
	for (int i = 0; i < threads; i += 50) {
		for (int k = 0; k < 50; k++)
			pthread_create(&t[k], NULL, mayfly, NULL);
		for (int k = 0; k < 50; k++)
			pthread_join(t[k], NULL);
	}
	cudaDeviceSynchronize();
}

static int subscribe(const char *soname)
{
	void *cuda = dlopen("libcuda.so.1", RTLD_NOW), *cupti = dlopen(soname, RTLD_NOW);
	int (*function)(void **, void (*)(void *, uint32_t, uint32_t, const void *), void *);
	void *symbol = cupti != NULL ? dlsym(cupti, "cuptiSubscribe") : NULL, *handle;
	memcpy(&function, &symbol, sizeof symbol);
	if (cuda == NULL || function == NULL)
		bad("there is no CUPTI");
	return function(&handle, NULL, NULL);
}

/* Another client, before the agent: it has the slot, and keeps it. */
static void holder(const char *soname)
{
	if (subscribe(soname) != 0)
		bad("cannot subscribe");
	for (int i = 0; i < 100; i++)
		launch("unseen", 1, NULL);
	cudaDeviceSynchronize();
}

/* A client that comes while the agent records is refused; one that comes after it stopped is served, and then the agent is refused. */
static void successor(const char *soname)
{
	pthread_t t;
	cuInit(0);
	pthread_create(&t, NULL, busy_thread, NULL);
	ask("start\n", "recording");
	if (subscribe(soname) != 39)
		bad("two clients were served");
	ask("stop\n", "stopped");
	if (subscribe(soname) != 0)
		bad("the agent did not let go");
	ask("start\n", "refused");
	ask("stop\n", "stopped");
	__atomic_store_n(&busy, 0, __ATOMIC_RELAXED);
	pthread_join(t, NULL);
}

int main(int n, char **arg)
{
	const char *what = n > 1 ? arg[1] : "";
	const int number = n > 2 ? atoi(arg[2]) : 1;
	each = n > 3 ? strtoul(arg[3], NULL, 10) : 100;
	if (strcmp(what, "everything") == 0)
		everything();
	else if (strcmp(what, "storm") == 0)
		storm(number);
	else if (strcmp(what, "restart") == 0)
		restart(number, 1);
	else if (strcmp(what, "restart-quiet") == 0)
		restart(number, 0);
	else if (strcmp(what, "profiler") == 0)
		profiler(number);
	else if (strcmp(what, "forked-graphs") == 0)
		forked_graphs(number);
	else if (strcmp(what, "cost") == 0)
		cost(number, "libcupti.so.13");
	else if (strcmp(what, "steady") == 0)
		steady(number);
	else if (strcmp(what, "forks") == 0)
		forks(number);
	else if (strcmp(what, "abandon") == 0)
		abandon(number);
	else if (strcmp(what, "mayflies") == 0)
		mayflies(number);
	else if (strcmp(what, "holder") == 0)
		holder(arg[2]);
	else if (strcmp(what, "successor") == 0)
		successor(arg[2]);
	else
		bad("what?");
	return 0;
}
