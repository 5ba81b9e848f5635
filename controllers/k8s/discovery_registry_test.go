// SPDX-License-Identifier: Apache-2.0

//go:build linux

package k8s

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/controllers/controllertest"
	"github.com/seed-59268b81/talos/controllers/k8s/settings"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/kube"
	"github.com/seed-59268b81/talos/resources/cluster"
	"github.com/seed-59268b81/talos/resources/config"
	"github.com/seed-59268b81/talos/resources/k8s"
)

// announcingNode is the Node of a machine that announces itself.
func announcingNode(own cluster.AffiliateSpec) kube.Object {
	annotations := kube.Object{k8s.NodeAddressesAnnotation: joined(own.Addresses)}
	for key, value := range announcement(own) {
		annotations[key] = value
	}

	return kube.Object{
		"metadata": kube.Object{"name": own.Nodename, "annotations": annotations, "labels": kube.Object{settings.ControlPlaneLabel: "", "other": "x"}},
		"status": kube.Object{
			"addresses": []any{kube.Object{"type": "Hostname", "address": own.Hostname}},
			"nodeInfo":  kube.Object{"osImage": own.OperatingSystem},
			"images":    []any{},
		},
	}
}

func TestAnnounced(t *testing.T) {
	want := cluster.AffiliateSpec{
		NodeID: "sou7yy34", Addresses: []netip.Addr{netip.MustParseAddr("172.20.0.2"), netip.MustParseAddr("fd00::2")}, Hostname: "cp-1", Nodename: "cp-1",
		OperatingSystem: "Talos (v1)", MachineType: config.TypeControlPlane, ControlPlane: &cluster.ControlPlane{APIServerPort: 6443},
		KubeSpan: &cluster.KubeSpanAffiliateSpec{
			PublicKey: "key=", Address: netip.MustParseAddr("fd01::2"), AdditionalAddresses: []netip.Prefix{netip.MustParsePrefix("10.244.0.0/24")},
			Endpoints: []netip.AddrPort{netip.MustParseAddrPort("172.20.0.2:51820")},
		},
	}

	got, ok := announced(announcing(announcingNode(want)))
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b netip.Addr) bool { return a == b }), cmp.Comparer(func(a, b netip.Prefix) bool { return a == b }),
		cmp.Comparer(func(a, b netip.AddrPort) bool { return a == b })); !ok || diff != "" {
		t.Errorf("%t (-want +got):\n%s", ok, diff)
	}

	spoilt := announcingNode(want)
	kube.At[kube.Object](spoilt, "metadata", "annotations")[k8s.NodeAddressesAnnotation] = "x, 172.20.0.2,,172.20.0.2"

	if got, _ := announced(spoilt); len(got.Addresses) != 1 {
		t.Errorf("bad addresses: got %v, want the good one", got.Addresses)
	}

	for _, id := range []any{"", "a/b", 7, nil} {
		kube.At[kube.Object](spoilt, "metadata", "annotations")[annotationNodeID] = id

		if got, ok := announced(spoilt); ok {
			t.Errorf("identity %v: got %+v", id, got)
		}
	}
}

// TestKubernetesPush: the annotations are there while the configuration wants them.
func TestKubernetesPush(t *testing.T) {
	n := controllertest.Start(t, kubernetesPushController())

	controllertest.Set(n, cluster.LocalIdentityID, cluster.IdentitySpec{NodeID: "own"})
	controllertest.Set(n, "own", cluster.AffiliateSpec{NodeID: "own", ControlPlane: &cluster.ControlPlane{APIServerPort: 6443}})
	controllertest.Set(n, cluster.ConfigID, cluster.ConfigSpec{DiscoveryEnabled: true, RegistryKubernetesEnabled: true})

	for key, want := range map[string]string{annotationNodeID: "own", annotationPort: "6443"} {
		controllertest.Wait(n, key, func(a k8s.NodeAnnotationSpecSpec) bool { return a.Key == key && a.Value == want })
	}

	controllertest.Set(n, cluster.ConfigID, cluster.ConfigSpec{DiscoveryEnabled: true})

	if _, err := n.WatchFor(t.Context(), resource.PointerOf[k8s.NodeAnnotationSpecSpec]("", annotationPort), state.EventTypeIs(state.Destroyed)); err != nil {
		t.Errorf("the annotation stays: %v", err)
	}
}
