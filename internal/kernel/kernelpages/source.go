package kernelpages

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"lacuna/internal/kernel/cubin"
	"lacuna/internal/kernel/profile"
)

var source = Page{
	Name: "source",
	Doc: `
What was counted of each instruction (view sass), the program's source files (view cuda), or both together: source
lines with the sums of their instructions (view cuda,sass). The report holds machine code, not its text: the column
Source has the name of the operation, unless nvdisasm or cuobjdump is there to print it.`,
	Views: []string{"sass", "cuda", "cuda,sass"},
	csv:   sourceCSV,
	text:  sourceText,
}

// A listing is a function of a launch with the columns that were counted of its instructions.
type listing struct {
	name    string
	address uint64
	fn      *cubin.Function
	code    []cubin.Instruction
	text    map[uint64]string // of instructions by their offset in the section; nil: none
	columns []*sourceColumn
}

// decode fills in the function's instructions. It is done when they are printed: functions of a damaged module may
// overlap, and all of them together be far more than the module.
func (f *listing) decode() {
	f.code = f.fn.Instructions()
	f.code = f.code[:min(uint64(len(f.code)), f.fn.Size/cubin.InstructionBytes)]
}

// sass is what is known of an instruction's text: all of it, or the name of its operation.
func (f *listing) sass(i cubin.Instruction) string {
	if text, ok := f.text[f.fn.Start+i.Offset]; ok {
		return text
	}
	return i.Name
}

// listings are the functions of a launch, in the order of the symbol table.
func listings(l *profile.Launch, modules *modules) []listing {
	module := modules.of(l.Source)
	if module == nil {
		return nil
	}
	columns := sourceColumns(l)
	var all []listing
	for _, f := range ran(l, module) {
		f.columns = columns
		f.text = modules.text(l.Source)[f.fn.Name]
		all = append(all, f)
	}
	return all
}

// modules are cubins that were parsed, each once.
type modules struct {
	parsed map[*profile.Source]*cubin.File
	texts  map[*profile.Source]cubin.Text
	names  map[string]string // printed names of functions by symbol
	tool   *cubin.Disassembler
}

func modulesOf(r *profile.Report, opt Options) *modules {
	m := &modules{
		parsed: make(map[*profile.Source]*cubin.File), texts: make(map[*profile.Source]cubin.Text),
		names: make(map[string]string), tool: opt.Disassembler,
	}
	for _, l := range r.Launches {
		m.names[l.Mangled] = pageName(l)
	}
	return m
}

func (m *modules) of(s *profile.Source) *cubin.File {
	if s == nil || s.Cubin == nil {
		return nil
	}
	file, ok := m.parsed[s]
	if !ok {
		file, _ = cubin.Parse(s.Cubin) // one that cannot be read shows nothing, as ncu does
		m.parsed[s] = file
	}
	return file
}

// text is the code of a module as text; nil without a disassembler, or if that cannot read the module.
func (m *modules) text(s *profile.Source) cubin.Text {
	if m.tool == nil {
		return nil
	}
	text, ok := m.texts[s]
	if !ok {
		text, _ = m.tool.Text(context.Background(), s.Cubin)
		m.texts[s] = text
	}
	return text
}

// pageName is a kernel's name on this page, which ncu makes anew from the symbol: without the ending of NVIDIA's
// OpenACC and Fortran compilers, and with a blank before an asterisk.
func pageName(l *profile.Launch) string {
	if l.Name == l.Mangled {
		return strings.TrimSuffix(l.Name, "_gpu")
	}
	var b strings.Builder
	for i, c := range l.Name {
		if c == '*' && i > 0 && l.Name[i-1] != ' ' && l.Name[i-1] != '*' && l.Name[i-1] != '(' {
			b.WriteByte(' ')
		}
		b.WriteRune(c)
	}
	return b.String()
}

