// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"net/netip"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	clusterapi "github.com/seed-59268b81/talos/api/cluster"
	"github.com/seed-59268b81/talos/api/contract"
	"github.com/seed-59268b81/talos/config/configtest"
	"github.com/seed-59268b81/talos/resources/k8s"
)

// TestHealthEndpoint: the node connects only to endpoints of its own cluster.
func TestHealthEndpoint(t *testing.T) {
	b := newBench(t)
	configure(t, b, configtest.ControlPlane(t))
	set(t, b, k8s.EndpointControlPlane, k8s.EndpointSpec{Addresses: []netip.Addr{netip.MustParseAddr("10.5.0.3"), netip.MustParseAddr("fd00::3")}})

	for endpoint, want := range map[string]codes.Code{
		"":                               codes.OK,
		"https://10.5.0.2:6443":          codes.OK, // the configuration's
		"https://10.5.0.2:6443/":         codes.OK,
		"https://10.5.0.3:6443":          codes.OK, // another node's
		"https://[fd00::3]:6443":         codes.OK,
		"https://127.0.0.1:6443":         codes.OK,
		"http://10.5.0.2:6443":           codes.InvalidArgument,
		"https://10.5.0.2:22":            codes.InvalidArgument,
		"https://10.5.0.2":               codes.InvalidArgument,
		"https://127.0.0.1:2379":         codes.InvalidArgument,
		"https://169.254.169.254:6443":   codes.InvalidArgument,
		"https://example.org:6443":       codes.InvalidArgument,
		"https://a@10.5.0.2:6443":        codes.InvalidArgument,
		"https://10.5.0.2:6443/latest":   codes.InvalidArgument,
		"https://10.5.0.2:6443?a=b":      codes.InvalidArgument,
		"https://10.5.0.2:6443@h:6443":   codes.InvalidArgument,
		"unix:///system/run/socket":      codes.InvalidArgument,
		"10.5.0.2:6443":                  codes.InvalidArgument,
		"https://10.5.0.2:6443\r\nHost:": codes.InvalidArgument,
	} {
		if got := status.Code(b.checkEndpoint(t.Context(), endpoint)); got != want {
			t.Errorf("%q: got %v, want %v", endpoint, got, want)
		}
	}

	stream, err := b.cluster.HealthCheck(as(t.Context(), contract.RoleReader), &clusterapi.HealthCheckRequest{
		WaitTimeout: durationpb.New(1e9), ClusterInfo: &clusterapi.ClusterInfo{ForceEndpoint: "http://127.0.0.1:1"},
	})
	if err == nil {
		_, err = stream.Recv()
	}

	if status.Code(err) != codes.InvalidArgument {
		t.Errorf("the call: got %v, want InvalidArgument", err)
	}
}
