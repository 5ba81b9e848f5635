// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/api/common"
	cosiapi "github.com/seed-59268b81/talos/api/cosi/v1alpha1"
	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/client"
	"github.com/seed-59268b81/talos/config/images"
	"github.com/seed-59268b81/talos/test/cluster"
)

// call is what no command shows.
type call struct {
	// name is what docs/api.md calls it.
	name string
	// calls are the RPCs, of machine.MachineService where no service is named.
	calls string
	check func(ctx context.Context, api *client.Client, on computer) error
}

// computer is what a machine measures: its own, or in a container the one that the test runs on.
type computer struct {
	processors int
	// disk that was read and written.
	disk string
	// up is the longest that its kernel may run.
	up time.Duration
}

// computerOf tells what the cluster's machine measures.
func computerOf(t *testing.T, c *cluster.Cluster) computer {
	t.Helper()

	if !c.Contained() {
		return computer{processors: 2, disk: "vda", up: time.Hour}
	}

	return computer{processors: onlineProcessors(t), disk: busyDisk(t), up: time.Since(time.Time{})}
}

// onlineProcessors are all of this computer, also those that the test may not use.
func onlineProcessors(t *testing.T) int {
	t.Helper()

	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		t.Fatal(err)
	}

	return len(regexp.MustCompile(`(?m)^cpu\d+ `).FindAll(text, -1))
}

// busyDisk is the disk that this computer has written most to.
func busyDisk(t *testing.T) string {
	t.Helper()

	text, err := os.ReadFile("/proc/diskstats")
	if err != nil {
		t.Fatal(err)
	}

	name, most := "", uint64(0)

	for line := range strings.Lines(string(text)) {
		// Behind the numbers of the device: its name, reads with three more numbers, writes.
		fields := strings.Fields(line)
		if len(fields) < 8 {
			continue
		}

		if writes, err := strconv.ParseUint(fields[7], 10, 64); err == nil && writes > most {
			name, most = fields[2], writes
		}
	}

	return name
}

var calls = []call{
	{name: "hostname", calls: "Hostname", check: func(ctx context.Context, api *client.Client, _ computer) error {
		name, err := api.Hostname(ctx)
		if err == nil && name == "" {
			err = errors.New("the machine has no name")
		}

		return err
	}},
	{name: "load", calls: "LoadAvg", check: func(ctx context.Context, api *client.Client, _ computer) error {
		load, err := api.LoadAvg(ctx)
		if err == nil && load.GetLoad1() <= 0 && load.GetLoad15() <= 0 {
			err = fmt.Errorf("a machine that runs Kubernetes has no load: %v", load)
		}

		return err
	}},
	{name: "system statistics", calls: "SystemStat", check: func(ctx context.Context, api *client.Client, on computer) error {
		stat, err := api.SystemStat(ctx)
		if err != nil {
			return err
		}

		booted := time.Unix(int64(stat.GetBootTime()), 0)
		if len(stat.GetCpu()) != on.processors || stat.GetProcessCreated() == 0 || time.Since(booted) < 0 || time.Since(booted) > on.up {
			return fmt.Errorf("got %d processors, %d processes made, booted at %s", len(stat.GetCpu()), stat.GetProcessCreated(), booted)
		}

		return nil
	}},
	{name: "processors", calls: "CPUInfo", check: func(ctx context.Context, api *client.Client, on computer) error {
		processors, err := api.CPUInfo(ctx)
		if err == nil && (len(processors) != on.processors || processors[on.processors-1].GetProcessor() != uint32(on.processors-1) || !slices.Contains(processors[0].GetFlags(), "lm")) {
			err = fmt.Errorf("want %d of 64 bits, got %v", on.processors, processors)
		}

		return err
	}},
	{name: "processor frequencies", calls: "CPUFreqStats", check: func(ctx context.Context, api *client.Client, on computer) error {
		processors, err := api.CPUFreqStats(ctx)
		if err == nil && len(processors) != on.processors {
			err = fmt.Errorf("want those of %d, got %v", on.processors, processors)
		}

		return err
	}},
	{name: "disk statistics", calls: "DiskStats", check: func(ctx context.Context, api *client.Client, on computer) error {
		stats, err := api.DiskStats(ctx)
		if err != nil {
			return err
		}

		for _, d := range stats.GetDevices() {
			if d.GetName() == on.disk && d.GetReadCompleted() > 0 && d.GetWriteCompleted() > 0 {
				return nil
			}
		}

		return fmt.Errorf("%s was neither read nor written: %v", on.disk, stats)
	}},
	{name: "network statistics", calls: "NetworkDeviceStats", check: func(ctx context.Context, api *client.Client, _ computer) error {
		stats, err := api.NetworkDeviceStats(ctx)
		if err != nil {
			return err
		}

		for _, d := range stats.GetDevices() {
			if strings.TrimSpace(d.GetName()) == "eth0" && d.GetRxBytes() > 0 && d.GetTxBytes() > 0 {
				return nil
			}
		}

		return fmt.Errorf("eth0 carried nothing: %v", stats)
	}},
	{name: "older calls of images", calls: "ImageList ImagePull", check: olderImageCalls},
	{
		name: "resources cannot be written", check: writesRefused,
		calls: "cosi.resource.State/Create cosi.resource.State/Update cosi.resource.State/Destroy cosi.resource.State/Teardown " +
			"cosi.resource.State/TeardownAndDestroy",
	},
}

