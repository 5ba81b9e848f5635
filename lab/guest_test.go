// SPDX-License-Identifier: Apache-2.0

package lab_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/build"
	"github.com/seed-59268b81/talos/build/artifact"
	"github.com/seed-59268b81/talos/build/cpio"
	"github.com/seed-59268b81/talos/build/hosttools/hosttest"
	"github.com/seed-59268b81/talos/lab"
)

// kernel returns the paths of the system's own kernel.
var kernel = sync.OnceValues(func() (artifact.Paths, error) {
	return build.Build(context.Background(), build.Options{}, artifact.TargetKernel)
})

func kernelPaths(t *testing.T) artifact.Paths {
	t.Helper()

	hosttest.Need(t, "qemu-system-x86_64")

	paths, err := kernel()
	if err != nil {
		t.Fatalf("get the kernel: %v", err)
	}

	return paths
}

// guestImage returns a kernel with the guest of testdata as its user space.
func guestImage(t *testing.T) lab.Image {
	paths := kernelPaths(t)
	dir := t.TempDir()
	program := filepath.Join(dir, "guest")
	buildGuest(t, program)

	modules, err := paths.Modules()
	if err != nil {
		t.Fatal(err)
	}

	var archive bytes.Buffer

	w := cpio.NewWriter(&archive, 0)
	add := func(name string, mode os.FileMode, content []byte) {
		if err := w.File(name, mode, int64(len(content)), bytes.NewReader(content)); err != nil {
			t.Fatal(err)
		}
	}
	read := func(path string) []byte {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}

		return content
	}

	add("init", 0o755, read(program))

	// The kernel opens it for init's output.
	for _, err := range []error{w.Folder("dev", 0o755), w.CharDevice("dev/console", 0o600, 5, 1), w.Folder("modules", 0o755)} {
		if err != nil {
			t.Fatal(err)
		}
	}

	var order []string

	for _, path := range withDependencies(string(read(filepath.Join(modules, "modules.dep"))), "virtio_pci", "virtio_net", "virtio_blk", "af_packet") {
		add("modules/"+filepath.Base(path), 0o644, read(filepath.Join(modules, path)))
		order = append(order, filepath.Base(path))
	}

	add("modules/order", 0o644, []byte(strings.Join(order, "\n")))

	if err := w.Close(); err != nil {
		t.Fatal(err)
	}

	initrd := filepath.Join(dir, "initrd")
	if err := os.WriteFile(initrd, archive.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}

	return lab.Image{Kernel: paths.Vmlinuz(), Initrd: initrd, Cmdline: "console=ttyS0 reboot=k panic=1 quiet"}
}

func buildGuest(t *testing.T, program string) {
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags=-s -w", "-o", program, "./testdata/guest")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")

	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the guest: %v\n%s", err, out)
	}
}

// withDependencies returns the files of modules in the order to load them. Built-in modules have no files.
func withDependencies(dep string, names ...string) []string {
	var order []string

	var add func(path string)

	needs := map[string][]string{}
	for line := range strings.Lines(dep) {
		path, rest, _ := strings.Cut(line, ":")
		needs[path] = strings.Fields(rest)
	}

	add = func(path string) {
		for _, need := range needs[path] {
			add(need)
		}

		if !slices.Contains(order, path) {
			order = append(order, path)
		}
	}

	for _, name := range names {
		for path := range needs {
			if filepath.Base(path) == name+".ko" {
				add(path)
			}
		}
	}

	return order
}

// ask sends a request to the guest on a node, through its forwarded port.
func ask[T any](ctx context.Context, n *lab.Node, method, path string) (T, error) {
	var answer T

	request, err := http.NewRequestWithContext(ctx, method, "http://"+n.APIEndpoint()+path, nil)
	if err != nil {
		return answer, err
	}

	timeout := 30 * time.Second
	if method == http.MethodPost { // the guest ends before it answers
		timeout = 2 * time.Second
	}

	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: timeout}

	response, err := client.Do(request)
	if err != nil {
		return answer, err
	}
	defer response.Body.Close()

	body, err := io.ReadAll(response.Body)
	if err != nil || len(body) == 0 {
		return answer, err
	}

	if err := json.Unmarshal(body, &answer); err != nil {
		return answer, fmt.Errorf("%s answered %q: %w", path, body, err)
	}

	return answer, nil
}

// lease is the guest's report of its lease.
type lease struct {
	Addr, Hostname   string
	Router, DNS, NTP string
	Uptime           time.Duration
}

// booted waits until the guest on a node answers.
func booted(t *testing.T, n *lab.Node) lease {
	t.Helper()

	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()

	for {
		got, err := ask[lease](ctx, n, "GET", "/lease")
		if err == nil {
			return got
		}

		select {
		case <-ctx.Done():
			text, _ := os.ReadFile(n.ConsolePath())
			t.Fatalf("%s does not answer: %v; its console ends:\n%s", n.Name, err, text[max(0, len(text)-3000):])
		case <-time.After(50 * time.Millisecond):
		}
	}
}
