package ncu

import (
	"unsafe"

	"lacuna/internal/kernel/profile"
)

// source reads a module. Results name it by a reference; a module that comes again may lack what came before.
func (f *filler) source(msg []byte) {
	f.read += int64(len(msg))
	s := profile.Source{Copies: 1}
	f.each("source", msg, func(c *cursor) {
		switch c.num {
		case sourceRef:
			s.Ref = c.whole
		case sourceCubin:
			s.Cubin = c.bytes
		case sourceSM:
			s.SMVersion = uint32(c.whole)
		case sourceFiles:
			s.Files = f.files(s.Files, c.bytes)
		case sourceSymbols:
			s.Functions = f.functions(s.Functions, c.bytes)
		case sourceText, sourceBetween, sourceLevel, sourceFlags:
		default:
			f.unknown("source", c.num)
		}
	})
	if have := f.sources[s.Ref]; have != nil {
		join(have, &s)
		return
	}
	f.held += int64(unsafe.Sizeof(s))
	if list := keep(f, f.report.Sources, &s); len(list) > len(f.report.Sources) {
		f.report.Sources = list
		f.sources[s.Ref] = &s
	}
}

// join adds to a module what a later copy of it has more.
func join(have, more *profile.Source) {
	have.Copies += more.Copies
	if have.Cubin == nil {
		have.Cubin = more.Cubin
	}
	if have.Files == nil {
		have.Files = more.Files
	}
	known := make(map[profile.Function]bool, len(have.Functions))
	for _, fn := range have.Functions {
		known[fn] = true
	}
	for _, fn := range more.Functions { // the first copy may list only what had been loaded by then
		if !known[fn] {
			have.Functions = append(have.Functions, fn)
		}
	}
}

func (f *filler) files(list []profile.SourceFile, msg []byte) []profile.SourceFile {
	f.each("source files", msg, func(c *cursor) {
		if c.num != fileEntry {
			f.unknown("source files", c.num)
			return
		}
		var file profile.SourceFile
		f.each("source file", c.bytes, func(c *cursor) {
			switch c.num {
			case filePath:
				file.Path = c.text()
			case fileText:
				file.Text = c.text()
			default:
				f.unknown("source file", c.num)
			}
		})
		list = keep(f, list, file)
	})
	return list
}

// functions reads where symbols were loaded.
func (f *filler) functions(list []profile.Function, msg []byte) []profile.Function {
	f.each("load addresses", msg, func(c *cursor) {
		switch c.num {
		case symbolFunction:
			list = keep(f, list, f.function(c.bytes))
		case symbolOther: // of the linker: "__unnamed_1", "exception1"
		default:
			f.unknown("load addresses", c.num)
		}
	})
	return list
}

func (f *filler) function(msg []byte) (fn profile.Function) {
	f.each("load address", msg, func(c *cursor) {
		switch c.num {
		case symbolName:
			fn.Symbol = c.text()
		case symbolAddress:
			fn.Address = c.whole
		case symbolIndex:
			fn.Index = uint32(c.whole)
		default:
			f.unknown("load address", c.num)
		}
	})
	return fn
}
