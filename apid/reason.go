// SPDX-License-Identifier: Apache-2.0

package apid

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/api/contract"
)

// unreachable returns the error of a call that the node (this node's machined if empty) did not answer: which node, in which
// step, why, and what to try. An error of the node itself is returned as it is.
func unreachable(node string, err error, header, trailer metadata.MD) error {
	s := status.Convert(err)
	if s.Code() != codes.Unavailable || len(trailer) > 0 || len(header) > 0 && !isTransport(s.Message()) {
		return err
	}

	step, cause := splitCause(s.Message())

	if node == "" {
		if step == stepHandshake { // a socket has none: the connection was closed before HTTP/2 began
			step = stepConnect
		}

		return status.Errorf(codes.Unavailable, "machined of this node: %s: %s; if it is starting or going down, try again in a moment", step, cause)
	}

	return status.Errorf(codes.Unavailable, "node %s: %s: %s; %s", node, step, cause, advice(step, cause))
}

// isTransport reports whether a message is gRPC's own error of a connection that broke during a call.
func isTransport(message string) bool {
	return slices.ContainsFunc([]string{
		"error reading from server", "keepalive ping failed", "transport", "connection error", "closing transport", "the connection is draining",
	}, func(start string) bool { return strings.HasPrefix(message, start) })
}

// The steps of a call to a node.
const (
	stepConnect   = "connect"
	stepHandshake = "TLS handshake"
	stepCall      = "call"
)

// splitCause splits an error of gRPC: connection error: desc = "transport: Error while dialing: dial tcp …".
func splitCause(message string) (step, cause string) {
	cause = message

	if _, desc, ok := strings.Cut(cause, `desc = "`); ok {
		cause = strings.TrimSuffix(desc, `"`)
	}

	cause = strings.TrimPrefix(cause, "transport: ")
	cause = strings.ReplaceAll(cause, `\"`, `"`)

	for _, start := range starts {
		if rest, ok := strings.CutPrefix(cause, start.text); ok {
			return start.step, start.keep + rest
		}
	}

	return stepCall, cause
}

// starts are the prefixes of all of gRPC's errors of a connection that is not ready yet; keep is the part that belongs to the
// cause. In TLS 1.3 a client learns only after its handshake that its certificate is refused: by its first read, or by a failed
// write, whose error has no prefix of gRPC when the buffer is flushed.
var starts = []struct{ text, step, keep string }{
	{"Error while dialing: ", stepConnect, ""},
	{"failed to set TCP_USER_TIMEOUT: ", stepConnect, ""},
	{"authentication handshake failed: ", stepHandshake, ""},
	{"error reading server preface: ", stepHandshake, ""},
	{"initial http2 frame from server is not a settings frame: ", stepHandshake, "the first frame is not SETTINGS: "},
	{"failed to write client preface: ", stepHandshake, ""},
	{"preface mismatch, ", stepHandshake, ""},
	{"failed to write initial settings frame: ", stepHandshake, ""},
	{"failed to write window update: ", stepHandshake, ""},
	{"write ", stepHandshake, "write "},
	{"remote error: ", stepHandshake, "remote error: "},
	{"local error: ", stepHandshake, "local error: "},
	{"tls: ", stepHandshake, "tls: "},
	{"use of closed network connection", stepHandshake, "use of closed network connection"},
}

func advice(step, cause string) string {
	has := func(text string) bool { return strings.Contains(cause, text) }

	switch {
	case step == stepConnect && has("refused"):
		return "the machine is up but its API is not: wait if it is booting, else look at its console"
	case step == stepConnect && has("no such host"):
		return "it is the name of no member of the cluster (talosctl get members), and this endpoint cannot resolve it: use the node's address"
	case step == stepConnect:
		return fmt.Sprintf("check that the machine is on and that this endpoint reaches its port %d", contract.APIPort)
	case step == stepHandshake && (has("expired") || has("not yet valid")):
		return "check the clocks of that node and of this endpoint (talosctl time)"
	case step == stepHandshake && has("unknown authority"):
		return "it belongs to another cluster, or is in maintenance mode (use --insecure and its own address as the endpoint)"
	case step == stepHandshake && (has("timeout") || has("deadline exceeded") || has("closed network connection")):
		return "it accepts connections but does not answer: look at its console"
	case step == stepHandshake:
		return "its API does not accept this endpoint: check that both belong to one cluster and accept the same authority"
	default:
		return "it stopped answering during the call: check that it is on, and try again"
	}
}