// ran are the functions that the launch lists as its own: the kernel and what it calls. A launch that lists none has
// all of the module's.
func ran(l *profile.Launch, module *cubin.File) []listing {
	var all []listing
	if m := l.Metric("launch__function_pcs"); m != nil {
		find, seen := functionAt(l, module), make(map[uint64]bool)
		for i := range m.Instances() {
			address, _ := i.Value.Number()
			if seen[uint64(address)] {
				continue
			}
			seen[uint64(address)] = true
			if fn := find(uint64(address)); fn != nil {
				all = append(all, listing{name: fn.Name, address: uint64(address), fn: fn})
			}
		}
	}
	if all == nil && l.Source != nil {
		for _, f := range l.Source.Functions {
			if fn := module.Function(f.Symbol, f.Index); fn != nil {
				all = append(all, listing{name: fn.Name, address: f.Address, fn: fn})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b listing) int { return cmp.Compare(a.fn.Index, b.fn.Index) })
	return all
}

// functionAt finds the function that was loaded at an address; before 2022.2 reports do not say, and it is the kernel.
func functionAt(l *profile.Launch, module *cubin.File) func(address uint64) *cubin.Function {
	at := make(map[uint64]profile.Function, len(l.Source.Functions))
	for _, f := range l.Source.Functions {
		at[f.Address] = f
	}
	return func(address uint64) *cubin.Function {
		if f, ok := at[address]; ok {
			return module.Function(f.Symbol, f.Index)
		}
		if len(at) == 0 {
			return module.Function(l.Mangled, 0)
		}
		return nil
	}
}

func sourceCSV(s *sheet, r *profile.Report, opt Options) error {
	if opt.View == "cuda" {
		cudaCSV(s, r)
		return nil
	}
	m := modulesOf(r, opt)
	for _, l := range r.Launches {
		all := listings(l, m)
		for range max(copies(l), 1) {
			for i := range all {
				all[i].decode()
				if opt.View == "cuda,sass" {
					joinedCSV(s, l, m, &all[i])
				} else {
					sassCSV(s, m, &all[i])
				}
				all[i].code = nil
			}
		}
	}
	return nil
}

// maxCopies bounds how often a launch's functions are repeated. Two copies of a module are common; more were not seen.
const maxCopies = 8

// copies is how often ncu prints a launch's functions: once for each copy of the module in the file.
func copies(l *profile.Launch) int {
	if l.Source == nil {
		return 0
	}
	return min(l.Source.Copies, maxCopies)
}

// printedName is a function's name for people.
func (m *modules) printedName(symbol string) string {
	if name, ok := m.names[symbol]; ok {
		return name
	}
	return strings.TrimSuffix(symbol, "_gpu")
}

func sassCSV(s *sheet, m *modules, f *listing) {
	s.field("Kernel Name")
	s.field(m.printedName(f.name))
	if len(f.columns) > 0 {
		s.blank()
	}
	s.end()
	s.field("Address")
	s.field("Source")
	for _, c := range f.columns {
		s.field(c.label)
	}
	s.end()
	for _, i := range f.code {
		address := f.address + i.Offset
		s.field("0x" + strconv.FormatUint(address, 16))
		s.field(f.sass(i))
		for _, c := range f.columns {
			s.field(c.cell(address))
		}
		s.end()
	}
}

// cudaCSV prints the texts of the files that launched kernels come from.
func cudaCSV(s *sheet, r *profile.Report) {
	for _, f := range sourceFiles(r) {
		s.line("File Name", f.Path)
		s.line("Line No", "Source")
		for n, line := range fileLines(f.Text) {
			s.field(strconv.Itoa(n + 1))
			s.bare(line)
			s.end()
		}
	}
}

// sourceFiles are the files in which the launched kernels begin, if the report holds their text, each once.
func sourceFiles(r *profile.Report) (files []profile.SourceFile) {
	m := modulesOf(r, Options{})
	seen := make(map[string]bool)
	for _, l := range r.Launches {
		module := m.of(l.Source)
		if module == nil {
			continue
		}
		fn := module.Function(l.Mangled, 0)
		if fn == nil {
			continue
		}
		lines := fn.Lines(0)
		if len(lines) == 0 {
			continue
		}
		path := lines[len(lines)-1].File
		for _, f := range l.Source.Files {
			if f.Path == path && f.Text != "" && !seen[path] {
				seen[path] = true
				files = append(files, f)
			}
		}
	}
	return files
}

func fileLines(text string) []string {
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}
