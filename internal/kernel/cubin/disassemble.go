package cubin

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// Tools are the programs of the CUDA toolkit that print machine code as text, the better first.
var tools = [...]tool{
	{"nvdisasm", []string{"--print-code"}},
	{"cuobjdump", []string{"--dump-sass"}},
}

type tool struct {
	name      string
	arguments []string // before the file
}

// ErrNoDisassembler says that neither nvdisasm nor cuobjdump is on the PATH.
var ErrNoDisassembler = errors.New("text of machine code: no nvdisasm or cuobjdump on the PATH; install the CUDA " +
	"toolkit, or read addresses and source lines instead")

// A Disassembler is an installed one.
type Disassembler struct {
	Path string
	tool tool
}

// FindDisassembler looks on the PATH.
func FindDisassembler() (*Disassembler, error) {
	for _, t := range tools {
		if path, err := exec.LookPath(t.name); err == nil {
			return &Disassembler{path, t}, nil
		}
	}
	return nil, ErrNoDisassembler
}

// A Text is the code of a module as text: by section or function as the tool names it, then by the offset of the
// instruction there.
type Text map[string]map[uint64]string

// maxTextBytes bounds what is read of a tool's output: 200 bytes for each of the 16 of an instruction, and then some.
const maxTextBytes = 1 << 30

// Text runs the tool on a cubin.
func (d *Disassembler) Text(ctx context.Context, data []byte) (Text, error) {
	folder, err := os.MkdirTemp("", "lacuna")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	file := filepath.Join(folder, "module.cubin")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, d.Path, append(append([]string(nil), d.tool.arguments...), file)...)
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	text, readErr := readText(bufio.NewReaderSize(out, 1<<16))
	if err := cmd.Wait(); err != nil {
		first, _, _ := strings.Cut(strings.TrimSpace(complaint.String()), "\n")
		return nil, fmt.Errorf("%s: %w: %s", d.tool.name, err, first)
	}
	return text, readErr
}

// readText reads what both tools print. A function begins with ".section .text.NAME,..." (nvdisasm) or "Function :
// NAME" (cuobjdump); an instruction is "/*OFFSET*/ TEXT ;" with the offset in hexadecimal, whatever comments follow
// it.
func readText(r *bufio.Reader) (Text, error) {
	text := make(Text)
	var at map[uint64]string
	scan := bufio.NewScanner(r)
	scan.Buffer(nil, 1<<20)
	for total := 0; scan.Scan() && total < maxTextBytes; {
		line := strings.TrimSpace(scan.Text())
		total += len(line)
		if name, ok := functionLine(line); ok {
			if text[name] == nil {
				text[name] = make(map[uint64]string)
			}
			at = text[name]
			continue
		}
		if offset, code, ok := instructionLine(line); ok && at != nil {
			at[offset] = code
		}
	}
	return text, scan.Err()
}

func functionLine(line string) (name string, ok bool) {
	if rest, found := strings.CutPrefix(line, ".section"); found {
		rest, _, _ = strings.Cut(strings.TrimSpace(rest), ",")
		return strings.CutPrefix(strings.Trim(rest, `"`), ".text.")
	}
	if rest, found := strings.CutPrefix(line, "Function :"); found {
		return strings.TrimSpace(rest), true
	}
	return "", false
}

func instructionLine(line string) (offset uint64, code string, ok bool) {
	rest, found := strings.CutPrefix(line, "/*")
	if !found {
		return 0, "", false
	}
	number, rest, found := strings.Cut(rest, "*/")
	if !found {
		return 0, "", false
	}
	offset, err := strconv.ParseUint(number, 16, 64)
	code, _, found = strings.Cut(rest, ";")
	return offset, strings.TrimSpace(code), err == nil && found
}
