package nsys

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"lacuna/internal/reader"
	"lacuna/internal/sqlite"
)

// export has nsys export a .nsys-rep or .qdrep and returns the path of the SQLite file, which
// is kept in the user's cache folder under a name made of the report's path, size and time.
func export(ctx context.Context, src *reader.Source, opt reader.Options) (string, error) {
	command := "nsys export -t sqlite -o report.sqlite " + src.Path
	nsys, err := exec.LookPath("nsys")
	if err != nil {
		return "", fmt.Errorf("%s: is an Nsight Systems report, and nsys, which must export it, is not on the PATH; where it is installed, run: %s", src.Path, command)
	}
	report, _, err := src.File(ctx)
	if err != nil {
		return "", err
	}
	out, err := cachePath(src, report)
	if err != nil {
		return "", fmt.Errorf("%s: export with nsys: %w; export it yourself: %s", src.Path, err, command)
	}
	if db, err := sqlite.Open(out); err == nil {
		db.Close()
		return out, nil
	}
	if opt.Notice != nil {
		opt.Notice(fmt.Sprintf("%s: exporting with %s into %s", src.Path, nsys, out))
	}
	// nsys takes the kind of file from its ending
	part := strings.TrimSuffix(out, ".sqlite") + fmt.Sprintf(".%d.part.sqlite", os.Getpid())
	defer os.Remove(part)
	var said bytes.Buffer
	run := exec.CommandContext(ctx, nsys, "export", "-t", "sqlite", "--force-overwrite=true", "-o", part, report)
	run.Stdout, run.Stderr = &said, &said
	if err := run.Run(); err != nil {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		return "", fmt.Errorf("%s: nsys cannot export it (%w: %s); try an nsys that is as new as the report: %s", src.Path, err, firstLine(said.String()), command)
	}
	if err := os.Rename(part, out); err != nil {
		if errors.Is(err, os.ErrNotExist) {
			err = fmt.Errorf("it wrote no file: %s", firstLine(said.String()))
		}
		return "", fmt.Errorf("%s: nsys export: %w; export it yourself: %s", src.Path, err, command)
	}
	return out, nil
}

// cachePath is where the export of a report is kept.
func cachePath(src *reader.Source, report string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	folder := filepath.Join(cache, "lacuna", "nsys")
	if err := os.MkdirAll(folder, 0o700); err != nil { // reports hold environments
		return "", err
	}
	path, err := filepath.Abs(src.Path)
	if err != nil {
		return "", err
	}
	st, err := os.Stat(src.Path)
	if err != nil { // standard input
		if st, err = os.Stat(report); err != nil {
			return "", err
		}
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%d\n%d", path, st.Size(), st.ModTime().UnixNano()))
	return filepath.Join(folder, fmt.Sprintf("%x.sqlite", sum[:12])), nil
}

// firstLine is the first line that says something, for a message.
func firstLine(text string) string {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			return fmt.Sprintf("%.200s", line)
		}
	}
	return "it says nothing"
}
