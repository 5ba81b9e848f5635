// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"

	"github.com/seed-59268b81/talos/cosi/meta"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/resources/block"
	"github.com/seed-59268b81/talos/resources/config"
	"github.com/seed-59268b81/talos/resources/cri"
	"github.com/seed-59268b81/talos/resources/etcd"
	"github.com/seed-59268b81/talos/resources/files"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/runtime"
	"github.com/seed-59268b81/talos/resources/secrets"
	timeres "github.com/seed-59268b81/talos/resources/time"
	"github.com/seed-59268b81/talos/test/leak"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the expected texts")

// document is a document of a scenario: a resource as talosctl get -o yaml prints it, or a removed one; a service; the failures of time
// servers; the members of etcd.
type document struct {
	Metadata struct {
		Namespace, Type, ID, Owner, Phase string
		Finalizers                        []string
	}
	Spec     yaml.Node
	Gone     bool
	Service  string
	State    string
	Healthy  *bool
	Health   string
	Messages []string
	Log      []string
	Clock    map[string]string
	Members  []struct {
		Name, ID string
		PeerURLs []string `yaml:"peerURLs"`
	}
}

// facts returns the facts of a healthy machine with the changes of the scenario.
func facts(t *testing.T, scenario string) *Facts {
	t.Helper()

	f := &Facts{Edges: realEdges(t), Clock: map[string]string{}}

	for _, def := range resource.RegisteredTypes() {
		if def.Sensitivity != resource.NonSensitive {
			f.Hidden = append(f.Hidden, def.Type) // the caller is a reader
		}
	}

	for _, part := range []string{"healthy", scenario} {
		text, err := os.ReadFile(filepath.Join("testdata", part+".yaml"))
		if err != nil {
			t.Fatal(err)
		}

		for decoder := yaml.NewDecoder(bytes.NewReader(text)); ; {
			var d document

			err := decoder.Decode(&d)
			if errors.Is(err, io.EOF) {
				break
			}

			if err != nil {
				t.Fatalf("%s: %v", part, err)
			}

			f.apply(t, d)
		}
	}

	return f
}

func (f *Facts) apply(t *testing.T, d document) {
	t.Helper()

	for server, said := range d.Clock {
		f.Clock[server] = said
	}

	for _, m := range d.Members {
		f.Members = append(f.Members, Member{Name: m.Name, ID: m.ID, PeerURLs: m.PeerURLs})
	}

	if d.Service != "" {
		f.applyService(d)
	}

	if d.Metadata.Type == "" {
		return
	}

	md := d.Metadata
	kept := f.Resources[:0]

	for _, r := range f.Resources {
		if r.Type != md.Type || r.Namespace != md.Namespace || r.ID != md.ID {
			kept = append(kept, r)
		}
	}

	f.Resources = kept

	if d.Gone {
		return
	}

	spec, err := yaml.Marshal(&d.Spec)
	if err != nil {
		t.Fatal(err)
	}

	checkSpec(t, md.Type, md.Namespace, md.ID, spec)

	f.Resources = append(f.Resources, Resource{
		Namespace: md.Namespace, Type: md.Type, ID: md.ID, Owner: md.Owner, Phase: md.Phase, Finalizers: md.Finalizers, Spec: string(spec),
	})
}

// checkSpec fails the test for a spec that a machine would not print.
func checkSpec(t *testing.T, typ, namespace, id string, spec []byte) {
	t.Helper()

	switch typ {
	case typeOf[config.MachineTypeSpec](), typeOf[k8s.StaticPodStatusSpec]():
		return // their specs are not printed as fields
	}

	r, ok := resource.NewOfType(typ, namespace, id)
	if !ok {
		t.Fatalf("%s is not a type of the machine", typ)
	}

	decoder := yaml.NewDecoder(bytes.NewReader(spec))
	decoder.KnownFields(true)

	if err := decoder.Decode(r.Spec()); err != nil {
		t.Fatalf("%s/%s: %v", typ, id, err)
	}
}

func (f *Facts) applyService(d document) {
	kept := f.Services[:0]

	for _, s := range f.Services {
		if s.ID != d.Service {
			kept = append(kept, s)
		}
	}

	f.Services = kept

	if d.State == "gone" {
		return
	}

	f.Services = append(f.Services, Service{
		ID: d.Service, State: d.State, HasHealth: d.Healthy != nil, Healthy: d.Healthy != nil && *d.Healthy, Health: d.Health,
		Messages: d.Messages, Log: d.Log,
	})
}

func TestMain(m *testing.M) {
	err := errors.Join(meta.RegisterTypes(), block.Register(), config.Register(), cri.Register(), etcd.Register(), files.Register(), k8s.Register(),
		network.Register(), runtime.Register(), secrets.Register(), timeres.Register())
	if err != nil {
		panic(err)
	}

	leak.Main(m)
}

