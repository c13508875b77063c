package cubin_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"

	"lacuna/internal/base/golden"
	"lacuna/internal/kernel/cubin"
	"lacuna/internal/kernel/profile"
	"lacuna/internal/reader"
	"lacuna/internal/readers/ncu"
)

// modules is every cubin of the corpus with the report that it is in.
func modules(t testing.TB) map[string]*profile.Report {
	t.Helper()
	all, corpus := make(map[string]*profile.Report), golden.Corpus(t)
	for _, glob := range []string{"kernel/*/report.ncu-rep*", "public/ncu/*/report.ncu-rep*"} {
		paths, err := filepath.Glob(filepath.Join(corpus, glob))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			r, err := reader.OpenProfile(context.Background(), path, []*reader.Format{&ncu.Format}, reader.Options{})
			if err != nil {
				t.Fatal(err)
			}
			all[filepath.Dir(path)] = r
		}
	}
	if len(all) == 0 {
		t.Fatal("no reports in the corpus")
	}
	return all
}

// sass is the instructions of a printed page: text by address.
func sass(t testing.TB, folder string) map[uint64]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, "source_sass.csv"))
	if packed, openErr := os.Open(filepath.Join(folder, "source_sass.csv.gz")); openErr == nil {
		defer packed.Close()
		z, zErr := gzip.NewReader(packed)
		if zErr != nil {
			t.Fatal(zErr)
		}
		text, err = io.ReadAll(z)
	}
	if err != nil {
		return nil
	}
	r := csv.NewReader(bytes.NewReader(text))
	r.FieldsPerRecord = -1
	rows, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[uint64]string)
	for _, row := range rows {
		if address, err := strconv.ParseUint(strings.TrimPrefix(row[0], "0x"), 16, 64); err == nil &&
			strings.HasPrefix(row[0], "0x") {
			all[address] = strings.TrimSpace(row[1])
		}
	}
	return all
}

var (
	guard    = regexp.MustCompile(`^@!?U?P[0-9T]+\s+`)
	register = regexp.MustCompile(`\bR(\d+)\b`)
	target   = regexp.MustCompile(`0x([0-9a-f]{6,})`)
)

// Every instruction that Nsight Compute printed as text has that name here, names those registers, and branches there.
func TestOperations(t *testing.T) {
	instructions, branches := 0, 0
	for folder, r := range modules(t) {
		text := sass(t, folder)
		for _, s := range r.Sources {
			if s.Cubin == nil || s.SMVersion>>16 >= 10 { // of 10.0 there is no text
				continue
			}
			f, err := cubin.Parse(s.Cubin)
			if err != nil {
				t.Errorf("%s: %v", folder, err)
				continue
			}
			// code for 8.0 runs on 8.6
			if device := int(s.SMVersion>>16*10 + s.SMVersion&0xffff); f.SM > device || f.SM/10 != device/10 {
				t.Errorf("%s: compute capability %d on a device of %d", folder, f.SM, device)
			}
			for _, at := range s.Functions {
				fn := f.Function(at.Symbol, at.Index)
				if fn == nil {
					t.Errorf("%s: no %s", folder, at.Symbol)
					continue
				}
				for _, i := range fn.Instructions() {
					printed, ok := text[at.Address+i.Offset]
					if !ok {
						continue
					}
					instructions++
					same(t, i, printed)
					if i.Branch {
						branches++
						if want := target.FindStringSubmatch(printed); want == nil ||
							want[1] != strconv.FormatUint(at.Address+i.Target, 16) {
							t.Errorf("%s: goes to %#x", printed, at.Address+i.Target)
						}
					}
				}
			}
		}
	}
	t.Logf("%d instructions, %d branches", instructions, branches)
	if instructions < 40_000 {
		t.Errorf("%d instructions cannot be all", instructions)
	}
}

