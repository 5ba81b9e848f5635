// SPDX-License-Identifier: Apache-2.0

package client

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/api/contract"
)

// Explain returns what failed in a call, and what to try, "" if there is nothing to add. Each is one line.
func Explain(err error) (cause, try string) {
	var failed interface{ GRPCStatus() *status.Status }
	if !errors.As(err, &failed) {
		return err.Error(), ""
	}

	s := failed.GRPCStatus()
	// The text before the status is the step that failed.
	step := strings.TrimSuffix(err.Error(), s.Err().Error())

	message, try := plainMessage(s), next(s)

	// The error of an endpoint that could not reach the node contains what to try.
	if said := strings.LastIndex(message, "; "); said > 0 && s.Code() == codes.Unavailable && try == "" {
		message, try = message[:said], message[said+2:]
	}

	// Nodes may name the step too.
	if strings.HasPrefix(message, step) {
		step = ""
	}

	return step + message, try
}

// plainMessage removes what gRPC wraps around the error of a connection.
func plainMessage(s *status.Status) string {
	quoted, ok := strings.CutPrefix(s.Message(), "connection error: desc = ")
	if !ok {
		return s.Message()
	}

	message, err := strconv.Unquote(quoted)
	if err != nil {
		return s.Message()
	}

	return strings.TrimPrefix(strings.TrimPrefix(message, "transport: "), "Error while dialing: ")
}

// hints are matched in order against the message of an Unavailable status, the code of all connection errors in gRPC.
var hints = []struct{ text, try string }{
	{"certificate signed by unknown authority", "the machine belongs to another cluster than the talosconfig's context, or has no configuration yet, or has lost it (then use --insecure)"},
	{"certificate required", "the machine requires a client certificate: use a talosconfig of its cluster instead of --insecure; if it has lost its configuration, use both"},
	{"bad certificate", "the machine does not accept the talosconfig's certificate: check that it is of this cluster and has not expired"},
	{"unknown certificate authority", "the machine does not accept the talosconfig's certificate: check that it is of this cluster"},
	{"expired", "fetch a new talosconfig, and check the clocks of this computer and of the machine"},
	{"is valid for", "the endpoint's name is not in the machine's certificate: add it to machine.certSANs, or use another name of the machine"},
	{"doesn't contain any IP SANs", "the endpoint's name is not in the machine's certificate: add it to machine.certSANs"},
	{"fingerprint", "compare the fingerprint with the one on the machine's console"},
	{"connection refused", "check that the machine is up and that the endpoint is right (talosctl config info)"},
	{"no such host", "check the spelling of the endpoint (talosctl config info)"},
	{"", "check that the machine is up and reachable, and that the endpoint is right (talosctl config info)"},
}

// isTransport reports whether a message is that of a connection error, not of a server to which something is unavailable.
func isTransport(message string) bool {
	return slices.ContainsFunc([]string{
		"connection error", "last connection error", "error reading from server", "keepalive ping failed", "transport", "closing transport",
		"the connection is draining", "name resolver error", "no children to pick from", "dial ", "i/o timeout",
		"remote error: ", "write tcp ", // of gRPC's writer, which adds no prefix
	}, func(start string) bool { return strings.HasPrefix(message, start) })
}

func next(s *status.Status) string {
	switch s.Code() {
	case codes.Unavailable:
		if !isTransport(s.Message()) {
			return ""
		}

		for _, hint := range hints {
			if strings.Contains(s.Message(), hint.text) {
				return hint.try
			}
		}
	case codes.DeadlineExceeded:
		return "check that the machine is up and reachable (talosctl config info shows the endpoints)"
	case codes.PermissionDenied:
		return "the talosconfig's certificate lacks the role for this (talosctl config info shows its roles), or the node does not forward calls"
	case codes.Unimplemented:
		// If the node knows the call, its error says what to do instead.
		if !strings.HasPrefix(s.Message(), "unknown ") && !strings.HasSuffix(s.Message(), " not implemented") {
			return ""
		}

		return "the node's version does not have this call; compare with: talosctl version"
	case codes.ResourceExhausted:
		// Other errors with this code name the limit themselves.
		if strings.Contains(s.Message(), "larger than max") {
			return fmt.Sprintf("the message is larger than the API allows (%d MiB)", contract.MaxMessage>>20)
		}
	}

	return ""
}
