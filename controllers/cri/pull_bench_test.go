// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cri

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	containerd "github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/core/remotes"
	"github.com/containerd/containerd/v2/pkg/namespaces"
	"golang.org/x/sync/errgroup"

	"github.com/seed-59268b81/talos/config/images"
	"github.com/seed-59268b81/talos/controllers/cri/imagecache"
	"github.com/seed-59268b81/talos/service/container"
)

// BenchmarkPull pulls all images of a node from the image cache into an empty containerd, as a first boot does: with the layers unpacked, as in a
// container, and mounted, as in a virtual machine. It also reports containerd's processor time, since an emulated machine has slow processors.
func BenchmarkPull(b *testing.B) {
	if os.Geteuid() != 0 {
		b.Skip("containerd unpacks images as root only")
	}

	needBuilt(b, builtContainerd, builtLayout, builtLayers)

	cache := httptest.NewServer(imagecache.New(builtLayout))
	defer cache.Close()

	resolver := fromCache(cache.Listener.Addr().String())

	layers, err := filepath.Abs(builtLayers)
	if err != nil {
		b.Fatal(err)
	}

	for _, snapshotter := range []string{container.Overlayfs, container.Erofs} {
		b.Run(snapshotter, func(b *testing.B) {
			var spent time.Duration

			for b.Loop() {
				spent += pullAll(b, resolver, snapshotter, layers)
			}

			b.ReportMetric(spent.Seconds()/float64(b.N), "cpu-s/op")
		})
	}
}

// pullAll returns the processor time of containerd for the images of a node.
func pullAll(b *testing.B, resolver remotes.Resolver, snapshotter, layers string) time.Duration {
	b.Helper()
	b.StopTimer()

	client := startContainerd(b, snapshotter, layers)
	defer client.stop()

	ctx := namespaces.WithNamespace(context.Background(), "k8s.io")
	before := processorTime(b, client.pid)

	b.StartTimer()

	pulls, ctx := errgroup.WithContext(ctx)

	for _, reference := range images.Node() {
		pulls.Go(func() error {
			_, err := client.Pull(ctx, reference, containerd.WithPullUnpack, containerd.WithPullSnapshotter(snapshotter), containerd.WithResolver(resolver))

			return err
		})
	}

	if err := pulls.Wait(); err != nil {
		b.Fatal(err)
	}

	b.StopTimer()
	defer b.StartTimer()

	return processorTime(b, client.pid) - before
}

// processorTime returns the processor time, user and system, of containerd and of this process, which serves the cache and writes what it
// fetches to containerd.
func processorTime(b *testing.B, pid int) time.Duration {
	b.Helper()

	var total int64

	for _, pid := range []int{pid, os.Getpid()} {
		raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			b.Fatal(err)
		}

		var user, system int64

		// Only the name in brackets may have blanks. utime and stime are fields 14 and 15, in hundredths of a second.
		fields := strings.Fields(string(raw[strings.LastIndexByte(string(raw), ')')+1:]))
		if _, err := fmt.Sscan(fields[11]+" "+fields[12], &user, &system); err != nil {
			b.Fatal(err)
		}

		total += user + system
	}

	return time.Duration(total) * 10 * time.Millisecond
}
