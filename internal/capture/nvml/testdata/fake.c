/* A stand-in for libnvidia-ml.so.1: two GPUs in a known state. Made for tests. */
#include <stdint.h>
#include <string.h>
typedef struct { int index; } *dev;
static struct { int index; } gpus[2] = {{0}, {1}};
typedef struct { char legacy[16]; unsigned domain, bus, device, id, subsystem; char bus_id[32]; } pci;
typedef struct { unsigned pid; unsigned long long used; unsigned instance, slice; } process;
static int put(char *to, unsigned n, const char *s) { if (strlen(s) >= n) return 7; strcpy(to, s); return 0; }
int nvmlInit_v2(void) { return FAKE_INIT; }
int nvmlShutdown(void) { return 0; }
const char *nvmlErrorString(int code) { return code == 9 ? "Driver Not Loaded" : "Unknown Error"; }
int nvmlSystemGetDriverVersion(char *s, unsigned n) { return put(s, n, "580.159.04"); }
int nvmlDeviceGetCount_v2(unsigned *n) { *n = 2; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, dev *d) { if (i > 1) return 2; *d = (dev)&gpus[i]; return 0; }
int nvmlDeviceGetName(dev d, char *s, unsigned n) { return put(s, n, "NVIDIA Fake"); }
int nvmlDeviceGetUUID(dev d, char *s, unsigned n) { return put(s, n, d->index ? "GPU-bbbb-1" : "GPU-aaaa-0"); }
int nvmlDeviceGetPciInfo_v3(dev d, pci *p) { memset(p, 0, sizeof *p); p->bus = 3; return put(p->bus_id, 32, "00000000:03:00.0"); }
int nvmlDeviceGetClockInfo(dev d, int kind, unsigned *mhz) { *mhz = kind == 1 ? 1650 : kind == 2 ? 3201 : 0; return 0; }
int nvmlDeviceGetMaxClockInfo(dev d, int kind, unsigned *mhz) { *mhz = kind == 1 ? 1980 : 3201; return 0; }
int nvmlDeviceGetPowerUsage(dev d, unsigned *mw) { *mw = 698500; return 0; }
int nvmlDeviceGetTemperature(dev d, int sensor, unsigned *c) { if (sensor) return 2; *c = 61; return 0; }
#ifdef FAKE_OLD
int nvmlDeviceGetCurrentClocksThrottleReasons(dev d, unsigned long long *r) { *r = 4; return 0; }
#else
int nvmlDeviceGetCurrentClocksEventReasons(dev d, unsigned long long *r) { *r = 4 | 32; return 0; }
#endif
int nvmlDeviceGetUtilizationRates(dev d, unsigned *u) { if (d->index) return 3; u[0] = 97; u[1] = 40; return 0; }
int nvmlDeviceGetMemoryInfo(dev d, unsigned long long *m) { m[0] = 150ull << 30; m[1] = 100ull << 30; m[2] = 50ull << 30; return 0; }
int nvmlDeviceGetComputeRunningProcesses_v3(dev d, unsigned *n, process *p) {
  if (*n < 2) return 7;
  *n = 2; p[0].pid = 4242; p[0].used = 20ull << 30; p[1].pid = 1; p[1].used = ~0ull; return 0;
}
#ifndef FAKE_OLD
typedef struct { unsigned id, scope; long long time, latency; unsigned type; int code; union { double d; unsigned u; unsigned long long v; } value; } field;
static unsigned asked; /* traffic grows by so much with each question */
int nvmlDeviceGetMPSComputeRunningProcesses_v3(dev d, unsigned *n, process *p) { *n = d->index; p[0].pid = 77; p[0].used = 1 << 20; return 0; }
int nvmlDeviceGetEnforcedPowerLimit(dev d, unsigned *mw) { *mw = 700000; return 0; }
int nvmlDeviceGetPcieThroughput(dev d, int rx, unsigned *kbps) { if (d->index) return 3; *kbps = rx ? 2000000 : 50000; return 0; }
int nvmlDeviceGetCudaComputeCapability(dev d, int *major, int *minor) { *major = 9; *minor = 0; return 0; }
int nvmlDeviceGetMigMode(dev d, unsigned *now, unsigned *next) { *now = *next = d->index; return 0; }
int nvmlSystemGetCudaDriverVersion_v2(int *v) { *v = 13000; return 0; }
int nvmlSystemGetConfComputeState(unsigned *s) { s[0] = 2; s[1] = 1; s[2] = 0; return 0; }
int nvmlDeviceGetFieldValues(dev d, int n, field *f) {
  asked++;
  for (int i = 0; i < n; i++, f++) {
    int rx = f->id == 139;
    f->type = 3, f->code = 0;
    if (f->id != 138 && !rx) f->code = 3;
    else if (d->index == 0) f->code = f->scope == ~0u ? 0 : 2, f->value.v = rx ? 2048 * asked : 1024 * asked; /* tells the sum only */
    else f->code = f->scope < 3 ? 0 : 2, f->value.v = 10 + rx;                                               /* tells single links only */
  }
  return 0;
}
#endif
