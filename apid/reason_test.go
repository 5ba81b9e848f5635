// SPDX-License-Identifier: Apache-2.0

package apid

import (
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
)

func TestUnreachable(t *testing.T) {
	said := metadata.Pairs("content-type", "application/grpc")

	for _, tt := range []struct {
		name, node, message string
		header, trailer     metadata.MD
		want                string
	}{
		{
			"nobody there", "10.5.0.3", `connection error: desc = "transport: Error while dialing: dial tcp 10.5.0.3:50000: i/o timeout"`, nil, nil,
			"node 10.5.0.3: connect: dial tcp 10.5.0.3:50000: i/o timeout; check that the machine is on and that this endpoint reaches its port 50000",
		},
		{
			"another cluster's", "cp-2", `connection error: desc = "transport: authentication handshake failed: tls: failed to verify certificate: x509: certificate signed by unknown authority"`, nil, nil,
			"node cp-2: TLS handshake: tls: failed to verify certificate: x509: certificate signed by unknown authority; it is a machine of another cluster, " +
				"or one in maintenance mode (use --insecure and its own address as the endpoint)",
		},
		{
			"died in a call", "cp-2", "keepalive ping failed to receive ACK within timeout", said, nil,
			"node cp-2: call: keepalive ping failed to receive ACK within timeout; it stopped answering during the call: check that it is on, and try again",
		},
		{
			"machined", "", `connection error: desc = "transport: Error while dialing: dial unix /x: connect: connection refused"`, nil, nil,
			"machined of this node: connect: dial unix /x: connect: connection refused; if it is starting or going down, try again in a moment",
		},
		{"the node's own word", "cp-2", "etcd has no leader", nil, said, "etcd has no leader"},
		{"the node's own word after some answers", "cp-2", "etcd has no leader", said, nil, "etcd has no leader"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := unreachable(tt.node, status.Error(codes.Unavailable, tt.message), tt.header, tt.trailer)
			if s := status.Convert(err); s.Message() != tt.want || s.Code() != codes.Unavailable {
				t.Errorf("got %q, want %q", s.Message(), tt.want)
			}
		})
	}

	denied := status.Error(codes.PermissionDenied, "no")
	if err := unreachable("n", denied, nil, nil); err != denied { //nolint:errorlint // the same
		t.Errorf("another code: got %v, want it unchanged", err)
	}
}

// TestReasons has nodes that cannot be called, really, so that the words of gRPC which the reasons are made of are known.
func TestReasons(t *testing.T) {
	ca, foreign := newCA(t), newCA(t)
	a := startNode(t, "a", view(t, ca))
	startNode(t, "foreign", view(t, foreign))

	// It trusts nobody who calls, and is trusted.
	picky := view(t, ca)
	picky.CAs = view(t, foreign).CAs
	startNode(t, "picky", picky)

	client := dial(t, a, ca, clientCert(t, ca, "os:admin"))

	for node, want := range map[string]string{
		"nowhere": "node nowhere: connect: dial tcp 127.0.0.1:1: connect: connection refused; the machine is up but its API is not",
		"foreign": "node foreign: TLS handshake: tls: failed to verify certificate: x509: certificate signed by unknown authority",
		"picky":   "node picky: TLS handshake: ",
	} {
		_, err := client.Version(with(t.Context(), "node", node), &emptypb.Empty{})
		if s := status.Convert(err); s.Code() != codes.Unavailable || !strings.HasPrefix(s.Message(), want) {
			t.Errorf("got %q, want %q", s.Message(), want)
		}
	}
}
