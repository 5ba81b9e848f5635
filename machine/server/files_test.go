// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/api/contract"
	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/sys/filetree"
)

// newTree creates files of every kind.
func newTree(t *testing.T) string {
	t.Helper()

	root := t.TempDir()

	err := errors.Join(
		os.MkdirAll(root+"/etc/deep/er", 0o755),
		os.WriteFile(root+"/etc/hosts", []byte("127.0.0.1 localhost\n"), 0o640),
		os.WriteFile(root+"/etc/deep/er/large", bytes.Repeat([]byte("0123456789"), 20_000), 0o600),
		os.Chtimes(root+"/etc/hosts", time.Unix(5, 0), time.Unix(1_700_000_000, 0)),
		os.Symlink("etc/hosts", root+"/link"),
		os.Symlink("nowhere", root+"/gone"),
		unix.Mkfifo(root+"/fifo", 0o600),
		os.WriteFile(root+"/odd\xff", nil, 0o600),
	)
	if err != nil {
		t.Fatal(err)
	}

	return root
}

func receiveAll[M any](t *testing.T, stream grpc.ServerStreamingClient[M], err error) ([]*M, error) {
	t.Helper()

	var all []*M

	for err == nil {
		var m *M

		if m, err = stream.Recv(); err == nil {
			all = append(all, m)
		}
	}

	if errors.Is(err, io.EOF) {
		err = nil
	}

	return all, err
}

func TestList(t *testing.T) {
	b, root := newBench(t), newTree(t)

	for _, tt := range []struct {
		name string
		req  *machine.ListRequest
		want string
	}{
		{"a folder", &machine.ListRequest{Root: root}, ". etc fifo gone link odd\uFFFD"},
		{"all", &machine.ListRequest{Root: root, Recurse: true}, ". etc etc/deep etc/deep/er etc/deep/er/large etc/hosts fifo gone link odd\uFFFD"},
		{"two deep", &machine.ListRequest{Root: root, Recurse: true, RecursionDepth: 2}, ". etc etc/deep etc/hosts fifo gone link odd\uFFFD"},
		{"folders", &machine.ListRequest{Root: root, Recurse: true, Types: []machine.ListRequest_Type{machine.ListRequest_DIRECTORY}}, ". etc etc/deep etc/deep/er"},
		{"files and links", &machine.ListRequest{
			Root: root, Recurse: true, Types: []machine.ListRequest_Type{machine.ListRequest_REGULAR, machine.ListRequest_SYMLINK},
		}, "etc/deep/er/large etc/hosts gone link odd\uFFFD"},
		{"a file", &machine.ListRequest{Root: root + "/etc/hosts"}, "hosts"},
		{"through a link", &machine.ListRequest{Root: root + "/link"}, "link"},
	} {
		stream, err := b.machine.List(as(t.Context(), contract.RoleReader), tt.req)
		files, err := receiveAll(t, stream, err)

		var got []string

		for _, f := range files {
			got = append(got, f.GetRelativeName())

			if f.GetError() != "" {
				t.Errorf("%s: %v", tt.name, f)
			}
		}

		if err != nil || strings.Join(got, " ") != tt.want {
			t.Errorf("%s: got %q, %v, want %q", tt.name, got, err, tt.want)
		}
	}
}

func TestListDetails(t *testing.T) {
	b, root := newBench(t), newTree(t)

	xattrs := unix.Setxattr(root+"/etc/hosts", "user.a", []byte{0xff}, 0) == nil

	stream, err := b.machine.List(as(t.Context(), contract.RoleReader), &machine.ListRequest{Root: root, Recurse: true, ReportXattrs: true})

	files, err := receiveAll(t, stream, err)
	if err != nil {
		t.Fatal(err)
	}

	byName := map[string]*machine.FileInfo{}
	for _, f := range files {
		byName[f.GetRelativeName()] = f
	}

	hosts := byName["etc/hosts"]
	if hosts.GetName() != root+"/etc/hosts" || hosts.GetSize() != 20 || os.FileMode(hosts.GetMode()) != 0o640 ||
		hosts.GetModified() != 1_700_000_000 || hosts.GetUid() != uint32(os.Getuid()) || hosts.GetIsDir() {
		t.Errorf("a file: got %v", hosts)
	}

	if xattrs && (len(hosts.GetXattrs()) != 1 || hosts.GetXattrs()[0].GetName() != "user.a" || string(hosts.GetXattrs()[0].GetData()) != "\xff") {
		t.Errorf("extended attributes: got %v", hosts.GetXattrs())
	}

	if dir := byName["etc"]; !dir.GetIsDir() || !os.FileMode(dir.GetMode()).IsDir() {
		t.Errorf("a folder: got %v", dir)
	}

	if link := byName["gone"]; link.GetLink() != "nowhere" || os.FileMode(link.GetMode())&os.ModeSymlink == 0 {
		t.Errorf("a link: got %v", link)
	}

	// /proc changes all the time, and much of it cannot be read.
	stream, err = b.machine.List(as(t.Context(), contract.RoleReader), &machine.ListRequest{Root: "/proc", Recurse: true, RecursionDepth: 3})
	if files, err = receiveAll(t, stream, err); err != nil || len(files) < 1000 {
		t.Errorf("/proc: got %d files, %v", len(files), err)
	}
}

