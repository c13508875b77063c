package kernel

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"lacuna/internal/base/golden"
	"lacuna/internal/kernel/profile"
	"lacuna/internal/reader"
	"lacuna/internal/readers/ncu"
)

// planted is where the fault of each case of corpus/kernel sits, by its source (workloads/kernels.md says which fault
// it is), with the least share that the line has of what is counted for such a fault.
var planted = []struct {
	kernel string
	where  func(*Kernel) []Place
	text   string
	share  float64
}{
	{"aos_energy_strided", (*Kernel).HotUncoalesced, "float v = p[i].f[3], m = p[i].f[11];", 1},
	{"rowsum_thread_per_row", (*Kernel).HotUncoalesced, "s += a[(size_t)r * cols + c];", 1},
	{"transpose_uncoalesced", (*Kernel).HotUncoalesced, "out[(size_t)x * n + y + j] = in[(size_t)(y + j) * n + x];", 1},
	{"transpose_tile32_conflict", (*Kernel).HotConflicts, "= tile[threadIdx.x * PITCH + threadIdx.y + j];", 1},
	{"rowdot_pitch32", (*Kernel).HotConflicts, "s = fmaf(s, w, tile[t * pitch + k]);", 1},
	{"filterbank_capped_regs", opcodes("LDL", "STL"), "acc[k] = fmaf(acc[k], x, 0.01f * (k + 1));", 0.9},
	{"rowsum_block_barriers", stalls("barrier"), "__syncthreads();", 0.7},
	{"lut_scale_smem200k", stalls("long_scoreboard"), "float x = in[i];", 1},
	{"axpb_32_blocks", stalls("long_scoreboard"), "y[i] = fmaf(a, x[i], b);", 1},
	{"csrsum_thread_per_row", stalls("long_scoreboard"), "s += val[k];", 0.99},
	{"chase_one_list", stalls("long_scoreboard"), "p = next[p];", 1},
	{"update_mixed_kinds", (*Kernel).HotDivergence, "switch (kind) {", 1},
	{"reduce_interleaved", (*Kernel).HotDivergence, "if (t % (2 * d) == 0) s[t] += s[t + d];", 0.98},
	{"chains_sequential", stalls("wait"), "x = fmaf(x, m, 0.125f);", 0.99},
	{"wave_precise", opcodes("MUFU"), "s += sinf(x * k) * powf(x, 0.3f * k) / (1.0f + x * k);", 1},
	{"recur_mul_add", opcodes("FADD", "FMUL"), "__fadd_rn(__fmul_rn(v[k], m), b);", 1},
	{"hgemm_cuda_cores", opcodes("FFMA"), "acc[i][j] = fmaf(a[i], b[j], acc[i][j]);", 1},
	{"sgemm_naive", opcodes("LDG"), "s = fmaf(A[(size_t)row * K + k], B[(size_t)k * N + col], s);", 1},
	{"invert_bytes", opcodes("LDG", "STG"), "out[i] = (unsigned char)(255 - in[i]);", 1},
	{"layernorm_apply", opcodes("LDG"), "float4 v = x[q * 256 + threadIdx.x];", 0.8},
}

func opcodes(names ...string) func(*Kernel) []Place {
	return func(k *Kernel) []Place { return k.HotOpcodes(names...) }
}

func stalls(reasons ...string) func(*Kernel) []Place {
	return func(k *Kernel) []Place { return k.HotStalls(reasons...) }
}

// corpusLaunches is every launch of a folder of the corpus, read from the reports.
func corpusLaunches(t testing.TB, folder string) []*Kernel {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(golden.Corpus(t), folder, "*/report.ncu-rep*"))
	if err != nil {
		t.Fatal(err)
	}
	if len(paths) == 0 {
		t.Fatal("no reports in the corpus")
	}
	var all []*Kernel
	for _, path := range paths {
		r, err := reader.OpenProfile(context.Background(), path, []*reader.Format{&ncu.Format}, reader.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range r.Launches {
			all = append(all, Of(l))
		}
	}
	return all
}

