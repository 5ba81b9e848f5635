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

// unreachable is the error of a call that ended without an answer of the node (empty: of machined here): which node, in
// which step, why, and what to try. Whatever the node itself has said is passed on as it is.
func unreachable(node string, err error, header, trailer metadata.MD) error {
	s := status.Convert(err)
	if s.Code() != codes.Unavailable || len(trailer) > 0 || len(header) > 0 && !isTransport(s.Message()) {
		return err
	}

	step, cause := splitCause(s.Message())

	if node == "" {
		if step == stepHandshake { // a socket has none: it let go before it spoke
			step = stepConnect
		}

		return status.Errorf(codes.Unavailable, "machined of this node: %s: %s; if it is starting or going down, try again in a moment", step, cause)
	}

	return status.Errorf(codes.Unavailable, "node %s: %s: %s; %s", node, step, cause, advice(step, cause))
}

// isTransport tells the errors of gRPC's own about a connection that broke during a call.
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

// splitCause takes apart what gRPC says: connection error: desc = "transport: Error while dialing: dial tcp …".
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

// starts of the errors of a connection that is not ready yet, all that gRPC has; keep is what of them is the cause. With
// TLS 1.3 a client learns only after its handshake that its certificate is refused: by what it reads first, or because
// it cannot write, which has no words of gRPC's before it when the buffer is flushed.
var starts = []struct{ text, step, keep string }{
	{"Error while dialing: ", stepConnect, ""},
	{"failed to set TCP_USER_TIMEOUT: ", stepConnect, ""},
	{"authentication handshake failed: ", stepHandshake, ""},
	{"error reading server preface: ", stepHandshake, ""},
	{"initial http2 frame from server is not a settings frame: ", stepHandshake, "the first frame is no settings: "},
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
		return "this endpoint cannot resolve the name: use the node's address"
	case step == stepConnect:
		return fmt.Sprintf("check that the machine is on and that this endpoint reaches its port %d", contract.APIPort)
	case step == stepHandshake && (has("expired") || has("not yet valid")):
		return "check the clocks of that node and of this endpoint (talosctl time)"
	case step == stepHandshake && has("unknown authority"):
		return "it is a machine of another cluster, or one in maintenance mode (use --insecure and its own address as the endpoint)"
	case step == stepHandshake && (has("timeout") || has("deadline exceeded") || has("closed network connection")):
		return "it takes connections and does not answer: look at its console"
	case step == stepHandshake:
		return "its API does not accept this endpoint: check that both are of one cluster and accept the same authority"
	default:
		return "it stopped answering during the call: check that it is on, and try again"
	}
}
