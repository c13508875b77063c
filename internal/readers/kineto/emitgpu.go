package kineto

import (
	"bytes"
	"math"

	"lacuna/internal/timeline/model"
)

// gpu reads what all work of a GPU has.
func (p *parser) gpu(start, dur int64) gpuRow {
	row := gpuRow{
		startNs: start, durNs: dur, name: p.text(p.name),
		device: p.device(), stream: p.stream(), context: p.uint(fieldContext, 0),
		corr: p.uint(fieldCorr, model.NoCorr), external: p.external(), graph: p.uint(fieldGraph, model.NoGraph),
	}
	if row.external != model.NoExternal {
		p.out.has |= hasExternal
	}
	if row.graph != model.NoGraph {
		p.out.has |= hasGraph
	}
	if p.have.has(fieldGraphNode) {
		row.graphNode = uint64(max(0, p.int(fieldGraphNode, 0)))
	}
	p.corrless = row.corr == model.NoCorr
	return row
}

// device is args.device or, failing that, the process of the lane that GPU work is drawn on.
func (p *parser) device() uint32 {
	if p.have.has(fieldDevice) {
		return p.uint(fieldDevice, model.NoDevice)
	}
	if n, ok := parseInt(p.raw(p.pid)); ok && n >= 0 && n < math.MaxUint32 {
		return uint32(n)
	}
	return model.NoDevice
}

// stream is args.stream or, failing that, the number in the thread: 7 or "stream 7".
func (p *parser) stream() uint32 {
	if p.have.has(fieldStream) {
		return p.uint(fieldStream, model.NoStream)
	}
	raw := bytes.TrimPrefix(bare(p.raw(p.tid)), []byte("stream "))
	if n, ok := parseInt(raw); ok && n >= 0 && n < math.MaxUint32 {
		return uint32(n)
	}
	return model.NoStream
}

func (p *parser) emitKernel(start, dur int64) {
	row := kernelRow{gpuRow: p.gpu(start, dur), collective: p.collective()}
	if p.have&setOf(fieldGrid, fieldBlock, fieldRegisters, fieldShared, fieldBlocksPerSM, fieldWarpsPerSM,
		fieldOccupancy) != 0 {
		row.grid, row.block = p.dims(fieldGrid), p.dims(fieldBlock)
		if row.grid[0]+row.block[0] != 0 {
			p.out.has |= hasLaunch
		}
		if p.have.has(fieldShared) {
			row.shared = p.int32(fieldShared, 0)
			p.out.has |= hasShared
		}
		if p.have.has(fieldRegisters) {
			n := p.int(fieldRegisters, 0)
			if n < 0 || n > math.MaxUint16 {
				p.lose(model.LossWidth, int(p.value[fieldRegisters].from), "does not fit 16 bits",
					p.raw(p.value[fieldRegisters]))
				n = 0
			}
			row.registers = uint16(n)
			p.out.has |= hasRegisters
		}
		if p.have&setOf(fieldBlocksPerSM, fieldWarpsPerSM) != 0 {
			row.blocksPerSM, row.warpsPerSM = float32(p.float(fieldBlocksPerSM, 0)),
				float32(p.float(fieldWarpsPerSM, 0))
			p.out.has |= hasPerSM
		}
		if p.have.has(fieldOccupancy) {
			row.occupancy = float32(p.float(fieldOccupancy, 0) / 100)
			p.out.has |= hasOccupancy
		}
	}
	p.out.kernels = append(p.out.kernels, row)
}

// dims is the three numbers of a field; 0: absent.
func (p *parser) dims(f field) [3]int32 {
	if p.have.has(f) {
		if dims, ok := parseDims(p.raw(p.value[f])); ok {
			return dims
		}
	}
	return [3]int32{}
}

