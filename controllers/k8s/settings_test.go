// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/generate"
	"github.com/seed-59268b81/talos/config/patch"
	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/kube"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/secrets"
)

// controlPlane returns a generated configuration with patches.
func controlPlane(t *testing.T, patches ...string) *view.Config {
	t.Helper()

	loaded, err := patch.Load(patches)
	if err != nil {
		t.Fatal(err)
	}

	out, err := generate.New("demo", "https://lb.example.org:6443", "", generate.Options{Patches: loaded})
	if err != nil {
		t.Fatal(err)
	}

	cfg, err := config.Decode(out.ControlPlane)
	if err != nil {
		t.Fatal(err)
	}

	return view.Of(cfg)
}

// TestKubePrismEndpoints checks the upstreams of KubePrism: this machine's own API server comes first.
func TestKubePrismEndpoints(t *testing.T) {
	cfg := controlPlane(t)

	addresses := func(all ...string) (spec k8s.EndpointSpec) {
		for _, one := range all {
			spec.Addresses = append(spec.Addresses, netip.MustParseAddr(one))
		}

		return spec
	}

	want := []k8s.KubePrismEndpoint{
		{Host: "127.0.0.1", Port: 6443}, {Host: "lb.example.org", Port: 6443},
		{Host: "10.5.0.2", Port: 6443}, {Host: "10.5.0.3", Port: 6443}, {Host: "10.5.0.4", Port: 6443},
	}

	known := []k8s.EndpointSpec{addresses("10.5.0.2", "10.5.0.3"), addresses("10.5.0.3", "10.5.0.4")}
	if diff := cmp.Diff(want, kubePrismEndpoints(cfg, known).Endpoints); diff != "" {
		t.Errorf("KubePrism's upstreams (-want +got):\n%s", diff)
	}
}

func TestNodename(t *testing.T) {
	for name, test := range map[string]struct {
		hostname network.HostnameStatusSpec
		domain   bool
		want     string
	}{
		"plain":               {hostname: network.HostnameStatusSpec{Hostname: "cp1", Domainname: "x.org"}, want: "cp1"},
		"with its domain":     {hostname: network.HostnameStatusSpec{Hostname: "cp1", Domainname: "x.org"}, domain: true, want: "cp1.x.org"},
		"lower case only":     {hostname: network.HostnameStatusSpec{Hostname: "CP_1-"}, want: "cp-1"},
		"nothing that may be": {hostname: network.HostnameStatusSpec{Hostname: "___"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := nodename(test.hostname, test.domain)
			if got != test.want || (err != nil) != (test.want == "") {
				t.Errorf("got %q, %v; want %q", got, err, test.want)
			}
		})
	}
}

func TestStickyName(t *testing.T) {
	for name, test := range map[string]struct {
		wanted, otherForm, registered string
		chosen                        bool
		want                          string
		kept                          bool
	}{
		"a first boot":                     {wanted: "rack-4", otherForm: "rack-4.x.org", want: "rack-4"},
		"as before":                        {wanted: "rack-4", otherForm: "rack-4.x.org", registered: "rack-4", want: "rack-4"},
		"the lease is over":                {wanted: "talos-abc-def", otherForm: "talos-abc-def", registered: "rack-4", want: "rack-4", kept: true},
		"another name by DHCP":             {wanted: "rack-5", otherForm: "rack-5.x.org", registered: "rack-4", want: "rack-4", kept: true},
		"another domain by DHCP":           {wanted: "rack-4.y.org", otherForm: "rack-4", registered: "rack-4.x.org", want: "rack-4.x.org", kept: true},
		"chosen":                           {wanted: "db-1", otherForm: "db-1", registered: "rack-4", chosen: true, want: "db-1"},
		"chosen as it is":                  {wanted: "rack-4", otherForm: "rack-4", registered: "rack-4", chosen: true, want: "rack-4"},
		"chosen on a first boot":           {wanted: "db-1", otherForm: "db-1", chosen: true, want: "db-1"},
		"the choice of a name is reverted": {wanted: "rack-4", otherForm: "rack-4.x.org", registered: "db-1", want: "db-1", kept: true},
		"registerWithFQDN is switched on":  {wanted: "rack-4.x.org", otherForm: "rack-4", registered: "rack-4", want: "rack-4.x.org"},
		"registerWithFQDN is switched off": {wanted: "rack-4", otherForm: "rack-4.x.org", registered: "rack-4.x.org", want: "rack-4"},
	} {
		t.Run(name, func(t *testing.T) {
			got, kept := stickyName(test.wanted, test.otherForm, test.registered, test.chosen)
			if got != test.want || (kept != "") != test.kept {
				t.Errorf("got %q, %q; want %q, kept: %t", got, kept, test.want, test.kept)
			}
		})
	}
}