func same(t *testing.T, i cubin.Instruction, printed string) {
	t.Helper()
	code := guard.ReplaceAllString(printed, "")
	name, operands, _ := strings.Cut(code, " ")
	if base, _, _ := strings.Cut(name, "."); base != strings.TrimSuffix(strings.SplitN(i.Name, ".", 2)[0], ";") {
		t.Errorf("%s is called %q", printed, i.Name)
	}
	if (i.Guard != 7) != (code != printed) && !strings.HasPrefix(printed, "@P") && !strings.HasPrefix(printed, "@U") &&
		!strings.HasPrefix(printed, "@!") {
		t.Errorf("%s: guard %d", printed, i.Guard)
	}
	var want, got []string
	for _, r := range register.FindAllStringSubmatch(operands, -1) {
		want = append(want, r[1])
	}
	for _, s := range append(i.Uses[:], i.Dest) {
		if s.Count > 0 && s.First < cubin.UniformRegisters {
			got = append(got, strconv.Itoa(int(s.First)))
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(slices.Compact(want), slices.Compact(got)) {
		t.Errorf("%s: registers %v", printed, got)
	}
	testPredicates(t, i, printed)
	for suffix, bytes := range map[string]int{".64": 8, ".128": 16, ".U8": 1, ".U16": 2} {
		if i.Kind != cubin.Other && i.Bytes != 0 && strings.Contains(name+".", suffix+".") && i.Bytes != bytes &&
			!strings.HasPrefix(name, "ATOM") {
			t.Errorf("%s: %d bytes", printed, i.Bytes)
		}
	}
}

// A damaged module is an error or less, never a panic, and lines of a whole one are where the source says.
func TestDamage(t *testing.T) {
	var whole []byte
	for folder, r := range modules(t) {
		if strings.HasSuffix(folder, "ncar-v100-2022.2-baseline") {
			whole = r.Sources[0].Cubin
		}
	}
	if whole == nil {
		t.Fatal("the module is not in the corpus")
	}
	for n := 0; n < len(whole); n += len(whole)/200 + 1 {
		walk(whole[:n])
		damaged := bytes.Clone(whole)
		damaged[n] ^= 0xff
		walk(damaged)
	}
	f, err := cubin.Parse(whole)
	if err != nil || !f.HasLines() {
		t.Fatalf("no lines: %v", err)
	}
	lines := f.Function("set_halo_values_x_396_gpu", 42).Lines(0)
	if len(lines) != 1 || lines[0].Line != 396 || filepath.Base(lines[0].File) != "miniWeather_mpi_openacc.F90" {
		t.Errorf("the kernel of line 396 begins at %v", lines)
	}
}

// walk asks everything of a module.
func walk(data []byte) {
	f, err := cubin.Parse(data)
	if err != nil {
		return
	}
	for n, fn := range f.Functions {
		if n > 5 {
			return
		}
		list := fn.Instructions()
		list = list[:min(len(list), 300)]
		for i := range list {
			fn.Lines(list[i].Offset)
			cubin.Producers(list, i)
		}
		cubin.LoadedAddresses(list)
		cubin.Trace(list)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("\x7fELF\x02\x01\x01"))
	corpus := filepath.Join(golden.Root(f), "../../shared/corpus") // seeds, if it is there
	for _, dir := range []string{"cudacode-gtx1660s-2024.1-vecadd", "indexspaces-a40-2022.4",
		"indexspaces-a40-2022.1"} {
		if paths, _ := filepath.Glob(filepath.Join(corpus, "public/ncu", dir, "report.ncu-rep*")); len(paths) > 0 {
			r, err := reader.OpenProfile(context.Background(), paths[0], []*reader.Format{&ncu.Format},
				reader.Options{})
			if err == nil {
				f.Add(r.Sources[0].Cubin)
			}
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) { walk(data) })
}

var predicate = regexp.MustCompile(`\bU?P[0-6]\b`)

func testPredicates(t *testing.T, i cubin.Instruction, printed string) {
	t.Helper()
	if i.Kind == cubin.Barrier { // where it has none its field is not that of the constant
		return
	}
	want := predicate.FindAllString(guard.ReplaceAllString(printed, ""), -1)
	var got []string
	for n := range 15 {
		if (i.Sets|i.Tests)>>n&1 == 1 {
			name := "P" + strconv.Itoa(n%8)
			if n >= 8 {
				name = "U" + name
			}
			got = append(got, name)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if want = slices.Compact(want); !slices.Equal(want, got) {
		t.Errorf("%s: predicates %v", printed, got)
	}
}
