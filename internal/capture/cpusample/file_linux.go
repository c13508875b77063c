package cpusample

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// openRegular opens a file that is a regular one: opening waits for nothing, as a pipe's would. The path is of
// somebody else's making; follow says whether it may be a link.
func openRegular(path string, follow bool) (*os.File, fs.FileInfo, error) {
	flags := os.O_RDONLY | syscall.O_NONBLOCK
	if !follow {
		flags |= syscall.O_NOFOLLOW
	}
	f, err := os.OpenFile(path, flags, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("is not a regular file")
	}
	if err != nil {
		_ = f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// identify is which file it is.
func identify(info fs.FileInfo) fileKey {
	key := fileKey{size: info.Size(), timeNs: info.ModTime().UnixNano()}
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		key.device, key.inode = uint64(s.Dev), s.Ino
	}
	return key
}
