// Package nsys reads captures of NVIDIA Nsight Systems: its SQLite export, of any schema since
// 2019, and its own .nsys-rep and .qdrep files by having nsys export them. Tables and columns
// are discovered, never assumed: what a file lacks is absent from the Trace.
package nsys

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"lacuna/internal/base/sqlite"
	"lacuna/internal/reader"
	"lacuna/internal/timeline/model"
)

// Format recognises and reads Nsight Systems captures.
var Format = reader.Format{
	Name:  "nsys",
	Title: "Nsight Systems SQLite export, .nsys-rep or .qdrep",
	Doc: `
The SQLite export of Nsight Systems 2019 to 2026: kernels, copies, memsets, synchronisation, CUDA
graphs, runtime and driver calls, NVTX, OS runtime calls, CPU samples with call chains, scheduling,
memory, page faults, MPI, OpenACC, OpenMP, cuDNN and cuBLAS, GPU and network counters, the profiler's own overhead
and diagnostics. Graphics tables (Vulkan, DirectX, OpenGL, WDDM) are not read.

A .nsys-rep or .qdrep is exported with nsys, if that is on the PATH; the export is kept in the
user's cache folder.`,
	Clock: clock,
	Files: "*.sqlite, *.sqlite.zst, *.sqlite.gz, *.nsys-rep, *.qdrep",
	Maker: "Nsight Systems",
	Tool: &model.Tool{Name: "Nsight Systems", CallNs: 2_500, OtherNs: 2_000, NodeNs: 150, Spread: 0.35,
		MinShare: 0.07},
	Measured: `One host (H200, 16 cores, PyTorch 2.11, Nsight Systems 2025.3): twelve loops timed with and without it,
leave-one-out error 4.3 % of the step in launch-bound loops. The nodes of a graph: 0.993 ms traced, 0.942 not, for
312.`,
	Fills: []reader.Fill{
		{Parts: model.PartsGPU | model.PartLaunchConfig | model.PartCalls | model.PartSyncs | model.PartOverheads},
		{Parts: model.PartRanges | model.PartPayloads, With: "--trace=nvtx"},
		{Parts: model.PartMemory, With: "--cuda-memory-usage=true"},
		{Parts: model.PartFaults, With: "--cuda-um-cpu-page-faults=true --cuda-um-gpu-page-faults=true"},
		{Parts: model.PartOS, With: "--trace=osrt"},
		{Parts: model.PartLibs, With: "--trace=cudnn,cublas"},
		{Parts: model.PartMPI, With: "--trace=mpi"},
		{Parts: model.PartOpenACC, With: "--trace=openacc"},
		{Parts: model.PartOpenMP, With: "--trace=openmp"},
		{Parts: model.PartSamples, With: "--sample=process-tree"},
		{Parts: model.PartSched, With: "--cpuctxsw=process-tree"},
		{Parts: model.PartCounters, With: "--gpu-metrics-devices=all"},
	},
	Sniff: sniff,
	Read:  read,
}

const clock = "ns since the session began, on the host's monotonic clock; nsys converts GPU times to it"

// reportMagic begins a .nsys-rep or .qdrep: "NVIDIA Tegra Profiler Report 1." or "…Report 2026@1@1@204-…".
const reportMagic = "NVIDIA Tegra Profiler Report "

func sniff(head []byte) int {
	switch {
	case bytes.HasPrefix(head, []byte(reportMagic)):
		return 100
	case !bytes.HasPrefix(head, []byte(sqlite.Magic)):
		return 0
	case bytes.Contains(head, []byte("StringIds")) || bytes.Contains(head, []byte("CUPTI_ACTIVITY_KIND")):
		return 100
	}
	return 50 // another program's database gets this reader's error, which lists its tables
}

