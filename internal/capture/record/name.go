package record

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Extension is how the names of recordings end.
const Extension = ".lacuna"

// DefaultName is what a recording of a program is called, in the current folder: train-20261121-170500.lacuna.
// Processes that a launcher started side by side have their rank in it.
func DefaultName(args []string, getenv func(string) string, now time.Time) string {
	name := programName(args)
	for _, v := range []string{"RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK"} {
		if rank := getenv(v); rank != "" {
			name += "-rank" + plain(rank)
			break
		}
	}
	return name + "-" + now.Format("20060102-150405") + Extension
}

// programName is what people call a program: of an interpreter's or launcher's call the script or module.
func programName(args []string) string {
	name := filepath.Base(args[0])
	for i, a := range args {
		if i > 0 && args[i-1] == "-m" && strings.HasPrefix(name, "python") {
			name = a
			break
		}
		if ext := filepath.Ext(a); ext == ".py" || ext == ".sh" {
			name = strings.TrimSuffix(filepath.Base(a), ext)
			break
		}
	}
	if name = plain(name); strings.Trim(name, ".-_") == "" {
		return "program"
	}
	return name
}

// plain is s with what is awkward in a file's name replaced, and not too long.
func plain(s string) string {
	s = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-", r) {
			return r
		}
		return '_'
	}, s)
	return strings.TrimLeft(s[:min(len(s), 64)], "-.")
}

// Expand puts into a file's name what tells processes of one job apart: %h the host, %p our process ID, %q{NAME} an
// environment variable, %% a percent sign; as nsys has it.
func Expand(name string, getenv func(string) string) (string, error) {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(name, "%")
		b.WriteString(before)
		if !found {
			return b.String(), nil
		}
		switch {
		case strings.HasPrefix(rest, "%"):
			b.WriteByte('%')
			name = rest[1:]
		case strings.HasPrefix(rest, "h"):
			host, err := os.Hostname()
			if err != nil {
				return "", err
			}
			b.WriteString(host)
			name = rest[1:]
		case strings.HasPrefix(rest, "p"):
			fmt.Fprint(&b, os.Getpid())
			name = rest[1:]
		case strings.HasPrefix(rest, "q{"):
			variable, after, closed := strings.Cut(rest[2:], "}")
			if !closed || variable == "" {
				return "", fmt.Errorf("%%q needs the name of an environment variable: %%q{RANK}")
			}
			value := getenv(variable)
			if value == "" {
				return "", fmt.Errorf("%%q{%s}: no such environment variable", variable)
			}
			b.WriteString(value)
			name = after
		default:
			return "", fmt.Errorf("after %% want h (host), p (process ID), q{NAME} (environment variable) or %%")
		}
	}
}

// Vacant is path, or if something is there already the first of path-2, path-3, … at which nothing is.
func Vacant(path string) string {
	ext := filepath.Ext(path)
	for n, at := 2, path; ; n++ {
		if _, err := os.Lstat(at); err != nil || n > 10_000 {
			return at
		}
		at = fmt.Sprintf("%s-%d%s", strings.TrimSuffix(path, ext), n, ext)
	}
}
