// SPDX-License-Identifier: Apache-2.0

package apid

import (
	"fmt"
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
			"no answer", "10.5.0.3", `connection error: desc = "transport: Error while dialing: dial tcp 10.5.0.3:50000: i/o timeout"`, nil, nil,
			"node 10.5.0.3: connect: dial tcp 10.5.0.3:50000: i/o timeout; check that the machine is on and that this endpoint reaches its port 50000",
		},
		{
			"another cluster's", "cp-2", `connection error: desc = "transport: authentication handshake failed: tls: failed to verify certificate: x509: certificate signed by unknown authority"`, nil, nil,
			"node cp-2: TLS handshake: tls: failed to verify certificate: x509: certificate signed by unknown authority; it belongs to another cluster, " +
				"or is in maintenance mode (use --insecure and its own address as the endpoint)",
		},
		{
			"died in a call", "cp-2", "keepalive ping failed to receive ACK within timeout", said, nil,
			"node cp-2: call: keepalive ping failed to receive ACK within timeout; it stopped answering during the call: check that it is on, and try again",
		},
		{
			"machined", "", `connection error: desc = "transport: Error while dialing: dial unix /x: connect: connection refused"`, nil, nil,
			"machined of this node: connect: dial unix /x: connect: connection refused; if it is starting or going down, try again in a moment",
		},
		{
			"hangs up", "cp-2", "write tcp a->b: write: broken pipe", nil, nil,
			"node cp-2: TLS handshake: write tcp a->b: write: broken pipe; its API does not accept this endpoint: " +
				"check that both belong to one cluster and accept the same authority",
		},
		{
			"slow", "cp-2", `connection error: desc = "transport: authentication handshake failed: context deadline exceeded"`, nil, nil,
			"node cp-2: TLS handshake: context deadline exceeded; it accepts connections but does not answer: look at its console",
		},
		{
			"machined closes the connection", "", "write unix @->/x: write: broken pipe", nil, nil,
			"machined of this node: connect: write unix @->/x: write: broken pipe; if it is starting or going down, try again in a moment",
		},
		{"the node's own error", "cp-2", "etcd has no leader", nil, said, "etcd has no leader"},
		{"the node's own error after some answers", "cp-2", "etcd has no leader", said, nil, "etcd has no leader"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := unreachable(tt.node, status.Error(codes.Unavailable, tt.message), tt.header, tt.trailer)
			if s := status.Convert(err); s.Message() != tt.want || s.Code() != codes.Unavailable {
				t.Errorf("got %q, want %q", s.Message(), tt.want)
			}
		})
	}

	denied := status.Error(codes.PermissionDenied, "no")
	if err := unreachable("n", denied, nil, nil); err != denied {
		t.Errorf("another code: got %v, want it unchanged", err)
	}
}

// TestSteps has all of gRPC's own errors of a connection, before it is ready or during a call.
func TestSteps(t *testing.T) {
	of := func(desc string) string { return fmt.Sprintf("connection error: desc = %q", desc) }

	for _, tt := range []struct{ message, step, cause string }{
		{of("transport: Error while dialing: dial tcp 10.5.0.3:50000: i/o timeout"), stepConnect, "dial tcp 10.5.0.3:50000: i/o timeout"},
		{of("transport: failed to set TCP_USER_TIMEOUT: error setting option on socket: x"), stepConnect, "error setting option on socket: x"},
		{of("transport: authentication handshake failed: EOF"), stepHandshake, "EOF"},
		{of("error reading server preface: remote error: tls: bad certificate"), stepHandshake, "remote error: tls: bad certificate"},
		{of("initial http2 frame from server is not a settings frame: *http2.GoAwayFrame"), stepHandshake, "the first frame is not SETTINGS: *http2.GoAwayFrame"},
		{of("transport: failed to write client preface: write tcp a->b: write: broken pipe"), stepHandshake, "write tcp a->b: write: broken pipe"},
		{of("transport: preface mismatch, wrote 3 bytes; want 24"), stepHandshake, "wrote 3 bytes; want 24"},
		{of("transport: failed to write initial settings frame: write tcp a->b: i/o timeout"), stepHandshake, "write tcp a->b: i/o timeout"},
		{of("transport: failed to write window update: write tcp a->b: i/o timeout"), stepHandshake, "write tcp a->b: i/o timeout"},
		{"write tcp a->b: write: broken pipe", stepHandshake, "write tcp a->b: write: broken pipe"},
		{"write tcp a->b: write: connection reset by peer", stepHandshake, "write tcp a->b: write: connection reset by peer"},
		{"write tcp a->b: use of closed network connection", stepHandshake, "write tcp a->b: use of closed network connection"},
		{"use of closed network connection", stepHandshake, "use of closed network connection"},
		{"remote error: tls: unknown certificate authority", stepHandshake, "remote error: tls: unknown certificate authority"},
		{"local error: tls: unexpected message", stepHandshake, "local error: tls: unexpected message"},
		{"tls: protocol is shutdown", stepHandshake, "tls: protocol is shutdown"},

		{of("error reading from server: read tcp a->b: read: connection reset by peer"), stepCall, "error reading from server: read tcp a->b: read: connection reset by peer"},
		{of("error reading from server: remote error: tls: x"), stepCall, "error reading from server: remote error: tls: x"},
		{of("closing connection since the server is not reading: x"), stepCall, "closing connection since the server is not reading: x"},
		{of("received goaway and there are no active streams"), stepCall, "received goaway and there are no active streams"},
		{of("keepalive ping failed to receive ACK within timeout"), stepCall, "keepalive ping failed to receive ACK within timeout"},
		{of("transport is closing"), stepCall, "transport is closing"},
		{"the connection is draining", stepCall, "the connection is draining"},
	} {
		if step, cause := splitCause(tt.message); step != tt.step || cause != tt.cause {
			t.Errorf("%s: got %q, %q, want %q, %q", tt.message, step, cause, tt.step, tt.cause)
		}
	}
}

// TestReasons calls real nodes that cannot be reached, and so detects changes of gRPC's messages.
func TestReasons(t *testing.T) {
	ca, foreign := newCA(t), newCA(t)
	a := startNode(t, "a", view(t, ca))
	startNode(t, "foreign", view(t, foreign))

	// It accepts no client, and is trusted by clients.
	picky := view(t, ca)
	picky.CAs = view(t, foreign).CAs
	startNode(t, "picky", picky)

	client := dial(t, a, ca, clientCert(t, ca, "os:admin"))

	for node, want := range map[string]string{
		"nowhere": "node nowhere: connect: dial tcp 127.0.0.1:1: connect: connection refused; the machine is up but its API is not",
		"foreign": "node foreign: TLS handshake: tls: failed to verify certificate: x509: certificate signed by unknown authority",
		"picky":   "node picky: TLS handshake: remote error: tls: ",
	} {
		_, err := client.Version(with(t.Context(), "node", node), &emptypb.Empty{})
		if s := status.Convert(err); s.Code() != codes.Unavailable || !strings.HasPrefix(s.Message(), want) {
			t.Errorf("got %q, want %q", s.Message(), want)
		}
	}
}