func read(ctx context.Context, src *reader.Source, opt reader.Options) (*model.Trace, error) {
	file, size, cut, err := open(ctx, src, opt)
	if err != nil {
		return nil, err
	}
	if c, ok := file.(*exported); ok {
		defer c.Close()
	}
	db, err := sqlite.Open(file, size)
	if err != nil {
		return nil, fmt.Errorf("%s: is a damaged SQLite file: %w; export it again: nsys export -t sqlite -o "+
			"report.sqlite report.nsys-rep", src.Path, err)
	}
	if !isExport(db) {
		return nil, fmt.Errorf("%s: is a SQLite database but no Nsight Systems export (%s); make one: nsys export "+
			"-t sqlite -o report.sqlite report.nsys-rep",
			src.Path, tableNames(db))
	}
	r := &reading{ctx: ctx, db: db, opt: opt, trace: &model.Trace{}, procs: registry{}, threads: registry{},
		damaged: map[*sqlite.Table]bool{}, met: map[*sqlite.Table]bool{},
		skipped: map[*sqlite.Table]model.Parts{}}
	if cut || db.Cut {
		r.trace.Losses.Add(model.LossTruncated, 1, "the file ends before its last table does")
	}
	if st, err := os.Stat(src.Path + "-wal"); err == nil && st.Size() > 0 {
		r.trace.Warnings = append(r.trace.Warnings,
			fmt.Sprintf("what was written last is in %s-wal, which is not read; move it in first: sqlite3 %s "+
				"'pragma wal_checkpoint(truncate)'", src.Path, src.Path))
	}
	if d := db.Damage; d.Pages > 0 {
		r.trace.Losses.Add(model.LossUnreadableTable, int64(d.Pages), fmt.Sprintf("the list of tables: %v", d.First))
	}
	if err := r.all(); err != nil {
		return nil, err
	}
	if r.trace.Info.Events == 0 && len(r.damaged) > 0 {
		return nil, fmt.Errorf("%s: is a damaged Nsight Systems export: nothing that was asked for can be read (%s)",
			src.Path, r.trace.Losses.All()[0].Example)
	}
	r.leftUnread()
	return r.trace, nil
}

// open is the bytes of the SQLite file: src itself, or what nsys exports from it.
func open(ctx context.Context, src *reader.Source, opt reader.Options) (io.ReaderAt, int64, bool, error) {
	if !bytes.HasPrefix(src.Head, []byte(reportMagic)) {
		return src.At(ctx)
	}
	f, err := export(ctx, src, opt)
	if err != nil {
		return nil, 0, false, err
	}
	return f, f.size, false, nil
}

// known is a table that only an Nsight Systems export has.
var known = []string{"StringIds", "NVTX_EVENTS", "OSRT_API", "ProcessStreams", "TARGET_INFO_SYSTEM_ENV",
	"META_DATA_EXPORT", "EXPORT_META_DATA"}

func isExport(db *sqlite.DB) bool {
	for _, t := range db.Tables {
		if strings.HasPrefix(t.Name, "CUPTI_ACTIVITY_KIND_") {
			return true
		}
	}
	for _, name := range known {
		if db.Table(name) != nil {
			return true
		}
	}
	return false
}

// tableNames is the first few tables, for a message.
func tableNames(db *sqlite.DB) string {
	if len(db.Tables) == 0 {
		return "it has no tables"
	}
	var names []string
	for _, t := range db.Tables {
		if len(names) == 8 {
			names = append(names, "…")
			break
		}
		names = append(names, fmt.Sprintf("%.40q", t.Name))
	}
	return "its tables: " + strings.Join(names, ", ")
}

// all reads what is wanted, in an order in which later tables find what they refer to.
func (r *reading) all() error {
	r.trace.Loaded = r.opt.Need
	if r.opt.Need == 0 {
		r.trace.Loaded = model.PartsAll
	}
	r.info()
	r.strings()
	// What is not wanted is counted all the same: see scan.
	sections := []struct {
		parts model.Parts
		read  func()
	}{
		{model.PartSamples, r.chains},
		{model.PartKernels | model.PartLaunchConfig, r.kernels},
		{model.PartCopies, r.copies},
		{model.PartCopies, r.sets},
		{model.PartGraphs, r.graphRuns},
		{model.PartGraphs, r.graphEvents},
		{model.PartCalls, r.calls},
		{model.PartSyncs, r.syncs},
		{model.PartSyncs, r.eventRecords},
		{model.PartRanges | model.PartPayloads, r.nvtx},
		{model.PartMemory, r.deviceAllocs},
		{model.PartFaults, r.pageFaults},
		{model.PartOS, r.osCalls},
		{model.PartLibs, r.libCalls},
		{model.PartMPI, r.mpi},
		{model.PartOpenACC, r.openACC},
		{model.PartOpenMP, r.openMP},
		{model.PartSamples, r.samples},
		{model.PartSched, r.sched},
		{model.PartCounters, r.counters},
		{model.PartOverheads, r.overheads},
		{model.PartOverheads, r.diagnostics},
	}
	for _, s := range sections {
		if r.err != nil {
			break
		}
		if r.unwanted = 0; !r.opt.Wants(s.parts) {
			r.unwanted = s.parts
		}
		s.read()
	}
	if r.unwanted = 0; r.err != nil {
		return r.err
	}
	r.devices()
	r.people()
	r.trace.Finish()
	r.collectives()
	return nil
}
