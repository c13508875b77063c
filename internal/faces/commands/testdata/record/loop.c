/* A training loop in small, for the tests of lacuna record: against the driver and the CUPTI in agent/test, no GPU.
 * loop STEPS MS [profiler A B]: each step copies, launches 3 kernels, and waits; then the host works for MS. With profiler,
 * cudaProfilerStart comes before step A and cudaProfilerStop before step B. On SIGINT it ends after the step, with status 3. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nvtx_client.h"

typedef struct {
	unsigned x, y, z;
} dim3;
int cuInit(unsigned);
int cudaLaunchKernel(const void *, dim3, dim3, void **, size_t, void *);
int cudaMemcpyAsync(void *, const void *, size_t, int, void *);
int cudaDeviceSynchronize(void);
int cudaProfilerStart(void);
int cudaProfilerStop(void);

static volatile sig_atomic_t stop;
static void interrupted(int signal)
{
	(void)signal;
	stop = 1;
}

int main(int argc, char **argv)
{
	long steps = argc > 1 ? atol(argv[1]) : 10, ms = argc > 2 ? atol(argv[2]) : 5;
	long from = argc > 5 ? atol(argv[4]) : -1, upto = argc > 5 ? atol(argv[5]) : -1;
	signal(SIGINT, interrupted);
	nvtx_start();
	cuInit(0);
	for (long i = 0; i < steps && !stop; i++) {
		if (i == from)
			cudaProfilerStart();
		if (i == upto)
			cudaProfilerStop();
		char name[32];
		snprintf(name, sizeof name, "step %ld", i);
		nvtxRangePushA(name);
		static char host[4096], device[4096];
		cudaMemcpyAsync(device, host, sizeof host, 1, NULL);
		for (int k = 0; k < 3; k++)
			cudaLaunchKernel("gemm", (dim3){64, 1, 1}, (dim3){128, 1, 1}, NULL, 0, NULL);
		cudaDeviceSynchronize();
		nvtxRangePushA("data_load");
		usleep((useconds_t)ms * 1000);
		nvtxRangePop();
		nvtxRangePop();
	}
	printf("done\n");
	return stop ? 3 : 0;
}