func TestRead(t *testing.T) {
	b, root := newBench(t), newTree(t)

	for _, tt := range []struct {
		path string
		want string
		code codes.Code
	}{
		{root + "/etc/hosts", "127.0.0.1 localhost\n", codes.OK},
		{root + "/link", "127.0.0.1 localhost\n", codes.OK},
		{root + "/etc/deep/er/large", strings.Repeat("0123456789", 20_000), codes.OK},
		{"/proc/self/comm", "server.test\n", codes.OK},
		{root + "/etc", "directory", codes.InvalidArgument},
		{root + "/fifo", "not a regular file", codes.InvalidArgument},
		{"/dev/zero", "not a regular file", codes.InvalidArgument},
		{root + "/none", "no such file", codes.NotFound},
		{root + "/etc/hosts/none", "not a directory", codes.NotFound},
		{"etc/hosts", "must be absolute", codes.InvalidArgument},
		{"", "must be absolute", codes.InvalidArgument},
		{"/" + strings.Repeat("a", 5000), "limit", codes.InvalidArgument},
		{"/" + strings.Repeat("a", 300), "too long", codes.InvalidArgument},
		{"/a\x00b", "zero byte", codes.InvalidArgument},
	} {
		stream, err := b.machine.Read(as(t.Context(), contract.RoleAdmin), &machine.ReadRequest{Path: tt.path})

		got, err := text(t, stream, err)
		if err != nil {
			got = status.Convert(err).Message()
		}

		if status.Code(err) != tt.code || tt.code == codes.OK && got != tt.want || !strings.Contains(got, tt.want) {
			t.Errorf("%.60s: got %.100q, %v, want %.100q, %v", tt.path, got, status.Code(err), tt.want, tt.code)
		}
	}
}

// An endless file is read only until the reader ends.
func TestReadCancelled(t *testing.T) {
	b, root := newBench(t), newTree(t)

	if err := os.Truncate(root+"/etc/hosts", 1<<42); err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithCancel(as(t.Context(), contract.RoleAdmin))

	stream, err := b.machine.Read(ctx, &machine.ReadRequest{Path: root + "/etc/hosts"})
	if err != nil {
		t.Fatal(err)
	}

	if _, err := stream.Recv(); err != nil {
		t.Fatal(err)
	}

	cancel()

	_, err = text(t, stream, nil)
	if status.Code(err) != codes.Canceled {
		t.Errorf("got %v", err)
	}

	eventually(t, "the file to be closed", func() bool {
		links, _ := filepath.Glob("/proc/self/fd/*") // the pattern is right
		for _, l := range links {
			if target, err := os.Readlink(l); err == nil && target == root+"/etc/hosts" {
				return false
			}
		}

		return true
	})
}

func TestCopy(t *testing.T) {
	b, root := newBench(t), newTree(t)

	stream, err := b.machine.Copy(as(t.Context(), contract.RoleAdmin), &machine.CopyRequest{RootPath: root})

	archive, err := text(t, stream, err)
	if err != nil {
		t.Fatal(err)
	}

	want := map[string]string{
		"./": "", "etc/": "", "etc/deep/": "", "etc/deep/er/": "", "fifo": "", "gone": "->nowhere", "link": "->etc/hosts", "odd\xff": "",
		"etc/deep/er/large": strings.Repeat("0123456789", 20_000), "etc/hosts": "127.0.0.1 localhost\n",
	}
	if d := cmp.Diff(want, untar(t, archive)); d != "" {
		t.Errorf("(-want +got):\n%.2000s", d)
	}

	stream, err = b.machine.Copy(as(t.Context(), contract.RoleAdmin), &machine.CopyRequest{RootPath: root + "/link"})
	if archive, err = text(t, stream, err); err != nil {
		t.Fatal(err)
	}

	if d := cmp.Diff(map[string]string{"link": "127.0.0.1 localhost\n"}, untar(t, archive)); d != "" {
		t.Errorf("a file (-want +got):\n%s", d)
	}

	for path, code := range map[string]codes.Code{root + "/none": codes.NotFound, "etc": codes.InvalidArgument} {
		stream, err := b.machine.Copy(as(t.Context(), contract.RoleAdmin), &machine.CopyRequest{RootPath: path})
		if _, err = text(t, stream, err); status.Code(err) != code {
			t.Errorf("%s: got %v, want %v", path, err, code)
		}
	}
}

