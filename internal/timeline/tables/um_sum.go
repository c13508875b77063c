package tables

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"lacuna/internal/base/unit"
	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

var umSum = Table{
	Name:  "um_sum",
	Title: "Migrations and page faults of unified memory by address",
	Doc: `
One row for each address at which pages migrated between host and device, or were faulted on. Page faults of
the GPU count as many as the record says it stands for.

The columns are those of nsys stats um_sum; no output of that was at hand to compare the rows with.
Rows are ordered by the bytes that migrated, most first, then by page faults, then by address.`,
	Columns: []Column{
		{"Virtual Address", unit.Text, "where the pages begin, in hexadecimal"},
		{"HtoD Migration Size", unit.MB, "moved from host to device, in 10^6 bytes"},
		{"DtoH Migration Size", unit.MB, "moved from device to host"},
		{"CPU Page Faults", unit.Count, "faults of the host"},
		{"GPU Page Faults", unit.Count, "faults of devices"},
		{"Migration Throughput", unit.MBps, "all migrated bytes over the time of the migrations; nothing if none"},
	},
	Args:  []Arg{{"rows", "N", "at most so many rows (10; 0: all)"}},
	Needs: model.PartCopies | model.PartFaults,
	Fill:  fillUMSum,
}

var umTotalSum = Table{
	Name:  "um_total_sum",
	Title: "All migrations and page faults of unified memory in one row",
	Doc: `
Sums over the whole capture. What the capture has no record of is absent, not 0: migrations, faults of
devices. Faults of the host are counted, so without any they are 0.`,
	Origin: "nsys stats um_total_sum",
	Columns: []Column{
		{"Total HtoD Migration Size", unit.MB, "moved from host to device, in 10^6 bytes"},
		{"Total DtoH Migration Size", unit.MB, "moved from device to host"},
		{"Total CPU Page Faults", unit.Count, "faults of the host"},
		{"Total GPU PageFaults", unit.Count, "faults of devices"},
		{"Minimum Virtual Address", unit.Text, "lowest address of a migration, in hexadecimal"},
		{"Maximum Virtual Address", unit.Text, "highest address of a migration"},
	},
	Needs: model.PartCopies | model.PartFaults,
	Fill:  fillUMTotalSum,
}

// A umPlace is what happened at an address, or at all.
type umPlace struct {
	addr                   uint64
	toDevice, toHost, inNs int64 // bytes, bytes, ns
	migrations             [2]bool
	cpuFaults, gpuFaults   int64
	gpuFaulted             bool
}

func (p *umPlace) bytes() int64 { return p.toDevice + p.toHost }

// needUM is nil if page faults were recorded, even if there were none.
func needUM(table string, t *model.Trace) error {
	if t.PageFaults.StartNs == nil {
		return &MissingError{table, "page faults of unified memory",
			"record with nsys profile --cuda-um-cpu-page-faults=true --cuda-um-gpu-page-faults=true"}
	}
	return nil
}

// eachUM finds the place of every migration and page fault and counts it there.
func eachUM(t *model.Trace, place func(addr uint64, migration bool) *umPlace) {
	c := &t.Copies
	for i, kind := range c.Kind {
		if kind != model.CopyUMHtoD && kind != model.CopyUMDtoH {
			continue
		}
		p := place(at(c.Addr, i, 0), true)
		p.inNs += c.DurNs[i]
		if kind == model.CopyUMHtoD {
			p.toDevice, p.migrations[0] = p.toDevice+c.Bytes[i], true
		} else {
			p.toHost, p.migrations[1] = p.toHost+c.Bytes[i], true
		}
	}
	f := &t.PageFaults
	for i, device := range f.Device {
		p := place(at(f.Addr, i, 0), false)
		if device == model.NoDevice {
			p.cpuFaults++
		} else {
			p.gpuFaults, p.gpuFaulted = p.gpuFaults+at(f.Count, i, 1), true
		}
	}
}

func hex(addr uint64) Cell { return Str(fmt.Sprintf("0x%x", addr)) }

func fillUMSum(in []*facts.Facts, args Args, out *Rows) error {
	t := in[0].Trace
	most := 10
	if args.Has("rows") {
		n, err := strconv.Atoi(args["rows"])
		if err != nil || n < 0 {
			return &ArgError{"um_sum", "rows", args["rows"], "a number of rows, or 0 for all"}
		}
		most = n
	}
	if err := needUM("um_sum", t); err != nil {
		return err
	}
	byAddr := make(map[uint64]*umPlace)
	var places []*umPlace
	eachUM(t, func(addr uint64, _ bool) *umPlace {
		p := byAddr[addr]
		if p == nil {
			p = &umPlace{addr: addr}
			byAddr[addr] = p
			places = append(places, p)
		}
		return p
	})
	slices.SortFunc(places, func(a, b *umPlace) int {
		return cmp.Or(cmp.Compare(b.bytes(), a.bytes()), cmp.Compare(b.cpuFaults+b.gpuFaults, a.cpuFaults+a.gpuFaults),
			cmp.Compare(a.addr, b.addr))
	})
	if most > 0 && len(places) > most {
		out.Notes = append(out.Notes, fmt.Sprintf("%d of %d addresses; all with um_sum:rows=0", most, len(places)))
		places = places[:most]
	}
	for _, p := range places {
		throughput := Cell{}
		if p.inNs > 0 {
			throughput = Float(float64(p.bytes()) / 1e6 / (float64(p.inNs) / 1e9))
		}
		out.Add(hex(p.addr), megabytes(float64(p.toDevice)), megabytes(float64(p.toHost)), Int(p.cpuFaults),
			Int(p.gpuFaults), throughput)
	}
	return nil
}

func fillUMTotalSum(in []*facts.Facts, _ Args, out *Rows) error {
	t := in[0].Trace
	if err := needUM("um_total_sum", t); err != nil {
		return err
	}
	var all umPlace
	low, high := uint64(math.MaxUint64), uint64(0)
	eachUM(t, func(addr uint64, migration bool) *umPlace {
		if migration && addr != 0 {
			low, high = min(low, addr), max(high, addr)
		}
		return &all
	})
	row := []Cell{{}, {}, Int(all.cpuFaults), {}, {}, {}}
	if all.migrations[0] {
		row[0] = megabytes(float64(all.toDevice))
	}
	if all.migrations[1] {
		row[1] = megabytes(float64(all.toHost))
	}
	if all.gpuFaulted {
		row[3] = Int(all.gpuFaults)
	}
	if low <= high {
		row[4], row[5] = hex(low), hex(high)
	}
	out.Add(row...)
	return nil
}