func TestPlantedLineIsHottest(t *testing.T) {
	byName := make(map[string]*Kernel)
	for _, k := range corpusLaunches(t, "kernel") {
		byName[k.Launch.Base] = k
	}
	right := 0
	for _, test := range planted {
		k := byName[test.kernel]
		if k == nil {
			t.Errorf("%s is not in the corpus", test.kernel)
			continue
		}
		places := test.where(k)
		if len(places) == 0 {
			t.Errorf("%s: nowhere", test.kernel)
			continue
		}
		if p := places[0]; !strings.Contains(p.Text, test.text) || p.Share < test.share-1e-3 {
			t.Errorf("%s: %.1f %% in line %d %q; want at least %.1f %% in %q", test.kernel, 100*p.Share, p.Line,
				p.Text, 100*test.share, test.text)
			continue
		}
		right++
	}
	t.Logf("the planted line is the hottest in %d of %d", right, len(planted))
}

// What an instruction waits for is the load, not the instruction itself, and the barrier before it.
func TestWaitsMove(t *testing.T) {
	for _, k := range corpusLaunches(t, "kernel") {
		c := k.Code()
		for _, test := range []struct{ reason, kind string }{{"long_scoreboard", "LDG LDL LDGSTS ATOMG STG STL REDG"},
			{"barrier", "BAR"}} {
			var on, all float64
			for i, n := range c.Caused(test.reason) {
				all += n
				if strings.Contains(test.kind, c.Instructions[i].Name) {
					on += n
				}
			}
			if on < 0.99*all {
				t.Errorf("%s: %.0f of %.0f samples of %s are on %s", k.Launch.Base, on, all, test.reason, test.kind)
			}
		}
	}
}

// Every instruction of the reports that were made with -lineinfo has a line of the program's own source.
func TestEveryInstructionHasALine(t *testing.T) {
	total := 0
	for _, k := range corpusLaunches(t, "kernel") {
		c := k.Code()
		for _, i := range c.Instructions {
			total++
			if i.Line == 0 || !strings.HasSuffix(i.File, "/kernels.cu") || i.Name == "" {
				t.Errorf("%s+%#x (%q): %s:%d", i.Function, i.Offset, i.Name, i.File, i.Line)
			}
		}
	}
	t.Logf("%d instructions", total)
}

// GatherShare is 1 for walks along lists and for rows found through an index, and 0 where addresses are computed.
func TestGatherShare(t *testing.T) {
	want := map[string][2]float64{
		"chase_one_list": {1, 1}, "chase_eight_lists": {1, 1}, "csrsum_thread_per_row": {0.99, 1},
		"csrsum_balanced_chunks": {0.3, 0.6},
	}
	for _, k := range corpusLaunches(t, "kernel") {
		share, known := k.GatherShare()
		limits := want[k.Launch.Base]
		if !known || share < limits[0] || share > limits[1] {
			t.Errorf("%s: %.2f %v, want %v", k.Launch.Base, share, known, limits)
		}
	}
}

// A report in text form has no machine code: its lines are stated, and waits stay where they were sampled.
func TestPlacesWithoutCode(t *testing.T) {
	r, err := profile.Parse(`
kernel k grid=1,1,1 block=32,1,1
inst_executed[0x7f0000] 10
inst_executed[0x7f0010] 10
smsp__pcsamp_warps_issue_stalled_no_instructions[0x7f0010] 7
memory_l2_theoretical_sectors_global[0x7f0020] 64
memory_l2_theoretical_sectors_global_ideal[0x7f0020] 16
line 0x7f0010 /src/a.cu:12 b[i] = f(a[i]);
line 0x7f0020 /src/a.cu:13 c[i] = b[j];
`)
	if err != nil {
		t.Fatal(err)
	}
	k := Of(r.Launches[0])
	for _, test := range []struct {
		what   string
		places []Place
		line   int
		text   string
		share  float64
	}{
		{"instructions", k.Hot("inst_executed"), 0, "", 0.5},
		{"fetch", k.HotStalls("no_instruction"), 12, "b[i] = f(a[i]);", 1},
		{"sectors", k.HotUncoalesced(), 13, "c[i] = b[j];", 1},
	} {
		if len(test.places) == 0 {
			t.Errorf("%s: nowhere", test.what)
			continue
		}
		if p := test.places[0]; p.Line != test.line || p.Text != test.text || p.Share != test.share {
			t.Errorf("%s: %+v", test.what, p)
		}
	}
	if k.HotConflicts() != nil || k.HotDivergence() != nil {
		t.Error("what was not collected is somewhere")
	}
	if _, known := k.GatherShare(); known {
		t.Error("gathers are known without machine code")
	}
}
