// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"
	"google.golang.org/protobuf/types/known/timestamppb"

	cosiapi "github.com/seed-59268b81/talos/api/cosi/v1alpha1"
	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/client"
	"github.com/seed-59268b81/talos/client/clienttest"
)

// bootedAt is when the machines of the tests came up; now is three hours, twelve minutes later.
var (
	bootedAt = time.Date(2026, 11, 21, 9, 30, 0, 0, time.UTC)
	now      = bootedAt.Add(3*time.Hour + 12*time.Minute)
)

// sampleResources are those of a machine as talosctl get -o yaml prints them.
func sampleResources(t testing.TB) []*cosiapi.Resource {
	t.Helper()

	text, err := os.ReadFile("../explain/testdata/healthy.yaml")
	if err != nil {
		t.Fatal(err)
	}

	var out []*cosiapi.Resource

	for decoder := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var document struct {
			Metadata struct{ Namespace, Type, ID, Owner string }
			Spec     yaml.Node
		}

		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			return out
		}

		if err != nil {
			t.Fatal(err)
		}

		md := document.Metadata
		if md.Type == "" {
			continue
		}

		spec, err := yaml.Marshal(&document.Spec)
		if err != nil {
			t.Fatal(err)
		}

		r := clienttest.Resource(md.Namespace, md.Type, md.ID, string(spec))
		r.Metadata.Owner = md.Owner
		out = append(out, r)
	}
}

func sampleServices() []*machine.ServiceInfo {
	var out []*machine.ServiceInfo

	add := func(id, state string, health *machine.ServiceHealth, message string) {
		out = append(out, &machine.ServiceInfo{Id: id, State: state, Health: health, Events: &machine.ServiceEvents{
			Events: []*machine.ServiceEvent{{Msg: message, State: state, Ts: timestamppb.New(bootedAt)}},
		}})
	}

	healthy := &machine.ServiceHealth{Healthy: true}
	add("machined", "Running", &machine.ServiceHealth{Unknown: true}, "Started")
	add("apid", "Running", healthy, "Health check successful")
	add("trustd", "Running", healthy, "Health check successful")
	add("cri", "Running", healthy, "Health check successful")
	add("etcd", "Running", &machine.ServiceHealth{LastMessage: "etcd is not healthy: RAFT NO LEADER"}, "Health check failed")
	add("kubelet", "Preparing", &machine.ServiceHealth{Unknown: true}, "Pulling image ghcr.io/seed-59268b81/kubelet:v1.36.3")

	return out
}

func sampleProcesses() []*machine.ProcessInfo {
	return []*machine.ProcessInfo{
		{Pid: 1, State: "S", Threads: 14, CpuTime: 31, ResidentMemory: 61 << 20, Command: "init", Args: "/sbin/init"},
		{Pid: 1201, State: "S", Threads: 11, CpuTime: 300, ResidentMemory: 88 << 20, Command: "etcd", Args: "/usr/local/bin/etcd --name=cp-1 --data-dir=/var/lib/etcd"},
		{Pid: 1422, State: "R", Threads: 16, CpuTime: 900, ResidentMemory: 420 << 20, Command: "kube-apiserver", Args: "kube-apiserver --advertise-address=10.5.0.2\x1b[2J --allow-privileged"},
		{Pid: 980, State: "S", Threads: 9, CpuTime: 20, ResidentMemory: 34 << 20, Command: "containerd", Args: "/bin/containerd --config /etc/containerd/config.toml"},
	}
}

func sampleMemory() *machine.MemInfo {
	return &machine.MemInfo{Memtotal: 4 << 20, Memavailable: 3 << 19, Memfree: 1 << 19, Buffers: 100 << 10, Cached: 900 << 10}
}

func sampleStat(busy, idle float64) *machine.SystemStat {
	return &machine.SystemStat{
		BootTime: uint64(bootedAt.Unix()), CpuTotal: &machine.CPUStat{User: busy, Idle: idle}, Cpu: []*machine.CPUStat{{}, {}},
		ProcessRunning: 2,
	}
}

var sampleVersion = &machine.VersionInfo{Tag: "v1.12.0", Arch: "amd64"}

const sampleLog = `{"level":"info","ts":"2026-11-21T12:41:58.000Z","msg":"8e9e05c52164694d is starting a new election at term 9"}
{"level":"warn","ts":"2026-11-21T12:41:59.000Z","msg":"prober detected unhealthy status","remote-peer-id":"91bc3c398fb3c146","error":"dial tcp 10.5.0.3:2380: connect: connection refused"}
a line with ` + "\x1b[31mcolours\x1b[0m, a bell\x07 and a\ttab" + `
`

// sampleNode is a control plane of which much is known.
func sampleNode(t testing.TB) *Node {
	n := newNode("10.5.0.2")
	n.answered(questionAlive, now, nil)

	n.Version, n.Memory, n.Services = sampleVersion, sampleMemory(), sampleServices()
	n.Load = &machine.LoadAvg{Load1: 1.25, Load5: 0.75, Load15: 0.4}
	n.Types = client.Definitions{
		{Type: "MachineStatuses.runtime.talos.dev", DisplayType: "MachineStatus", DefaultNamespace: "runtime", AllAliases: []string{"machinestatus", "machinestatuses"}},
		{Type: "RouteStatuses.net.talos.dev", DisplayType: "RouteStatus", DefaultNamespace: "network", AllAliases: []string{"routestatus", "route", "routes"}},
		{Type: "StaticPodStatuses.kubernetes.talos.dev", DisplayType: "StaticPodStatus", DefaultNamespace: "k8s", AllAliases: []string{"staticpodstatus", "podstatus"}},
	}

	n.setStat(sampleStat(0, 0))

	for i := range 60 {
		n.setStat(sampleStat(float64(i*(i%7)), float64(i*10)))
	}

	n.setProcesses(sampleProcesses(), 0)

	busier := sampleProcesses()
	busier[2].CpuTime += 2.4
	busier[1].CpuTime += 0.3
	n.setProcesses(busier, 3*time.Second)
	n.addLog(strings.Split(strings.TrimSpace(sampleLog), "\n"))

	for _, r := range sampleResources(t) {
		md := r.GetMetadata()
		kind := client.Kind{Namespace: md.GetNamespace(), Type: md.GetType()}

		if n.Resources[kind] == nil {
			n.Resources[kind] = map[string]*cosiapi.Resource{}
		}

		n.Resources[kind][md.GetId()] = r
	}

	return n
}
