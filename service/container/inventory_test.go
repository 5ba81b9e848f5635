// SPDX-License-Identifier: Apache-2.0

//go:build linux

package container

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	v1 "github.com/containerd/cgroups/v3/cgroup1/stats"
	"github.com/containerd/cgroups/v3/cgroup2/stats"
	containers "github.com/containerd/containerd/api/services/containers/v1"
	"github.com/containerd/containerd/api/types"
	"github.com/containerd/containerd/api/types/task"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/anypb"
)

func anySpec(text string) *anypb.Any {
	return &anypb.Any{TypeUrl: "types.containerd.io/opencontainers/runtime-spec/1/Spec", Value: []byte(text)}
}

func podLabels(kind, pod, container string) map[string]string {
	return map[string]string{
		labelKind: kind, labelPodNamespace: "kube-system", labelPodName: pod, labelPodUID: "uid-" + pod, labelContainerName: container,
	}
}

// A node with a pod that has its own network, and a pod in the host's network. One container has an earlier attempt.
var (
	nodeContainers = []*containers.Container{
		{ID: "cccccccccccccccc", Image: "dns:1", Labels: podLabels("container", "dns", "coredns"),
			Spec: anySpec(`{"annotations":{"io.kubernetes.cri.sandbox-id":"ssssssssssssssss"},"linux":{"namespaces":[{"type":"network","path":"/proc/70/ns/net"}]}}`)},
		{ID: "bbbbbbbbbbbbbbbb", Image: "dns:1", Labels: podLabels("container", "dns", "coredns"), Spec: anySpec(`nonsense`)},
		{ID: "ssssssssssssssss", Image: "pause:3", Labels: podLabels("sandbox", "dns", ""),
			Spec: anySpec(`{"linux":{"namespaces":[{"type":"pid"},{"type":"network","path":"/var/run/netns/cni-1"}]}}`)},
		{ID: "h", Image: "pause:3", Labels: podLabels("sandbox", "api", ""), Spec: anySpec(`{"linux":{"namespaces":[{"type":"pid"}]}}`)},
		{ID: "etcd", Image: "etcd:3"},
	}
	nodeTasks = []*task.Process{
		{ContainerID: "cccccccccccccccc", Pid: 71, Status: task.Status_RUNNING},
		{ContainerID: "ssssssssssssssss", Pid: 70, Status: task.Status_RUNNING},
		{ContainerID: "bbbbbbbbbbbbbbbb", Pid: 60, Status: task.Status_STOPPED},
		{ID: "etcd", Pid: 50, Status: task.Status_RUNNING},
	}
)

func TestListed(t *testing.T) {
	want := []Listed{
		{ID: "etcd", InternalID: "etcd", PodID: "etcd", Name: "etcd", Image: "etcd:3", PID: 50, Status: "RUNNING", Running: true},
		{ID: "kube-system/api", InternalID: "h", PodID: "kube-system/api", PodUID: "uid-api", Name: "api", Image: "pause:3", Status: "SANDBOX_NOTREADY", Sandbox: true},
		{ID: "kube-system/dns", InternalID: "ssssssssssssssss", PodID: "kube-system/dns", PodUID: "uid-dns", Name: "dns", Image: "pause:3",
			PID: 70, Status: "SANDBOX_READY", NetworkNamespace: "cni-1", Running: true, Sandbox: true},
		{ID: "kube-system/dns:coredns:bbbbbbbbbbbb", InternalID: "bbbbbbbbbbbbbbbb", PodID: "kube-system/dns", PodUID: "uid-dns", Name: "coredns",
			Image: "dns:1", Status: "CONTAINER_EXITED"},
		{ID: "kube-system/dns:coredns:cccccccccccc", InternalID: "cccccccccccccccc", PodID: "kube-system/dns", PodUID: "uid-dns", Name: "coredns",
			Image: "dns:1", PID: 71, Status: "CONTAINER_RUNNING", NetworkNamespace: "cni-1", Running: true},
	}
	for i := range want {
		want[i].Namespace = "k8s.io"
	}

	if d := cmp.Diff(want, listed("k8s.io", nodeContainers, nodeTasks)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestChoose(t *testing.T) {
	all := listed("k8s.io", nodeContainers, nodeTasks)

	for _, tt := range []struct {
		id, want string
		err      error
	}{
		{"etcd", "etcd", nil},
		{"kube-system/dns:coredns:cccccccccccc", "cccccccccccccccc", nil},
		{"kube-system/dns:coredns", "cccccccccccccccc", nil},
		{"cccccccccccccccc", "cccccccccccccccc", nil},
		{"kube-system/dns:coredns:bbbbbbbbbbbb", "", ErrNotRunning},
		{"kube-system/dns", "", ErrSandbox},
		{"kube-system/dn", "", ErrNoContainer},
		{"kube-system/dns:core", "", ErrNoContainer},
		{"", "", ErrNoContainer},
	} {
		got, err := choose(all, tt.id)
		if got.InternalID != tt.want || !errors.Is(err, tt.err) {
			t.Errorf("%q: got %q, %v, want %q, %v", tt.id, got.InternalID, err, tt.want, tt.err)
		}
	}
}

func TestUsed(t *testing.T) {
	group, err := anypb.New(&stats.Metrics{Memory: &stats.MemoryStat{Usage: 5000, InactiveFile: 1000}, CPU: &stats.CPUStat{UsageUsec: 7}})
	if err != nil {
		t.Fatal(err)
	}

	first, err := anypb.New(&v1.Metrics{
		Memory: &v1.MemoryStat{TotalInactiveFile: 1000, Usage: &v1.MemoryEntry{Usage: 5000}},
		CPU:    &v1.CPUStat{Usage: &v1.CPUUsage{Total: 7000}},
	})
	if err != nil {
		t.Fatal(err)
	}

	strange, err := anypb.New(&stats.Metrics{Memory: &stats.MemoryStat{Usage: 5, InactiveFile: 1000}})
	if err != nil {
		t.Fatal(err)
	}

	all := []Listed{{ID: "etcd", InternalID: "etcd"}, {ID: "x", InternalID: "x"}, {ID: "v1", InternalID: "v1"}, {ID: "stopped", InternalID: "stopped"}}

	got, err := used(all, []*types.Metric{{ID: "etcd", Data: group}, {ID: "x", Data: strange}, {ID: "v1", Data: first}, {ID: "of no container", Data: group}})

	want := []Usage{{Listed: all[0], Memory: 4000, CPU: 7 * time.Microsecond}, {Listed: all[1]}, {Listed: all[2], Memory: 4000, CPU: 7 * time.Microsecond}}
	if d := cmp.Diff(want, got); err != nil || d != "" {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}

	if _, err := used(all, []*types.Metric{{ID: "etcd", Data: &anypb.Any{Value: []byte{0xff}}}}); err == nil {
		t.Error("invalid metrics: got no error")
	}
}

func FuzzParseSpec(f *testing.F) {
	f.Add([]byte(`{"annotations":{"io.kubernetes.cri.sandbox-id":"s"},"linux":{"namespaces":[{"type":"network","path":"/run/netns/a"}]}}`))
	f.Add([]byte(`{"linux":null}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		s := parseSpec(text)
		if s.networkNamespace() != "" && !json.Valid(text) {
			t.Errorf("%q has a network namespace", text)
		}
	})
}
