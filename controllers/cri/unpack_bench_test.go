// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cri

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	containerd "github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/core/remotes"
	"github.com/containerd/containerd/v2/core/remotes/docker"
	"github.com/containerd/containerd/v2/pkg/namespaces"
	"golang.org/x/sync/errgroup"

	"github.com/seed-59268b81/talos/config/images"
	"github.com/seed-59268b81/talos/controllers/cri/imagecache"
)

const (
	builtContainerd = "../../out/components/bin/containerd"
	builtLayout     = "../../out/components/image-layout"
)

// BenchmarkUnpack pulls all images of a node from the image cache into a containerd with nothing in it, which is what a
// first boot waits for. It reports the processor time of containerd beside the time that passed: on an emulated machine
// the processors are what is short.
func BenchmarkUnpack(b *testing.B) {
	if os.Geteuid() != 0 {
		b.Skip("containerd unpacks images as root only")
	}

	for _, path := range []string{builtContainerd, builtLayout} {
		if _, err := os.Stat(path); err != nil {
			b.Skip("not built; run make build")
		}
	}

	cache := httptest.NewServer(imagecache.New(builtLayout))
	defer cache.Close()

	resolver := fromCache(cache.Listener.Addr().String())

	var spent time.Duration

	for b.Loop() {
		spent += unpackAll(b, resolver)
	}

	b.ReportMetric(spent.Seconds()/float64(b.N), "cpu-s/op")
}

// fromCache asks the image cache for every image, as the hosts files tell containerd to.
func fromCache(address string) remotes.Resolver {
	return docker.NewResolver(docker.ResolverOptions{Hosts: func(string) ([]docker.RegistryHost, error) {
		return []docker.RegistryHost{{
			Host: address, Scheme: "http", Path: "/v2", Capabilities: docker.HostCapabilityPull | docker.HostCapabilityResolve,
		}}, nil
	}})
}

// unpackAll returns the processor time that containerd took for the images of a node.
func unpackAll(b *testing.B, resolver remotes.Resolver) time.Duration {
	b.Helper()
	b.StopTimer()

	dir := b.TempDir()
	socket := filepath.Join(dir, "c.sock")
	config := fmt.Sprintf(`version = 3
root = %q
state = %q
disabled_plugins = ["io.containerd.grpc.v1.cri", "io.containerd.cri.v1.runtime", "io.containerd.cri.v1.images", "io.containerd.nri.v1.nri"]
[grpc]
address = %q
[ttrpc]
address = %q
`, filepath.Join(dir, "root"), filepath.Join(dir, "state"), socket, socket+".ttrpc")

	if err := os.WriteFile(filepath.Join(dir, "config.toml"), []byte(config), 0o600); err != nil {
		b.Fatal(err)
	}

	cmd := exec.Command(builtContainerd, "--config", filepath.Join(dir, "config.toml"), "--log-level", "fatal")
	cmd.Stdout, cmd.Stderr = b.Output(), b.Output()
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}

	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}

	defer func() {
		cmd.Process.Signal(syscall.SIGTERM) //nolint:errcheck // the end
		cmd.Wait()                          //nolint:errcheck // it was told to end
	}()

	client := connect(b, socket)
	defer client.Close()

	ctx := namespaces.WithNamespace(context.Background(), "k8s.io")
	before := processorTime(b, cmd.Process.Pid)

	b.StartTimer()

	pulls, ctx := errgroup.WithContext(ctx)

	for _, reference := range images.Node() {
		pulls.Go(func() error {
			_, err := client.Pull(ctx, reference, containerd.WithPullUnpack, containerd.WithResolver(resolver))

			return err
		})
	}

	if err := pulls.Wait(); err != nil {
		b.Fatal(err)
	}

	b.StopTimer()
	defer b.StartTimer()

	return processorTime(b, cmd.Process.Pid) - before
}

// connect waits for containerd to listen.
func connect(b *testing.B, socket string) *containerd.Client {
	b.Helper()

	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		client, err := containerd.New(socket)
		if err == nil {
			if _, err = client.Version(b.Context()); err == nil {
				return client
			}

			client.Close()
		}

		if time.Now().After(deadline) {
			b.Fatalf("containerd does not answer: %v", err)
		}
	}
}

// processorTime is what two processes have had of the processors, user and system: containerd, and this one, which serves
// the cache and writes what it fetches to containerd.
func processorTime(b *testing.B, pid int) time.Duration {
	b.Helper()

	var total int64

	for _, pid := range []int{pid, os.Getpid()} {
		raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			b.Fatal(err)
		}

		var user, system int64

		// The name in brackets may hold blanks; what follows does not. utime and stime are fields 14 and 15, in hundredths.
		fields := strings.Fields(string(raw[strings.LastIndexByte(string(raw), ')')+1:]))
		if _, err := fmt.Sscan(fields[11]+" "+fields[12], &user, &system); err != nil {
			b.Fatal(err)
		}

		total += user + system
	}

	return time.Duration(total) * 10 * time.Millisecond
}