// olderImageCalls pulls what the image cache has into a namespace where it is not, lists it and takes it away.
func olderImageCalls(ctx context.Context, api *client.Client, _ computer) error {
	const namespace = common.ContainerdNamespace_NS_SYSTEM

	if _, err := api.Machine.ImagePull(ctx, &machine.ImagePullRequest{Namespace: namespace, Reference: images.DefaultPause}); err != nil {
		return err
	}

	stream, err := api.Machine.ImageList(ctx, &machine.ImageListRequest{Namespace: namespace})
	if err != nil {
		return err
	}

	var names []string

	for {
		image, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}

		if err != nil {
			return err
		}

		names = append(names, image.GetName())
	}

	if !slices.Contains(names, images.DefaultPause) {
		return fmt.Errorf("%s was pulled and is not among %q", images.DefaultPause, names)
	}

	return api.RemoveImage(ctx, &common.ContainerdInstance{Namespace: namespace}, images.DefaultPause)
}

// writesRefused: not even an administrator writes a resource.
func writesRefused(ctx context.Context, api *client.Client, _ computer) error {
	hostname := client.Kind{Namespace: "network", Type: "HostnameStatuses.net.talos.dev"}

	written, err := api.Resource(ctx, hostname, "hostname")
	if err != nil {
		return err
	}

	for name, write := range map[string]func() error{
		"create": func() error { return onlyError(api.State.Create)(ctx, &cosiapi.CreateRequest{Resource: written}) },
		"update": func() error { return onlyError(api.State.Update)(ctx, &cosiapi.UpdateRequest{NewResource: written}) },
		"destroy": func() error {
			return onlyError(api.State.Destroy)(ctx, &cosiapi.DestroyRequest{Namespace: hostname.Namespace, Type: hostname.Type, Id: "hostname"})
		},
		"tear down": func() error {
			return onlyError(api.State.Teardown)(ctx, &cosiapi.TeardownRequest{Namespace: hostname.Namespace, Type: hostname.Type, Id: "hostname"})
		},
		"tear down and destroy": func() error {
			return onlyError(api.State.TeardownAndDestroy)(ctx,
				&cosiapi.TeardownAndDestroyRequest{Namespace: hostname.Namespace, Type: hostname.Type, Id: "hostname"})
		},
	} {
		if err := write(); status.Code(err) != codes.PermissionDenied || !strings.Contains(err.Error(), "cannot be written over the API") {
			return fmt.Errorf("%s: got %w, want PermissionDenied", name, err)
		}
	}

	return nil
}

// onlyError is a call of which the answer does not matter.
func onlyError[Q, A any](call func(context.Context, Q, ...grpc.CallOption) (A, error)) func(context.Context, Q) error {
	return func(ctx context.Context, request Q) error {
		_, err := call(ctx, request)

		return err
	}
}
