package kernel

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strings"

	"lacuna/internal/kernel/cubin"
	"lacuna/internal/kernel/profile"
)

// Code is the machine code that a launch ran, with what was counted of each instruction.
type Code struct {
	Instructions []Instruction // by address; of the kernel and of the functions that it called
	HasLines     bool          // the module says which source lines its instructions come from

	launch *profile.Launch
	counts map[string][]float64
	texts  map[string][]string // lines of source files, by path
	said   map[string]string   // lines that a report in text form states, by path and number
}

// An Instruction is one of a launch's, with its place.
type Instruction struct {
	cubin.Instruction // Name "": the module's code is not in the report, or the opcode is not known
	Address           uint64
	Function          string // symbol that it is in; of the kernel itself, its base name
	Start             uint64 // address of that function
	// Where it comes from: the nearest line outside CUDA's own headers. Line 0: not known.
	File string
	Line int
	// Inlined is the line in a header that it was made from, if that is another.
	Inlined cubin.Line
	body    int // position of the function's first instruction in Code.Instructions
	end     int // and behind its last
}

// Code is what the launch ran; nil: nothing was counted per instruction and the module is not in the report.
func (k *Kernel) Code() *Code {
	return k.code.get(func() *Code { return codeOf(k.Launch) })
}

func codeOf(l *profile.Launch) *Code {
	c := &Code{launch: l, counts: make(map[string][]float64)}
	addresses := counted(l)
	var module *cubin.File
	if l.Source != nil && l.Source.Cubin != nil {
		module, _ = cubin.Parse(l.Source.Cubin) // a module that cannot be read is as good as none: addresses remain
	}
	if module != nil {
		c.HasLines = module.HasLines()
		c.addFunctions(module, addresses)
	}
	c.addLoose(addresses)
	c.addLines()
	if len(c.Instructions) == 0 {
		return nil
	}
	return c
}

// perInstruction are metrics with an entry for every instruction, or for every one that was sampled.
var perInstruction = [...]string{"inst_executed", "smsp__pcsamp_sample_count"}

