//go:build ignore

/* Where libcupti is. The copy that the program has loaded comes first, because two copies in one process disturb each other; then what
 * the loader knows; then what lies beside the program's CUDA libraries (Python's wheels); then the toolkit. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <glob.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cupti.h"

/* Newest first; none is offered that is newer than the driver. 11.8 is the only one of its major that is read. */
static const struct {
	int major;
	const char *soname, *wheel; /* wheel: folder below site-packages */
} releases[] = {
	{13, "libcupti.so.13", "nvidia/cu13/lib"},
	{12, "libcupti.so.12", "nvidia/cuda_cupti/lib"},
	{11, "libcupti.so.11.8", "nvidia/cuda_cupti/lib"},
};
enum { RELEASES = sizeof releases / sizeof *releases };

#if defined(__aarch64__)
#define TARGET "sbsa-linux"
#else
#define TARGET "x86_64-linux"
#endif

const char *lac_cupti_bind(lac_cupti_api *api, void *library)
{
	void *symbol;
#define BIND(needed, member, name, arguments) \
	symbol = dlsym(library, #name); \
	if (symbol == NULL && (needed)) \
		return #name; \
	memcpy(&api->member, &symbol, sizeof symbol);
	LAC_CUPTI_FUNCTIONS(BIND)
#undef BIND
	return NULL;
}

int lac_driver_version(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	if (driver == NULL)
		return 0;
	int version = 0;
	int (*ask)(int *);
	void *symbol = dlsym(driver, "cuDriverGetVersion");
	memcpy(&ask, &symbol, sizeof symbol);
	if (ask == NULL || ask(&version) != 0)
		version = 0;
	dlclose(driver); /* counts down; the program has it */
	return version;
}

/* What dl_iterate_phdr found: copied out, because nothing may be loaded from inside it. */
enum { FOUND = 24, PATH = 1024 };
typedef struct {
	char (*paths)[PATH];
	unsigned n;
	bool (*wanted)(const char *base);
} found;

static int see(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	found *f = arg;
	const char *path = info->dlpi_name, *slash = path != NULL ? strrchr(path, '/') : NULL;
	if (path == NULL || f->n == FOUND || strlen(path) >= PATH || !f->wanted(slash != NULL ? slash + 1 : path))
		return 0;
	strcpy(f->paths[f->n++], path);
	return 0;
}

static bool begins(const char *s, const char *with) { return strncmp(s, with, strlen(with)) == 0; }

static bool is_cupti(const char *base) { return begins(base, "libcupti.so"); }

static bool is_cuda(const char *base)
{
	static const char *const known[] = {"libcudart.so", "libtorch", "libc10_cuda.so", "libcublas.so", "libcublasLt.so", "libcudnn.so", "libnvrtc.so", "libnccl.so", "libcusparse.so"};
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (begins(base, known[i]))
			return true;
	return false;
}

/* Offers folder/SONAME for each release that the driver bears. */
static bool in_folder(const char *folder, int driver, bool (*attempt)(const char *, bool))
{
	for (size_t i = 0; i < RELEASES; i++) {
		char path[PATH + 64];
		snprintf(path, sizeof path, "%s/%s", folder, releases[i].soname);
		if ((driver == 0 || releases[i].major <= driver / 1000) && access(path, R_OK) == 0 && attempt(path, false))
			return true;
	}
	return false;
}

/* Beside a CUDA library of the program: its own folder, its toolkit, and the wheels of the same site-packages. */
static bool beside(char *path, int driver, bool (*attempt)(const char *, bool))
{
	char folder[PATH + 64];
	char *slash = strrchr(path, '/');
	if (slash == NULL)
		return false;
	*slash = 0;
	if (in_folder(path, driver, attempt))
		return true;
	snprintf(folder, sizeof folder, "%s/../extras/CUPTI/lib64", path);
	if (in_folder(folder, driver, attempt))
		return true;
	static const char *const roots[] = {"/site-packages/", "/dist-packages/"};
	for (size_t k = 0; k < 2; k++) {
		char *root = strstr(path, roots[k]);
		if (root == NULL)
			continue;
		const int length = (int)(root - path + (ptrdiff_t)strlen(roots[k]));
		for (size_t i = 0; i < RELEASES; i++) {
			snprintf(folder, sizeof folder, "%.*s%s", length, path, releases[i].wheel);
			if (in_folder(folder, driver, attempt))
				return true;
		}
	}
	return false;
}

static bool in_toolkit(const char *root, int driver, bool (*attempt)(const char *, bool))
{
	static const char *const below[] = {"extras/CUPTI/lib64", "lib64", "targets/" TARGET "/lib"};
	for (size_t i = 0; i < sizeof below / sizeof *below; i++) {
		char folder[PATH];
		if (snprintf(folder, sizeof folder, "%s/%s", root, below[i]) < (int)sizeof folder && in_folder(folder, driver, attempt))
			return true;
	}
	return false;
}

static bool in_toolkits(int driver, bool (*attempt)(const char *, bool))
{
	static const char *const variables[] = {"CUDA_HOME", "CUDA_PATH", "CUDA_ROOT"};
	for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
		const char *root = getenv(variables[i]);
		if (root != NULL && *root != 0 && in_toolkit(root, driver, attempt))
			return true;
	}
	if (in_toolkit("/usr/local/cuda", driver, attempt))
		return true;
	glob_t all = {0};
	bool taken = false;
	if (glob("/usr/local/cuda-*", 0, NULL, &all) == 0)
		for (size_t i = all.gl_pathc; i-- > 0 && !taken;) /* sorted: the newest is last */
			taken = in_toolkit(all.gl_pathv[i], driver, attempt);
	globfree(&all);
	return taken;
}

