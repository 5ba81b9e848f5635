// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/api/contract"
	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/layout"
)

func TestLastLines(t *testing.T) {
	long := strings.Repeat("x", 2*streamChunk)

	for _, tt := range []struct {
		name, content string
		lines         int
		want          string
	}{
		{"all", "a\nb\nc\n", -1, "a\nb\nc\n"},
		{"none", "a\nb\nc\n", 0, ""},
		{"none, with an unfinished one", "a\nb", 0, ""},
		{"one", "a\nb\nc\n", 1, "c\n"},
		{"two", "a\nb\nc\n", 2, "b\nc\n"},
		{"all of them", "a\nb\nc\n", 3, "a\nb\nc\n"},
		{"more than exist", "a\nb\nc\n", 4, "a\nb\nc\n"},
		{"an unfinished one", "a\nb", 1, "b"},
		{"before an unfinished one", "a\nb\nc", 2, "b\nc"},
		{"empty lines", "\n\n\n", 2, "\n\n"},
		{"an empty file", "", 1, ""},
		{"one longer than a block", "a\n" + long + "\nb\n", 2, long + "\nb\n"},
	} {
		root := t.TempDir()

		path := filepath.Join(root, "0.log")
		if err := os.WriteFile(path, []byte(tt.content), 0o600); err != nil {
			t.Fatal(err)
		}

		f, err := openLog(root, path, tt.lines)
		if err != nil {
			t.Fatal(err)
		}

		got, err := io.ReadAll(f)
		if err = errors.Join(err, f.Close()); err != nil || string(got) != tt.want {
			t.Errorf("%s: got %.40q, %v, want %.40q", tt.name, got, err, tt.want)
		}
	}
}

// TestContainerLogsStayBelow: a pod with access to the folder of logs puts other files there.
func TestContainerLogsStayBelow(t *testing.T) {
	root, secret := t.TempDir(), filepath.Join(t.TempDir(), "0.log")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}

	path := filepath.Join(root, "0.log")

	for name, plant := range map[string]func() error{
		"a link to a file elsewhere":  func() error { return os.Symlink(secret, path) },
		"a link upwards":              func() error { return os.Symlink("../../../../../../etc/passwd", path) },
		"a FIFO without a writer":     func() error { return unix.Mkfifo(path, 0o600) },
		"a folder":                    func() error { return os.Mkdir(path, 0o700) },
		"a link to a device":          func() error { return os.Symlink("/dev/zero", path) },
		"a link that leads to itself": func() error { return os.Symlink("0.log", path) },
	} {
		if err := plant(); err != nil {
			t.Fatal(err)
		}

		if f, err := openLog(root, path, -1); err == nil {
			t.Errorf("%s: got %s", name, f.Name())
			f.Close()
		}

		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

// TestContainerLogsFollow does what the kubelet does to log files: it appends lines, starts a new file when one is full, and another
// when the container is restarted.
func TestContainerLogsFollow(t *testing.T) {
	b := newBench(t)
	b.Root = t.TempDir()

	dir := filepath.Join(b.Root, layout.PodLogsDir, "ns_pod_uid", "app")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}

	file := func(name string) string { return filepath.Join(dir, name) }
	add := func(name, text string) {
		t.Helper()

		f, err := os.OpenFile(file(name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}

		_, err = f.WriteString(text)
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
	}

	add("0.log", "one\ntwo\n")

	ctx, cancel := context.WithCancel(as(t.Context(), contract.RoleReader))
	defer cancel()

	stream, err := b.machine.Logs(ctx, &machine.LogsRequest{Namespace: "k8s.io", Id: "ns/pod:app", TailLines: 1, Follow: true})
	if err != nil {
		t.Fatal(err)
	}

	var got bytes.Buffer

	until := func(want string) {
		t.Helper()

		for got.Len() < len(want) {
			data, err := stream.Recv()
			if err != nil {
				t.Fatalf("after %q: %v", got.String(), err)
			}

			got.Write(data.GetBytes())
		}

		if got.String() != want {
			t.Fatalf("got %q, want %q", got.String(), want)
		}
	}

	until("two\n")
	add("0.log", "three\n")
	until("two\nthree\n")

	add("0.log", "the last of the file\n")

	if err := os.Rename(file("0.log"), file("0.log.20260101-000000")); err != nil {
		t.Fatal(err)
	}

	add("0.log", "four\n")
	until("two\nthree\nthe last of the file\nfour\n")
	add("1.log", "started again\n")
	until("two\nthree\nthe last of the file\nfour\nstarted again\n")
}

// FuzzIDs checks that no id leads out of the folder of pod logs, or panics.
func FuzzIDs(f *testing.F) {
	for _, id := range []string{"kube-system/coredns-a:coredns", "../../x:y", "a/b:c:d", "", "/:", "a/..:..", "a/b:\x00", "[/]:*"} {
		f.Add(id)
	}

	root := f.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "a_b_uid", "c"), 0o755); err != nil {
		f.Fatal(err)
	}

	for _, path := range []string{"a_b_uid/c/0.log", "a_b_uid/secret.log", "secret.log"} {
		if err := os.WriteFile(filepath.Join(root, path), nil, 0o600); err != nil {
			f.Fatal(err)
		}
	}

	f.Fuzz(func(t *testing.T, id string) {
		path, err := findPodLog(root, id)
		if err == nil && filepath.Dir(path) != filepath.Join(root, "a_b_uid", "c") {
			t.Errorf("%q leads to %s", id, path)
		}

		if err != nil && len(fmt.Sprint(err)) > 10*len(id)+200 {
			t.Errorf("%q: an error of %d bytes", id, len(fmt.Sprint(err)))
		}
	})
}
