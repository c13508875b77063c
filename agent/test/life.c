/* What a Python program loads to live as one that uses CUDA and NVTX: NVTX as compiled in (nvtx_client.h), the fake driver by its
 * soname, threads. With LIFE_MAIN a program of its own, for the sanitizers: life STREAMS FORKS. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "nvtx_client.h"

#define API __attribute__((visibility("default")))

typedef struct {
	uint32_t x, y, z;
} dim3;

static void *cuda;

API int life_nvtx(void) { return nvtx_start(); }
API int life_push(const char *text) { return nvtxRangePushA(text); }
API int life_pop(void) { return nvtxRangePop(); }
API void life_mark(const char *text) { nvtxMarkA(text); }
API void life_thread(uint32_t tid, const char *text) { nvtxNameOsThreadA(tid, text); }

/* So many ranges of a domain, by a registered string. */
API void life_ranges(const char *domain, const char *text, int n)
{
	void *d = nvtxDomainCreateA(domain);
	nvtx_attributes a = nvtx_registered(nvtxDomainRegisterStringA(d, text));
	for (int i = 0; i < n; i++) {
		nvtxDomainRangePushEx(d, &a);
		nvtxDomainRangePop(d);
	}
}

static void *function(const char *name)
{
	void *f = cuda ? dlsym(cuda, name) : NULL;
	if (!f) {
		fprintf(stderr, "life: no %s\n", name);
		abort();
	}
	return f;
}

/* The driver comes up, and with it what CUDA_INJECTION64_PATH names. */
API int life_cuda(void)
{
	if (!cuda && !(cuda = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL)))
		return -1;
	return ((int (*)(unsigned))function("cuInit"))(0);
}

API int life_device(int device) { return ((int (*)(int))function("cudaSetDevice"))(device); }
API int life_sync(void) { return ((int (*)(void))function("cudaDeviceSynchronize"))(); }

API int life_launch(int n)
{
	int (*launch)(const void *, dim3, dim3, void **, size_t, void *) = (int (*)(const void *, dim3, dim3, void **, size_t, void *))function("cudaLaunchKernel");
	int result = 0;
	for (int i = 0; i < n; i++)
		result |= launch("_Z4workPf", (dim3){1, 2, 3}, (dim3){32, 1, 1}, NULL, 0, NULL);
	return result;
}

static int per_thread;
static pthread_barrier_t barrier;

static void *thread(void *together)
{
	for (int i = 0; i < per_thread; i++) {
		nvtxRangePushA("in a thread");
		nvtxRangePop();
	}
	if (together)
		pthread_barrier_wait(&barrier); /* all are alive at once */
	return NULL;
}

/* n threads with so many ranges each; together: none ends before the last one has had its ranges. Returns how many began. */
API int life_threads(int n, int ranges, int together)
{
	pthread_attr_t small;
	pthread_t *all = calloc((size_t)n, sizeof *all);
	int began = 0;
	per_thread = ranges;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64 << 10);
	pthread_barrier_init(&barrier, NULL, (unsigned)n);
	while (began < n && pthread_create(&all[began], &small, thread, together ? all : NULL) == 0)
		if (!together && ++began % 64 == 0)
			for (int i = began - 64; i < began; i++)
				pthread_join(all[i], NULL);
		else if (together)
			began++;
	for (int i = together ? 0 : began / 64 * 64; i < began; i++)
		pthread_join(all[i], NULL);
	free(all);
	return began;
}

#ifdef LIFE_MAIN
static void *stream(void *arg)
{
	for (int i = 0; i < 200; i++) {
		char name[32];
		snprintf(name, sizeof name, "step %d", i);
		nvtxRangePushA(name);
		life_ranges("data", "load", 2);
		life_launch(3);
		nvtxRangePop();
	}
	return arg;
}

/* Threads that launch and mark, while one forks children that mark and end in every way. */
int main(int argc, char **argv)
{
	int streams = argc > 1 ? atoi(argv[1]) : 4, forks = argc > 2 ? atoi(argv[2]) : 4, bad = 0;
	pthread_t all[64];
	if (streams > 64 || !life_nvtx() || life_cuda() != 0)
		return 3;
	nvtxRangePushA("epoch");
	for (int i = 0; i < streams; i++)
		pthread_create(&all[i], NULL, stream, NULL);
	for (int i = 0; i < forks; i++) {
		pid_t child = fork();
		if (child == 0) {
			life_ranges("worker", "batch", 50);
			if (i % 2) {
				usleep(1500000); /* its agent writes, also on a busy machine */
				_exit(0);
			}
			exit(0);
		}
		int status = 1;
		waitpid(child, &status, 0);
		bad |= status;
	}
	for (int i = 0; i < streams; i++)
		pthread_join(all[i], NULL);
	nvtxRangePop();
	life_sync();
	return bad ? 4 : 0;
}
#endif