// Files of the kernel do not report their size, and some cannot be read: the archive contains the others.
func TestCopyFromKernel(t *testing.T) {
	b := newBench(t)

	stream, err := b.machine.Copy(as(t.Context(), contract.RoleAdmin), &machine.CopyRequest{RootPath: "/proc/self/net/"})

	archive, err := text(t, stream, err)
	if err != nil {
		t.Fatal(err)
	}

	if files := untar(t, archive); !strings.Contains(files["tcp"], "local_address") {
		t.Errorf("got %d files, tcp is %q", len(files), files["tcp"])
	}

	// Some files of cgroups are write-only.
	stream, err = b.machine.Copy(as(t.Context(), contract.RoleAdmin), &machine.CopyRequest{RootPath: "/sys/fs/cgroup"})

	archive, err = text(t, stream, err)
	if err != nil {
		t.Fatal(err)
	}

	t.Logf("%d files of cgroups", len(untar(t, archive)))

	// /proc/self/mem cannot be read from its start.
	stream, err = b.machine.Copy(as(t.Context(), contract.RoleAdmin), &machine.CopyRequest{RootPath: "/proc/self/mem"})

	archive, err = text(t, stream, err)
	if status.Code(err) != codes.DataLoss || !strings.Contains(err.Error(), "/proc/self/mem") || len(untar(t, archive)) != 0 {
		t.Errorf("what cannot be read: got %v", err)
	}
}

func TestArchiveOfChangingFile(t *testing.T) {
	root := newTree(t)

	// It shrinks after the archive has its first bytes.
	w := writerFunc(func(p []byte) (int, error) {
		if bytes.HasPrefix(p, []byte("0123")) {
			return len(p), os.Truncate(root+"/etc/deep/er/large", 70_000)
		}

		return len(p), nil
	})

	var skipped *filetree.Skipped
	if err := filetree.Archive(t.Context(), root, w); !errors.As(err, &skipped) || skipped.Count != 1 || !strings.Contains(err.Error(), "shrank by") {
		t.Errorf("got %v, want one file that shrank", err)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func untar(t *testing.T, archive string) map[string]string {
	t.Helper()

	zip, err := gzip.NewReader(strings.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}

	files := map[string]string{}

	for r := tar.NewReader(zip); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}

		if err != nil {
			t.Fatal(err)
		}

		b, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}

		files[h.Name] = string(b)
		if h.Linkname != "" {
			files[h.Name] = "->" + h.Linkname
		}
	}
}

func TestDiskUsage(t *testing.T) {
	b, root := newBench(t), newTree(t)

	for _, tt := range []struct {
		name string
		req  *machine.DiskUsageRequest
		want string
	}{
		{"the sum", &machine.DiskUsageRequest{Paths: []string{root}}, "."},
		{"two deep", &machine.DiskUsageRequest{Paths: []string{root}, RecursionDepth: 2}, "etc/deep etc ."},
		{"folders", &machine.DiskUsageRequest{Paths: []string{root}, RecursionDepth: -1}, "etc/deep/er etc/deep etc ."},
		{"files too", &machine.DiskUsageRequest{Paths: []string{root + "/etc"}, RecursionDepth: -1, All: true}, "deep/er/large deep/er deep hosts ."},
		{"large", &machine.DiskUsageRequest{Paths: []string{root + "/etc"}, RecursionDepth: -1, All: true, Threshold: 100_000}, "deep/er/large deep/er deep ."},
		{"small", &machine.DiskUsageRequest{Paths: []string{root + "/etc"}, RecursionDepth: -1, All: true, Threshold: -100_000}, "hosts"},
		{"a file", &machine.DiskUsageRequest{Paths: []string{root + "/etc/hosts"}}, "hosts"},
		{"several", &machine.DiskUsageRequest{Paths: []string{root + "/etc", root + "/none", root + "/link/"}}, root + "/etc !" + root + "/none " + root + "/link"},
	} {
		stream, err := b.machine.DiskUsage(as(t.Context(), contract.RoleReader), tt.req)
		all, err := receiveAll(t, stream, err)

		var got []string

		for _, u := range all {
			if u.GetError() != "" {
				got = append(got, "!"+u.GetRelativeName())
			} else {
				got = append(got, u.GetRelativeName())
			}

			if strings.Contains(u.GetRelativeName(), "deep") && u.GetSize() < 200_000 {
				t.Errorf("%s: got %v", tt.name, u)
			}
		}

		if err != nil || strings.Join(got, " ") != tt.want {
			t.Errorf("%s: got %q, %v, want %q", tt.name, got, err, tt.want)
		}
	}

	for _, paths := range [][]string{nil, {"etc"}, {root, ""}} {
		stream, err := b.machine.DiskUsage(as(t.Context(), contract.RoleReader), &machine.DiskUsageRequest{Paths: paths})
		if _, err = receiveAll(t, stream, err); status.Code(err) != codes.InvalidArgument {
			t.Errorf("%q: got %v", paths, err)
		}
	}
}
