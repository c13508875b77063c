package tables

import (
	"strings"

	"lacuna/internal/timeline/facts"
	"lacuna/internal/timeline/model"
)

// kernelNameArgs is the ways to name kernels, as arguments of a table.
var kernelNameArgs = []Arg{
	{"base", "", "name kernels by their base name: no return type, namespace, template or function arguments"},
	{"mangled", "", "name kernels by their mangled name, where the file has it"},
	{"nvtx-name", "", "put RANGE/ before the name: the innermost range, without domain, around the launching call"},
}

// kernelNamesNeed is what kernelNameArgs need beyond kernels.
func kernelNamesNeed(args Args) model.Parts {
	if args.Has("nvtx-name") {
		return model.PartCalls | model.PartRanges
	}
	return 0
}

// nameKernels names the kernels as the arguments ask.
func nameKernels(f *facts.Facts, args Args) *naming {
	t := f.Trace
	k, n := &t.Kernels, &naming{of: make([]uint32, t.Kernels.Len())}
	text := t.Strings.Text
	switch {
	case args.Has("mangled") && k.Mangled != nil:
		for i, id := range k.Mangled {
			if n.of[i] = uint32(id); id == 0 {
				n.of[i] = uint32(k.Name[i])
			}
		}
	case args.Has("base") && k.Short != nil:
		for i, id := range k.Short {
			n.of[i] = uint32(id)
		}
	default:
		for i, id := range k.Name {
			n.of[i] = uint32(id)
		}
		if args.Has("base") {
			text = func(id model.StringID) string { return baseName(t.Strings.Text(id)) }
		}
	}
	n.number(func(id uint32) string { return text(model.StringID(id)) })
	if args.Has("nvtx-name") {
		n.prefix(f)
	}
	return n
}

// prefix puts the name of the innermost range and a slash before each name. Where a launch was recorded
// twice, the range that started last is taken.
func (n *naming) prefix(f *facts.Facts) {
	type pair struct {
		name     uint32
		rangeRow model.StringID
		inRange  bool
	}
	t, launches, innermost, twins := f.Trace, f.Launches().Kernels, f.InnermostRange(), f.Twins()
	var pairs indexer[pair]
	for i, name := range n.of {
		p := pair{name: name}
		if c := launches[i]; c != facts.NoCall {
			row := innermost[c]
			for _, twin := range twins[c] {
				row = max(row, innermost[twin]) // rows are sorted by start
			}
			if row != facts.NotNested {
				p = pair{name, t.Ranges.Name[row], true}
			}
		}
		n.of[i] = pairs.id(p, name)
	}
	names := n.text
	n.number(func(id uint32) string {
		p := pairs.keys[id]
		if !p.inRange {
			return names[p.name]
		}
		return t.Strings.Text(p.rangeRow) + "/" + names[p.name]
	})
}

// baseName is a function's name without return type, namespaces, template and function arguments. A name
// that is not C++ stays as it is.
func baseName(name string) string {
	const unnamed = "(anonymous namespace)"
	s := strings.ReplaceAll(name, unnamed, "<unnamed>")
	// Of the pieces outside all brackets, what is before the first "(" is type and qualified name.
	depth, from, end := 0, 0, len(s)
	last := "" // name before the template arguments that end just before end
scan:
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '<', '[', '{':
			if depth == 0 && c == '<' {
				last = s[from:i]
			}
			depth++
		case '>', ']', '}':
			depth = max(0, depth-1)
		case '(':
			if depth == 0 && i > from {
				end = i
				break scan
			}
			depth++
		case ')':
			depth = max(0, depth-1)
		case ' ':
			if depth == 0 {
				from, last = i+1, ""
			}
		case ':':
			if depth == 0 && i+1 < len(s) && s[i+1] == ':' {
				from, last = i+2, ""
				i++
			}
		}
	}
	if last != "" {
		return last
	}
	if base := s[from:end]; base != "" {
		return base
	}
	return name
}

// needKernels is nil if there are kernels and, for names by range, ranges.
func needKernels(table string, f *facts.Facts, args Args) error {
	if f.Trace.Kernels.StartNs == nil {
		return &MissingError{table, "kernels", tryCUDA}
	}
	if args.Has("nvtx-name") && f.Trace.Ranges.StartNs == nil {
		return &MissingError{table, "ranges", tryNVTX}
	}
	return nil
}