// TestScenarios: the first root cause of each scenario, and the whole text in a golden file.
func TestScenarios(t *testing.T) {
	for _, tc := range []struct{ scenario, root string }{
		{"healthy", ""},
		{"address-conflict", "eth0/10.5.0.2 is in use by another machine: the machine with hardware address 02:00:00:00:00:09 has the address too"},
		{
			"network-setting",
			"setting machine.network.interfaces[0].routes is not in effect: link eth0: a route needs a destination or a gateway",
		},
		{"network-waiting", "link/eth9 is waiting: the link does not exist"}, // and not DHCP of eth1, which is on by default
		{"watchdog", "setting watchdog is not in effect: open watchdog: open /dev/watchdog9: no such file or directory"},
		{"setting", "setting kernel-arguments is not in effect: ip=none: unknown"},
		{"dhcp-silent", "operator/dhcp4/eth0 is in effect and could not be confirmed: kept, though expired at 2026-11-21T10:30:00Z"},
		{"maintenance", "the machine is in maintenance: it has no configuration"},
		{"maintenance-failure", "the machine is in maintenance: it has no configuration"},
		{
			"config-damaged", "configuration: the stored configuration cannot be used (it stays in STATE, unchanged): decode machine configuration: " +
				"v1alpha1 document, line 8:14, machine.ca.crt: not base64",
		},
		{"default-route", "there is no default route"},
		{"route-refused", "the default route by 192.0.2.1 on eth0 is specified, but the kernel does not have it"},
		{"no-carrier", "no network card has a carrier: eth0"},
		{"no-dhcp", "the machine has no address on eth0"},
		{"time-not-synced", "the time is not synced: no answer from 192.0.2.123"},
		{"no-time-server", "the time is not synced: no time server is configured"},
		{"no-name-server", "the machine has no name server"},
		{"kubelet-image", "the image of service kubelet cannot be pulled: ghcr.io/seed-59268b81/kubelet:v1.36.33"},
		{"kubelet-image-later", "the image of service kubelet cannot be pulled: ghcr.io/seed-59268b81/kubelet:v1.36.33"}, // the older image runs
		{"images-later", "the image of static pod kube-system/kube-apiserver-cp-1 cannot be pulled: registry.k8s.io/kube-apiserver:v1.36.33"},
		{"kubelet-serving", "the kubelet has no certificate to serve with: logs, exec and port-forward of its pods fail"},
		{"kubelet-serving-request", "certificate signing request csr-7x2kq of system:node:w-1 is not approved: the address 10.5.0.4 is not one of Node w-1"},
		{"kubelet-fails", "service kubelet has failed"}, // an earlier failure to pull the image is over
		{"apiserver-image", "the image of static pod kube-system/kube-apiserver-cp-1 cannot be pulled: registry.k8s.io/kube-apiserver:v1.36.33"},
		{"endpoint", "the cluster's endpoint https://10.5.0.99:6443 does not answer: no route to host"},
		{"endpoint-name", "the cluster's endpoint https://cluster.exmaple.net:6443 does not answer: no such host"},
		{"endpoint-other-cluster", "the server at the cluster's endpoint https://10.5.0.99:6443 is not this cluster: x509: certificate signed by unknown authority"},
		{"endpoint-ready", "the cluster's endpoint https://10.5.0.99:6443 does not answer: no route to host"},
		{"endpoint-back", ""},
		{"endpoint-unused", ""},
		{"etcd-quorum", "etcd has no quorum: of its 3 members it needs 2, and 2 do not answer"},
		{"etcd-member-absent", "etcd has no quorum: of its 2 members it needs 2, and 1 does not answer"},
		{"bootstrap", "etcd has no data: the cluster was never started, or this node has not joined it"},
		{"etcd-waits-for-cri", "service cri has failed"},
		{"trial-running", "a change of the configuration is on trial, and is reverted at 2026-11-21T09:31:00Z: it waits for a person to confirm it"},
		{"trial-reverted", "a change of the configuration was tried and reverted: no one confirmed it within 1m0s"},
		{"trial-committed", ""},
		{"trial-later", ""},
		{"volume", "VolumeStatuses(runtime/EPHEMERAL) has failed: no disk matches: the largest has 4 GiB free, the volume takes 10 GiB"},
	} {
		t.Run(tc.scenario, func(t *testing.T) {
			f := facts(t, tc.scenario)
			start := Symptom{Kind: Machine}
			step := Explain(f, start)

			var root string

			if step != nil {
				chains := step.Roots()
				root = chains[0][len(chains[0])-1].Says
			}

			if root != tc.root {
				t.Errorf("root cause: got %q, want %q", root, tc.root)
			}

			var b bytes.Buffer
			if err := Print(&b, "10.5.0.2", f, start, step); err != nil {
				t.Fatal(err)
			}

			golden(t, tc.scenario, b.String())
		})
	}
}

// TestPartOfConfiguration explains a part of the configuration by the condition of the controller that follows it, not by those of others.
func TestPartOfConfiguration(t *testing.T) {
	f := facts(t, "watchdog")
	start := instance[runtime.WatchdogTimerConfigSpec](runtime.NamespaceName, "timer")
	step := Explain(f, start)

	var b bytes.Buffer
	if err := Print(&b, "10.5.0.2", f, start, step); err != nil {
		t.Fatal(err)
	}

	golden(t, "watchdog-config", b.String())
}

// TestUnknownStarter: a service whose controller is not known has no further cause.
func TestUnknownStarter(t *testing.T) {
	f := &Facts{Services: []Service{{ID: "machined", State: "Running"}}}

	var b bytes.Buffer

	s := Symptom{Kind: ServiceOf, ID: "ext-\x1b[2Jgreeter"}
	if err := Print(&b, "10.5.0.2", f, s, Explain(f, s)); err != nil {
		t.Fatal(err)
	}

	// Messages of a machine do not control the terminal.
	const want = "10.5.0.2: service ext- [2Jgreeter is not started yet\n\nas far as can be seen: service ext- [2Jgreeter is not started yet\n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()

	path := filepath.Join("testdata", name+".txt")

	if *rewrite {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}