func TestNodeIdentity(t *testing.T) {
	node := kube.Object{
		"apiVersion": "v1", "kind": "Node",
		"metadata": kube.Object{
			"name": "w1", "labels": kube.Object{"a": "b"}, "resourceVersion": "1",
			"annotations": kube.Object{"c": "d", k8s.NodeAddressesAnnotation: "10.5.0.3, 10.6.0.3,nonsense,::ffff:10.7.0.3"},
		},
		"status": kube.Object{"images": []any{"many"}, "addresses": []any{
			kube.Object{"type": "InternalIP", "address": "10.5.0.3"}, kube.Object{"type": "ExternalIP", "address": "192.0.2.3"},
			kube.Object{"type": "Hostname", "address": "10.5.0.99"}, kube.Object{"type": "InternalDNS", "address": "cp1"}, "nonsense",
		}},
	}

	for range 2 { // the whole Node, and the part that is kept
		want := k8s.NodeIdentitySpec{Addresses: []netip.Addr{
			netip.MustParseAddr("10.5.0.3"), netip.MustParseAddr("192.0.2.3"), netip.MustParseAddr("10.6.0.3"), netip.MustParseAddr("10.7.0.3"),
		}, Names: []string{"10.5.0.99", "cp1"}}

		if diff := cmp.Diff(want, nodeIdentity(node), cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
			t.Errorf("a worker (-want +got):\n%s", diff)
		}

		node = identifying(node)
	}

	if text := fmt.Sprint(node); strings.Contains(text, "many") || strings.Contains(text, "resourceVersion") {
		t.Errorf("kept: got %s, want only what identifies the Node", text)
	}

	controlPlane := kube.Object{"metadata": kube.Object{"name": "cp1", "labels": kube.Object{"node-role.kubernetes.io/control-plane": ""}}}
	if !nodeIdentity(identifying(controlPlane)).ControlPlane {
		t.Error("a control plane Node: got a worker")
	}

	// What a kubelet writes into its Node is bounded.
	many := make([]string, 1000)
	for i := range many {
		many[i] = fmt.Sprintf("10.9.%d.%d", i/250, i%250)
	}

	node["metadata"] = kube.Object{"name": "w1", "annotations": kube.Object{k8s.NodeAddressesAnnotation: strings.Join(many, ",")}}
	if n := len(nodeIdentity(node).Addresses); n != maxNodeAddresses {
		t.Errorf("got %d addresses of one Node, want %d", n, maxNodeAddresses)
	}
}

func TestNodeIPs(t *testing.T) {
	addrs := func(texts ...string) (out []netip.Addr) {
		for _, text := range texts {
			out = append(out, netip.MustParseAddr(text))
		}

		return out
	}

	for name, test := range map[string]struct {
		rules     k8s.NodeIPConfigSpec
		addresses []netip.Addr
		want      []netip.Addr
	}{
		"one of each family": {addresses: addrs("10.5.0.2", "10.5.0.3", "fd00::2"), want: addrs("10.5.0.2", "fd00::2")},
		"of valid subnets":   {rules: k8s.NodeIPConfigSpec{ValidSubnets: []string{"192.168.0.0/16"}}, addresses: addrs("10.5.0.2", "192.168.1.2"), want: addrs("192.168.1.2")},
		"of none excluded":   {rules: k8s.NodeIPConfigSpec{ExcludeSubnets: []string{"10.244.0.0/16"}}, addresses: addrs("10.244.0.1", "10.5.0.2"), want: addrs("10.5.0.2")},
		"none":               {rules: k8s.NodeIPConfigSpec{ValidSubnets: []string{"192.168.0.0/16"}}, addresses: addrs("10.5.0.2")},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := nodeIPs(test.rules, test.addresses)
			if err != nil {
				t.Fatal(err)
			}

			if diff := cmp.Diff(test.want, got, cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestEtcdEncryption(t *testing.T) {
	const key = "EqHC/jjfVjRDhjIXG06dyx6BMLzKbyKbgSM4RVIVSv0="

	for name, test := range map[string]struct {
		root secrets.KubernetesRootSpec
		has  []string
		err  string
	}{
		"secretbox first, plain secrets can be read": {
			root: secrets.KubernetesRootSpec{SecretboxEncryptionSecret: key, AESCBCEncryptionSecret: key},
			has:  []string{"secretbox:", "key2", "aescbc:", "key1", "identity: {}"},
		},
		"no key":         {has: []string{"identity: {}"}},
		"a bad key":      {root: secrets.KubernetesRootSpec{SecretboxEncryptionSecret: "x"}, err: "cluster.secretboxEncryptionSecret"},
		"the user's own": {root: secrets.KubernetesRootSpec{EtcdEncryptionConfig: map[string]any{"kind": "X"}}, has: []string{"kind: X"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := etcdEncryption(test.root)
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Errorf("got error %v, want %q", err, test.err)
				}

				return
			}

			if err != nil {
				t.Fatal(err)
			}

			at := 0

			for _, want := range test.has {
				next := strings.Index(got[at:], want)
				if next < 0 {
					t.Errorf("got\n%s\nwant %q in this order", got, want)

					break
				}

				at += next
			}
		})
	}
}

func TestNodeStatus(t *testing.T) {
	got := nodeStatus(kube.Object{
		"metadata": kube.Object{"name": "cp1", "labels": kube.Object{"a": "b"}},
		"spec":     kube.Object{"podCIDRs": []any{"10.244.0.0/24", "garbage"}, "unschedulable": true},
		"status":   kube.Object{"conditions": []any{kube.Object{"type": "Ready", "status": "True"}, "garbage"}},
	})

	want := k8s.NodeStatusSpec{
		Nodename: "cp1", NodeReady: true, Unschedulable: true, Labels: map[string]string{"a": "b"},
		PodCIDRs: []netip.Prefix{netip.MustParsePrefix("10.244.0.0/24")},
	}
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