// counted is every address that something was counted of, or that has a line in a report in text form, in order.
func counted(l *profile.Launch) []uint64 {
	var all []uint64
	for _, name := range perInstruction {
		for address := range l.ByAddress(name) {
			all = append(all, address)
		}
	}
	if l.Source != nil {
		for _, line := range l.Source.Lines {
			all = append(all, line.Address)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// A loaded function is one of the module's with the address where it lay.
type loaded struct {
	address uint64
	fn      *cubin.Function
}

// loadedFunctions are the module's functions that the report places, by address. Reports before 2022.2 do not place
// them: there the kernel begins at the lowest address of its own counters.
func loadedFunctions(l *profile.Launch, module *cubin.File, addresses []uint64) []loaded {
	var all []loaded
	for _, f := range l.Source.Functions {
		if fn := module.Function(f.Symbol, f.Index); fn != nil && f.Address != 0 {
			all = append(all, loaded{f.Address, fn})
		}
	}
	if all == nil {
		if fn := module.Function(l.Mangled, 0); fn != nil {
			base, ok := l.Number("launch__function_pcs")
			if !ok && len(addresses) > 0 {
				base = float64(addresses[0])
			}
			if base > 0 {
				all = append(all, loaded{uint64(base), fn})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b loaded) int { return cmp.Compare(a.address, b.address) })
	return all
}

// addFunctions adds the kernel's function and those that something was counted of.
func (c *Code) addFunctions(module *cubin.File, addresses []uint64) {
	for _, f := range loadedFunctions(c.launch, module, addresses) {
		ran := f.fn.Name == c.launch.Mangled
		at, _ := slices.BinarySearch(addresses, f.address)
		ran = ran || at < len(addresses) && addresses[at]-f.address < f.fn.Size
		// code that overlaps is listed once
		if n := len(c.Instructions); !ran || n > 0 && f.address <= c.Instructions[n-1].Address {
			continue
		}
		c.addFunction(f)
	}
}

func (c *Code) addFunction(f loaded) {
	first := len(c.Instructions)
	name := f.fn.Name
	if name == c.launch.Mangled && c.launch.Base != "" {
		name = c.launch.Base
	}
	list := f.fn.Instructions()
	var last cubin.Line
	for _, i := range list {
		at := Instruction{
			Instruction: i, Address: f.address + i.Offset, Function: name, Start: f.address,
			body: first, end: first + len(list),
		}
		lines := f.fn.Lines(i.Offset)
		user, ok := userLine(lines)
		if !ok && len(lines) > 0 { // a header's line without its caller: it was called from where the code before it is
			user = last
			if user.Line == 0 {
				user = lines[0]
			}
		}
		if ok {
			last = user
		}
		if at.File, at.Line = user.File, user.Line; len(lines) > 0 && lines[0] != user {
			at.Inlined = lines[0]
		}
		c.Instructions = append(c.Instructions, at)
	}
}

// userLine is the innermost line that is not in one of CUDA's headers.
func userLine(lines []cubin.Line) (cubin.Line, bool) {
	for _, l := range lines {
		if l.Line > 0 && !cubin.Toolkit(l.File) {
			return l, true
		}
	}
	return cubin.Line{}, false
}

// addLoose adds addresses whose code is not in the report.
func (c *Code) addLoose(addresses []uint64) {
	have := len(c.Instructions)
	starts := starts(c.launch, addresses)
	for _, address := range addresses {
		at := sort.Search(have, func(i int) bool { return c.Instructions[i].Address >= address })
		if at < have && c.Instructions[at].Address == address {
			continue
		}
		start := starts[sort.Search(len(starts), func(i int) bool { return starts[i] > address })-1]
		c.Instructions = append(c.Instructions, Instruction{
			Instruction: cubin.Instruction{Offset: address - start, Writes: -1, Reads: -1, Guard: 7},
			Address:     address, Function: c.launch.Base, Start: start,
		})
	}
	if len(c.Instructions) == have {
		return
	}
	slices.SortStableFunc(c.Instructions, func(a, b Instruction) int { return cmp.Compare(a.Address, b.Address) })
	for i := range c.Instructions { // positions moved: without its code, an instruction is a body of its own
		if c.Instructions[i].Name == "" {
			c.Instructions[i].body, c.Instructions[i].end = i, i+1
		}
	}
	c.findBodies()
}

// addLines gives instructions the lines that a report in text form states.
func (c *Code) addLines() {
	if c.launch.Source == nil {
		return
	}
	for _, l := range c.launch.Source.Lines {
		if i, ok := c.at(l.Address); ok {
			c.HasLines = true
			c.Instructions[i].File, c.Instructions[i].Line = l.File, int(l.Line)
			if l.Text != "" {
				c.stated(l.File, int(l.Line), l.Text)
			}
		}
	}
}

// starts are the addresses at which functions begin as far as the report says, in order; the lowest address counted
// is one.
func starts(l *profile.Launch, addresses []uint64) []uint64 {
	all := slices.Clone(addresses[:min(len(addresses), 1)])
	if l.Source != nil {
		for _, f := range l.Source.Functions {
			all = append(all, f.Address)
		}
	}
	slices.Sort(all)
	return all
}

// findBodies numbers functions anew.
func (c *Code) findBodies() {
	for first := 0; first < len(c.Instructions); {
		end := first + 1
		for end < len(c.Instructions) && c.Instructions[end].Start == c.Instructions[first].Start {
			end++
		}
		for i := first; i < end; i++ {
			c.Instructions[i].body, c.Instructions[i].end = first, end
		}
		first = end
	}
}

// Counts is a metric by instruction, in the order of Instructions; nil: it was not collected per instruction.
func (c *Code) Counts(metric string) []float64 {
	if counts, ok := c.counts[metric]; ok {
		return counts
	}
	var counts []float64
	for address, v := range c.launch.ByAddress(metric) {
		if i, ok := c.at(address); ok {
			if counts == nil {
				counts = make([]float64, len(c.Instructions))
			}
			counts[i] += v
		}
	}
	c.counts[metric] = counts
	return counts
}

// at is the position of an address.
func (c *Code) at(address uint64) (int, bool) {
	return slices.BinarySearchFunc(c.Instructions, address,
		func(i Instruction, a uint64) int { return cmp.Compare(i.Address, a) })
}

// body is the function that the i-th instruction is in, for what looks at more than one instruction.
func (c *Code) body(i int) (first int, list []cubin.Instruction) {
	at := c.Instructions[i]
	for _, in := range c.Instructions[at.body:at.end] {
		list = append(list, in.Instruction)
	}
	return at.body, list
}

func (c *Code) stated(file string, line int, text string) {
	if c.said == nil {
		c.said = make(map[string]string)
	}
	c.said[fmt.Sprintf("%s:%d", file, line)] = text
}

// Text is a source line, if the report holds the file; without the blanks around it.
func (c *Code) Text(file string, line int) string {
	lines, ok := c.texts[file]
	if !ok && c.launch.Source != nil {
		if c.texts == nil {
			c.texts = make(map[string][]string)
		}
		for _, f := range c.launch.Source.Files {
			if f.Path == file {
				lines = strings.Split(f.Text, "\n")
			}
		}
		c.texts[file] = lines
	}
	if line < 1 || line > len(lines) {
		return strings.TrimSpace(c.said[fmt.Sprintf("%s:%d", file, line)])
	}
	return strings.TrimSpace(lines[line-1])
}