bool lac_find_cupti(int driver, bool (*attempt)(const char *path, bool loaded))
{
	const char *given = lac_set()->cupti;
	if (*given != 0)
		return attempt(given, false);
	found f = {.paths = malloc(FOUND * PATH), .wanted = is_cupti};
	if (f.paths == NULL)
		return false;
	bool taken = false;
	dl_iterate_phdr(see, &f);
	for (unsigned i = 0; i < f.n && !taken; i++)
		taken = attempt(f.paths[i], true);
	if (f.n == 0) {
		for (size_t i = 0; i < RELEASES && !taken; i++)
			if (driver == 0 || releases[i].major <= driver / 1000)
				taken = attempt(releases[i].soname, false);
		f.wanted = is_cuda;
		if (!taken)
			dl_iterate_phdr(see, &f);
		for (unsigned i = 0; i < f.n && !taken; i++)
			taken = beside(f.paths[i], driver, attempt);
		taken = taken || in_toolkits(driver, attempt);
	}
	free(f.paths);
	return taken;
}

/* Libraries that take CUPTI for themselves, and what people call them. Of torch only the library that holds its profiler is known,
 * which is there whether it profiles or not: it is named last. */
static const struct {
	const char *library, *name;
} holders[] = {
	{"libToolsInjection", "Nsight Systems (libToolsInjection)"}, {"libcuda-injection", "Nsight Compute (libcuda-injection)"}, {"libnv-cuda-injection", "Nsight Compute"},
	{"libnvidia-cuda-debugger", "cuda-gdb"}, {"libsanitizer-collection", "Compute Sanitizer"}, {"libparcagpucupti", "parca (libparcagpucupti)"}, {"libparcagpu", "parca (libparcagpu)"},
	{"libzymtracecudaprofiler", "zymtrace"}, {"libproton", "Proton"}, {"libhpcrun", "HPCToolkit"}, {"libscorep", "Score-P"}, {"libTAU", "TAU"}, {"libextrae", "Extrae"},
	{"libkineto", "torch.profiler (libkineto)"}, {"libtorch_cpu", "torch.profiler"},
};

static bool is_holder(const char *base)
{
	for (size_t i = 0; i < sizeof holders / sizeof *holders; i++)
		if (begins(base, holders[i].library))
			return true;
	return false;
}

void lac_find_holder(char *name, size_t size)
{
	found f = {.paths = malloc(FOUND * PATH), .wanted = is_holder};
	*name = 0;
	if (f.paths == NULL)
		return;
	dl_iterate_phdr(see, &f);
	for (size_t h = 0; h < sizeof holders / sizeof *holders && *name == 0; h++)
		for (unsigned i = 0; i < f.n && *name == 0; i++) {
			const char *slash = strrchr(f.paths[i], '/');
			if (begins(slash != NULL ? slash + 1 : f.paths[i], holders[h].library))
				snprintf(name, size, "%s", holders[h].name);
		}
	free(f.paths);
}
