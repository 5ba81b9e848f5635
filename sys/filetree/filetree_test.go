// SPDX-License-Identifier: Apache-2.0

//go:build linux

package filetree_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/sys/filetree"
)

// plant creates a tree: names that end in a slash are folders, NAME->TARGET a symbolic link, NAME| a FIFO.
func plant(t *testing.T, files ...string) string {
	t.Helper()

	root := t.TempDir()

	for _, f := range files {
		var err error

		path := filepath.Join(root, f)
		name, target, link := strings.Cut(path, "->")

		switch {
		case link:
			err = os.Symlink(target, name)
		case strings.HasSuffix(f, "/"):
			err = os.Mkdir(path, 0o755)
		case strings.HasSuffix(f, "|"):
			err = unix.Mkfifo(strings.TrimSuffix(path, "|"), 0o600)
		default:
			err = os.WriteFile(path, []byte(f), 0o600)
		}

		if err != nil {
			t.Fatal(err)
		}
	}

	return root
}

func TestWalk(t *testing.T) {
	root := plant(t, "b", "a/", "a/deep/", "a/deep/er/", "a/deep/er/file", "a/x", "up->..", "folder->a", "fifo|", "gone->nowhere")

	for _, tt := range []struct {
		name, root string
		depth      int
		want       string
	}{
		{"all", "", filetree.Unlimited, ". a a/deep a/deep/er a/deep/er/file a/x b fifo folder gone up"},
		{"two deep", "", 2, ". a a/deep a/x b fifo folder gone up"},
		{"the folder itself", "", 0, "."},
		{"a file", "b", filetree.Unlimited, "b"},
		{"through a link", "folder", 1, ". deep x"},
		{"a name that is not clean", "a/deep/../", 1, ". deep x"},
	} {
		var got []string

		err := filetree.Walk(t.Context(), root+"/"+tt.root, tt.depth, func(e filetree.Entry) error {
			if e.Err != nil {
				t.Errorf("%s: %s: %v", tt.name, e.Path, e.Err)
			}

			if _, err := os.Lstat(e.Path); err != nil {
				t.Errorf("%s: %v", tt.name, err)
			}

			got = append(got, e.Relative)

			return nil
		})
		if err != nil || strings.Join(got, " ") != tt.want {
			t.Errorf("%s: got %q, %v, want %q", tt.name, got, err, tt.want)
		}
	}
}

