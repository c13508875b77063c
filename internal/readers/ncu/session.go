package ncu

import (
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"lacuna/internal/kernel/profile"
)

// blockHeader reads a block's header: what it announces, and what it adds to the session, the table of
// strings and the processes.
func (f *filler) blockHeader(msg []byte) (b block) {
	f.read += int64(len(msg))
	f.each("block header", msg, func(c *cursor) {
		switch c.num {
		case blockSources:
			b.sources = c.whole
		case blockResults:
			b.results = c.whole
		case blockSession:
			f.session(c.bytes)
		case blockStrings:
			f.stringTable(c.bytes)
		case blockPayloadSize:
			b.payload = int64(min(c.whole, maxBytes))
		case blockProcess:
			f.processInfo(c.bytes)
		case blockRanges:
			b.ranges = c.whole
		case blockCommandLists:
			b.commandLists = c.whole
		case blockGraphs:
			b.graphs = c.whole
		default:
			f.unknown("block header", c.num)
		}
	})
	return b
}

func (f *filler) stringTable(msg []byte) {
	f.each("string table", msg, func(c *cursor) {
		if c.num != stringTableEntry {
			f.unknown("string table", c.num)
			return
		}
		f.strings = append(f.strings, c.text())
		f.ids = append(f.ids, 0)
	})
}

// maxProcesses bounds the list of processes: no job has as many on one machine.
const maxProcesses = 1 << 16

// processInfo reads the process that a block is of. Blocks repeat it.
func (f *filler) processInfo(msg []byte) {
	var p profile.Process
	f.each("process", msg, func(c *cursor) {
		switch c.num {
		case processPID:
			p.PID = c.whole
		case processHost:
			p.Host = c.text()
		case processPath:
			p.Path = c.text()
		default:
			f.unknown("process", c.num)
		}
	})
	f.process = p
	if s := &f.report.Session; !f.met[p] && len(f.met) < maxProcesses {
		f.met[p] = true
		s.Processes = keep(f, s.Processes, p)
	}
}

// session reads session details into those of the file: what is said once overwrites, what is repeated adds.
func (f *filler) session(msg []byte) {
	s := &f.report.Session
	f.each("session", msg, func(c *cursor) {
		switch c.num {
		case sessionPID, sessionSettings:
		case sessionCreated:
			s.Created = int64(c.whole)
		case sessionHost:
			s.Host = f.system(c.bytes)
		case sessionTarget:
			s.Target = f.system(c.bytes)
		case sessionProperties:
			if len(c.bytes) > 0 {
				f.unknown("device properties", c.num)
			}
		case sessionAttributes:
			f.attributes(c.bytes)
		case sessionComments:
			s.Comments = c.text()
		case sessionVersion:
			p := f.pair("version", c.bytes)
			s.Versions = keep(f, s.Versions, p)
			if p.Name == "Nsight Compute Target" {
				f.report.Producer = producer(p.Value)
			}
		case sessionExecutable:
			f.executable(c.bytes)
		case sessionCommandLine:
			s.CommandLine = c.text()
		default:
			f.unknown("session", c.num)
		}
	})
}

// producer is the profiler's name with its version as people write it: "2025.3.1.0 (build 36398880)" is 2025.3.1.
func producer(version string) string {
	number, _, _ := strings.Cut(version, " ")
	if parts := strings.Split(number, "."); len(parts) == 4 {
		number = strings.Join(parts[:3], ".")
	}
	return "Nsight Compute " + number
}

func (f *filler) executable(msg []byte) {
	f.each("executable", msg, func(c *cursor) {
		if c.num == executablePath && c.kind == protowire.BytesType {
			f.report.Session.Executable = c.text()
		}
	})
}

// platforms are the words for a system's platform.
func platform(n uint64) string {
	switch n {
	case 1:
		return "Windows"
	case 2:
		return "Linux"
	case 3:
		return "Android"
	case 4:
		return "macOS"
	case 5:
		return "QNX"
	case 6:
		return "HOS"
	}
	return ""
}

func (f *filler) system(msg []byte) (s profile.System) {
	f.each("system", msg, func(c *cursor) {
		switch c.num {
		case systemOS:
			s.OS = c.text()
		case systemBuild:
			s.Build = c.text()
		case systemProcessor:
			s.Processor = c.text()
		case systemArchitecture:
			s.Architecture = c.text()
		case systemName:
			s.Name = c.text()
		case systemPlatform:
			s.Platform = platform(c.whole)
		case systemAddress:
			s.Addresses = keep(f, s.Addresses, f.address(c.bytes))
		default:
			f.unknown("system", c.num)
		}
	})
	return s
}

func (f *filler) address(msg []byte) (text string) {
	f.each("address", msg, func(c *cursor) {
		switch c.num {
		case addressText:
			text = c.text()
		case addressType:
		default:
			f.unknown("address", c.num)
		}
	})
	return text
}

func (f *filler) pair(message string, msg []byte) (p profile.Pair) {
	f.each(message, msg, func(c *cursor) {
		switch c.num {
		case pairName:
			p.Name = c.text()
		case pairValue:
			p.Value = c.text()
		default:
			f.unknown(message, c.num)
		}
	})
	return p
}

func (f *filler) attributes(msg []byte) {
	var d profile.Device
	f.each("device attributes", msg, func(c *cursor) {
		switch c.num {
		case attributesDevice:
			d.ID = int(int32(c.whole))
		case attributesName:
			d.Name = c.text()
		case attributesEntry:
			d.Attributes = keep(f, d.Attributes, f.attribute(c.bytes))
		default:
			f.unknown("device attributes", c.num)
		}
	})
	f.report.Session.Devices = keep(f, f.report.Session.Devices, d)
}

func (f *filler) attribute(msg []byte) (a profile.Attribute) {
	f.each("device attribute", msg, func(c *cursor) {
		switch c.num {
		case pairName:
			a.Name = strings.TrimPrefix(c.text(), profile.AttributePrefix)
		case pairValue:
			a.Value = f.value("device attribute", c.bytes)
		default:
			f.unknown("device attribute", c.num)
		}
	})
	return a
}

// value reads a value message.
func (f *filler) value(of string, msg []byte) profile.Value {
	v, odd, bad := decodeValue(msg)
	if odd != 0 {
		f.unknown("value", odd)
	}
	if bad {
		f.losses.Add(lossBadMessage, 1, of+": a value")
		f.broken = true
	}
	return v
}