// copyRow reads a copy or memset.
func (p *parser) copyRow(start, dur int64) copyRow {
	row := copyRow{gpuRow: p.gpu(start, dur), bytes: -1, gbs: math.NaN()}
	if p.have.has(fieldBytes) {
		if row.bytes = p.int(fieldBytes, -1); row.bytes < 0 {
			p.lose(model.LossWidth, int(p.value[fieldBytes].from), "is not a number of bytes",
				p.raw(p.value[fieldBytes]))
			row.bytes = -1
		} else {
			p.out.has |= hasBytes
		}
	}
	if p.have.has(fieldBandwidth) {
		row.gbs = p.float(fieldBandwidth, math.NaN())
		p.out.has |= hasGBs
	}
	row.kind, row.src, row.dst = copyPath(p.inner(p.name))
	if row.kind == model.CopyUnknown && p.have.has(fieldKind) {
		row.kind = copyKind(p.inner(p.value[fieldKind]))
	}
	return row
}

// copyPath reads "Memcpy HtoD (Pageable -> Device)" and "Memset (Device)".
func copyPath(name []byte) (kind model.CopyKind, src, dst model.MemKind) {
	head, tail, _ := bytes.Cut(name, []byte(" ("))
	if i := bytes.LastIndexByte(head, ' '); i >= 0 {
		kind = copyKind(head[i+1:])
	}
	tail, _, _ = bytes.Cut(tail, []byte(")"))
	from, to, isCopy := bytes.Cut(tail, []byte(" -> "))
	if !isCopy {
		return kind, model.MemUnknown, memKind(from)
	}
	return kind, memKind(from), memKind(to)
}

// copyKind is CUPTI's number for the direction, as Kineto spells it.
func copyKind(text []byte) model.CopyKind {
	switch string(text) {
	case "HtoD", "HostToDevice":
		return model.CopyHtoD
	case "DtoH", "DeviceToHost":
		return model.CopyDtoH
	case "HtoA":
		return model.CopyHtoA
	case "AtoH":
		return model.CopyAtoH
	case "AtoA":
		return 5
	case "AtoD":
		return 6
	case "DtoA":
		return 7
	case "DtoD", "DeviceToDevice":
		return model.CopyDtoD
	case "HtoH", "HostToHost":
		return model.CopyHtoH
	case "PtoP", "PeerToPeer":
		return model.CopyPtoP
	}
	return model.CopyUnknown
}

func memKind(text []byte) model.MemKind {
	switch string(text) {
	case "Pageable":
		return model.MemPageable
	case "Pinned":
		return model.MemPinned
	case "Device":
		return model.MemDevice
	case "Array":
		return model.MemArray
	case "Managed":
		return model.MemManaged
	case "Device Static":
		return model.MemDeviceStatic
	case "Managed Static":
		return model.MemManagedStatic
	}
	return model.MemUnknown
}

func (p *parser) emitDeviceRange(start, dur int64) {
	row := deviceRangeRow{startNs: start, durNs: dur, device: p.device(), stream: p.stream(), name: p.text(p.name),
		external: p.external()}
	if row.external != model.NoExternal {
		p.out.has |= hasExternal
	}
	p.out.deviceRanges = append(p.out.deviceRanges, row)
}

func (p *parser) emitSync(start, dur int64) {
	row := syncRow{
		startNs: start, durNs: dur, device: p.device(), context: p.uint(fieldContext, 0),
		stream: p.uint(fieldStream, model.NoStream),
		corr:   p.uint(fieldCorr, model.NoCorr), event: p.uint(fieldWaitEvent, model.NoCorr),
		recordCorr: p.uint(fieldWaitCorr, model.NoCorr), onStream: p.uint(fieldWaitStream, model.NoStream),
	}
	if p.have&setOf(fieldWaitCorr, fieldWaitStream) != 0 {
		p.out.has |= hasWait
	}
	switch text := p.inner(p.value[fieldSyncKind]); {
	case !p.have.has(fieldSyncKind):
	case string(text) == "Event Sync":
		row.kind = model.SyncEvent
	case string(text) == "Stream Wait Event":
		row.kind = model.SyncStreamWait
	case string(text) == "Stream Sync":
		row.kind = model.SyncStream
	case string(text) == "Context Sync":
		row.kind = model.SyncContext
	}
	p.out.syncs = append(p.out.syncs, row)
}
