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

// call is an RPC that no command uses.
type call struct {
	// name is its name in docs/api.md.
	name string
	// calls are the RPCs, of machine.MachineService unless another service is named.
	calls string
	check func(ctx context.Context, api *client.Client, on computer) error
}

// computer is the hardware whose numbers a machine reports: its own, or for a container the one that the test runs on.
type computer struct {
	processors int
	// disk is one that was read and written.
	disk string
	// up is the longest time that its kernel may have run.
	up time.Duration
}

// computerOf returns the computer of the cluster's machine.
func computerOf(t *testing.T, c *cluster.Cluster) computer {
	t.Helper()

	if !c.Contained() {
		return computer{processors: 2, disk: "vda", up: time.Hour}
	}

	return computer{processors: onlineProcessors(t), disk: busyDisk(t), up: time.Since(time.Time{})}
}

// onlineProcessors counts all of this computer's processors, also those that the test must not use.
func onlineProcessors(t *testing.T) int {
	t.Helper()

	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		t.Fatal(err)
	}

	return len(regexp.MustCompile(`(?m)^cpu\d+ `).FindAll(text, -1))
}

// busyDisk returns the disk that this computer has written most to.
func busyDisk(t *testing.T) string {
	t.Helper()

	text, err := os.ReadFile("/proc/diskstats")
	if err != nil {
		t.Fatal(err)
	}

	name, most := "", uint64(0)

	for line := range strings.Lines(string(text)) {
		// After the device's numbers come its name, reads with three more numbers, and writes.
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
			return fmt.Errorf("got %d processors, %d processes created, booted at %s", len(stat.GetCpu()), stat.GetProcessCreated(), booted)
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

// olderImageCalls pulls an image of the image cache into a namespace that does not have it, lists it and removes it.
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
		return fmt.Errorf("%s was pulled and is not in the list %q", images.DefaultPause, names)
	}

	return api.RemoveImage(ctx, &common.ContainerdInstance{Namespace: namespace}, images.DefaultPause)
}

// writesRefused checks that not even an administrator can write a resource.
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

// onlyError calls an RPC whose answer does not matter.
func onlyError[Q, A any](call func(context.Context, Q, ...grpc.CallOption) (A, error)) func(context.Context, Q) error {
	return func(ctx context.Context, request Q) error {
		_, err := call(ctx, request)

		return err
	}
}