func TestWalkEnds(t *testing.T) {
	root := plant(t, "a", "b", "c")

	if err := filetree.Walk(t.Context(), root+"/none", 1, nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no root: got %v", err)
	}

	want := errors.New("enough")
	n := 0

	err := filetree.Walk(t.Context(), root, 1, func(filetree.Entry) error {
		n++

		return want
	})
	if !errors.Is(err, want) || n != 1 {
		t.Errorf("got %v after %d files, want %v after 1", err, n, want)
	}

	ctx, cancel := context.WithCancel(t.Context())

	err = filetree.Walk(ctx, root, 1, func(filetree.Entry) error {
		cancel()

		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: got %v", err)
	}
}

// TestWalkRemoved checks that a file which is removed after its folder was read is left out: as in /dev and /proc, where it happens often.
func TestWalkRemoved(t *testing.T) {
	root := plant(t, "a", "b", "c->a", "d/", "d/e", "f")

	var got []string

	err := filetree.Walk(t.Context(), root, filetree.Unlimited, func(e filetree.Entry) error {
		if e.Err != nil {
			t.Errorf("%s: %v", e.Relative, e.Err)
		}

		if got = append(got, e.Relative); e.Relative != "a" {
			return nil
		}

		return errors.Join(os.Remove(filepath.Join(root, "b")), os.Remove(filepath.Join(root, "c")), os.RemoveAll(filepath.Join(root, "d")))
	})
	if err != nil {
		t.Fatal(err)
	}

	if d := cmp.Diff([]string{".", "a", "f"}, got); d != "" {
		t.Errorf("files (-want +got):\n%s", d)
	}
}

func TestUsage(t *testing.T) {
	root := plant(t, "a/", "a/one", "a/b/", "a/b/two", "three", "link->a")

	if err := os.WriteFile(root+"/a/one", make([]byte, 100_000), 0o600); err != nil {
		t.Fatal(err)
	}

	if err := os.Link(root+"/a/one", root+"/zsame"); err != nil {
		t.Fatal(err)
	}

	// A file that reports a large size and is empty.
	if err := os.Truncate(root+"/a/b/two", 1<<40); err != nil {
		t.Fatal(err)
	}

	sizes := map[string]int64{}

	var order []string

	if err := filetree.Usage(t.Context(), root, func(e filetree.Entry, size int64) error {
		sizes[e.Relative] = size
		order = append(order, e.Relative)

		return e.Err
	}); err != nil {
		t.Fatal(err)
	}

	if d := cmp.Diff([]string{"a/b/two", "a/b", "a/one", "a", "link", "three", "zsame", "."}, order); d != "" {
		t.Errorf("order (-want +got):\n%s", d)
	}

	if sizes["a/one"] < 100_000 || sizes["a"] < sizes["a/one"] || sizes["."] < sizes["a"]+sizes["three"] || sizes["."] > 1<<20 {
		t.Errorf("got %v", sizes)
	}

	if sizes["zsame"] != 0 {
		t.Errorf("the second name of a file: got %d, want 0", sizes["zsame"])
	}
}

func TestOpen(t *testing.T) {
	root := plant(t, "file", "link->file", "dir/", "fifo|", "large", "ring->ring")

	large := make([]byte, 300_001)
	for i := range large {
		large[i] = byte(i * 7)
	}

	if err := os.WriteFile(root+"/large", large, 0o600); err != nil {
		t.Fatal(err)
	}

	for _, tt := range []struct {
		name   string
		follow bool
		want   string
		err    error
	}{
		{"file", false, "file", nil},
		{"large", false, string(large), nil},
		{"link", true, "file", nil},
		{"link", false, "", filetree.ErrNotRegular},
		{"dir", true, "", filetree.ErrNotRegular},
		{"fifo", true, "", filetree.ErrNotRegular},
		{"none", true, "", os.ErrNotExist},
		{"ring", true, "", unix.ELOOP},
	} {
		c, err := filetree.Open(t.Context(), filepath.Join(root, tt.name), tt.follow)
		if !errors.Is(err, tt.err) {
			t.Errorf("%s: got %v, want %v", tt.name, err, tt.err)
		}

		if err != nil {
			continue
		}

		got, err := io.ReadAll(c)
		if err != nil || string(got) != tt.want || c.Info.Size() != int64(len(tt.want)) {
			t.Errorf("%s: got %d bytes, %v, want %d", tt.name, len(got), err, len(tt.want))
		}

		c.Close()
	}
}

// The kernel's log makes its reader wait for the next message.
func TestOpenDoesNotWait(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()

	for _, path := range []string{"/proc/kmsg", "/dev/kmsg", "/dev/zero", "/proc/self/mem"} {
		c, err := filetree.Open(ctx, path, true)
		if err != nil {
			t.Logf("%s: %v", path, err)

			continue
		}

		n, err := io.Copy(io.Discard, c)
		t.Logf("%s: %d bytes, %v", path, n, err)

		c.Close()
	}

	if ctx.Err() != nil {
		t.Error("it took too long")
	}
}

func TestOpenEndsWithContext(t *testing.T) {
	root := plant(t, "file")

	if err := os.Truncate(root+"/file", 1<<40); err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithCancel(t.Context())

	c, err := filetree.Open(ctx, root+"/file", false)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()

	if _, err := c.Next(); err != nil {
		t.Fatal(err)
	}

	cancel()

	for err == nil {
		_, err = c.Next()
	}

	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want it to be cancelled", err)
	}

	if _, err := filetree.Open(ctx, root+"/file", false); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("opened afterwards: got %v", err)
	}
}

func TestXattrs(t *testing.T) {
	root := plant(t, "file", "plain", "link->nowhere")

	if err := unix.Setxattr(root+"/file", "user.colour", []byte("blue"), 0); err != nil {
		t.Skipf("no extended attributes here: %v", err)
	}

	for name, want := range map[string]string{"file": "[{user.colour blue}]", "plain": "[]", "link": "[]"} {
		got, err := filetree.Xattrs(root + "/" + name)
		if fmt.Sprintf("%s", got) != want || err != nil {
			t.Errorf("%s: got %s, %v, want %s", name, got, err, want)
		}
	}

	if _, err := filetree.Xattrs(root + "/none"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: got %v", err)
	}
}
