// SPDX-License-Identifier: Apache-2.0

//go:build linux

package k8s_test

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/seed-59268b81/talos/config/generate"
	"github.com/seed-59268b81/talos/controllers/controllertest"
	k8sres "github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/resources/network"
)

// TestNodeTellsItsAddresses checks that the Node gets an annotation with all addresses of the machine, and those of the configuration, which win.
func TestNodeTellsItsAddresses(t *testing.T) {
	c := controlPlane(t, generate.Options{Secrets: generateSecrets(t)})

	is := func(key, value string) {
		t.Helper()
		controllertest.Wait(c.Node, key, func(s k8sres.NodeAnnotationSpecSpec) bool { return s.Key == key && s.Value == value })
	}

	is(k8sres.NodeAddressesAnnotation, "172.20.0.2")

	id := network.FilteredNodeAddressID(network.NodeAddressRoutedID, network.NodeAddressFilterNoK8s)
	controllertest.Set(c.Node, id, network.NodeAddressSpec{Addresses: []netip.Prefix{controllertest.Address, netip.MustParsePrefix("fd00::2/64")}})
	is(k8sres.NodeAddressesAnnotation, "172.20.0.2,fd00::2")
	controllertest.Wait(c.Node, k8sres.KubeletID, func(s k8sres.KubeletSpecSpec) bool { return slices.Contains(s.Args, "--node-ip=172.20.0.2,fd00::2") })

	// While no address is known, the annotation and the kubelet's address stay.
	spec := controllertest.Version[k8sres.KubeletSpecSpec](c.Node, k8sres.KubeletID)

	controllertest.Set(c.Node, id, network.NodeAddressSpec{})
	c.Configure(c.text(t, "machine: {nodeAnnotations: {a: b}}"))
	is("a", "b")
	is(k8sres.NodeAddressesAnnotation, "172.20.0.2,fd00::2")
	controllertest.Wait(c.Node, k8sres.NodeIPID, func(s k8sres.NodeIPSpec) bool { return len(s.Addresses) == 2 })

	if got := controllertest.Version[k8sres.KubeletSpecSpec](c.Node, k8sres.KubeletID); got != spec {
		t.Errorf("without addresses: got version %d of the kubelet's settings, want %d", got, spec)
	}

	c.Configure(c.text(t, "machine: {nodeAnnotations: {networking.talos.dev/self-ips: 192.0.2.1}}"))
	is(k8sres.NodeAddressesAnnotation, "192.0.2.1")
}
