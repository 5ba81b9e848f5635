// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/sys/filetree"
)

// followInterval is how often a followed file is read again.
const followInterval = 300 * time.Millisecond

// containerLogs sends the log of a pod's container, whose id is NAMESPACE/POD:CONTAINER, optionally with a further
// :ID, as `talosctl containers -k` prints them.
func (s *Server) containerLogs(ctx context.Context, id string, tail int, follow bool, send func([]byte) error) error {
	root := s.path(layout.PodLogsDir)

	path, err := findPodLog(root, id)
	if err != nil {
		return err
	}

	f, err := openLog(root, path, tail)
	if err != nil {
		return status.Errorf(codes.NotFound, "logs of %q: %v", id, err)
	}

	defer func() { f.Close() }()

	for {
		if err := sendRest(f, send); err != nil {
			return err
		}

		if !follow {
			return nil
		}

		select {
		case <-ctx.Done():
			return nil
		case <-time.After(followInterval):
		}

		// The kubelet starts a new file when one is full, and when the container is restarted.
		next, err := nextLog(root, f, id)
		if err != nil {
			return status.Errorf(codes.Internal, "logs of %q: %v", id, err)
		}

		if next == nil {
			continue
		}

		err = sendRest(f, send)
		f.Close()
		f = next

		if err != nil {
			return err
		}
	}
}

// openBelow opens a regular file below the root without leaving the root by a symbolic link: a pod that may write there
// must not be able to show other files of the machine, or to block a reader with a FIFO.
func openBelow(root, path string) (*os.File, error) {
	below, err := os.OpenRoot(root)
	if err != nil {
		return nil, err
	}
	defer below.Close()

	name, err := filepath.Rel(root, path)
	if err != nil {
		return nil, err
	}

	f, err := below.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}

	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: path, Err: filetree.ErrNotRegular}
	}

	if err != nil {
		f.Close()

		return nil, err
	}

	return f, nil
}

// openLog opens a file and seeks to the first of its last lines, or to its start if their number is negative.
func openLog(root, path string, lines int) (*os.File, error) {
	f, err := openBelow(root, path)
	if err != nil || lines < 0 {
		return f, err
	}

	offset, err := lastLines(f, lines)
	if err == nil {
		_, err = f.Seek(offset, io.SeekStart)
	}

	if err != nil {
		f.Close()

		return nil, err
	}

	return f, nil
}

// lastLines returns the offset of the last lines of a file. It reads backwards, one block at a time.
func lastLines(f *os.File, lines int) (int64, error) {
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil || lines == 0 {
		return end, err
	}

	block := make([]byte, streamChunk)

	for offset := end; offset > 0; {
		n := min(int64(len(block)), offset)
		offset -= n

		if _, err := f.ReadAt(block[:n], offset); err != nil {
			return 0, err
		}

		for i := n - 1; i >= 0; i-- {
			// No line starts after the last newline of the file.
			if block[i] != '\n' || offset+i == end-1 {
				continue
			}

			if lines--; lines == 0 {
				return offset + i + 1, nil
			}
		}
	}

	return 0, nil
}

// nextLog opens the latest log file of a container, or returns nil if that is still f.
func nextLog(root string, f *os.File, id string) (*os.File, error) {
	path, err := findPodLog(root, id)
	if err != nil {
		return nil, nil // the pod was removed, or is between two files
	}

	next, err := openBelow(root, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}

	if err != nil {
		return nil, err
	}

	old, err := f.Stat()
	if err != nil {
		next.Close()

		return nil, err
	}

	if now, err := next.Stat(); err != nil || os.SameFile(old, now) {
		next.Close()

		return nil, err
	}

	return next, nil
}

// sendRest sends the rest of a file.
func sendRest(f *os.File, send func([]byte) error) error {
	return fileError("read "+f.Name(), sendReader(f, send))
}

func findPodLog(root, id string) (string, error) {
	namespace, rest, ok := strings.Cut(id, "/")
	pod, container, hasContainer := strings.Cut(rest, ":")
	container, _, _ = strings.Cut(container, ":")

	// The container's name is a whole path element.
	if !ok || !hasContainer || !filepath.IsLocal(container) || container == "." || strings.ContainsAny(namespace+pod+container, "/*?[\\") {
		return "", status.Errorf(codes.InvalidArgument, "logs of %q: the id of a container is NAMESPACE/POD:CONTAINER", id)
	}

	files, err := filepath.Glob(filepath.Join(root, namespace+"_"+pod+"_*", container, "*.log"))
	if err != nil || len(files) == 0 {
		return "", status.Errorf(codes.NotFound, "logs of %q: there is no such container on this node", id)
	}

	// The newest file is the one with the most restarts, of the pod that was created last.
	return slices.MaxFunc(files, func(a, b string) int {
		if d := modified(filepath.Dir(filepath.Dir(a))).Compare(modified(filepath.Dir(filepath.Dir(b)))); d != 0 {
			return d
		}

		return restarts(a) - restarts(b)
	}), nil
}

func modified(path string) time.Time {
	st, err := os.Stat(path)
	if err != nil {
		return time.Time{}
	}

	return st.ModTime()
}

func restarts(path string) int {
	n, err := strconv.Atoi(strings.TrimSuffix(filepath.Base(path), ".log"))
	if err != nil {
		return -1
	}

	return n
}
