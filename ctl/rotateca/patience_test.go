// SPDX-License-Identifier: Apache-2.0

package rotateca

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// TestPatience checks when a wait ends: failures that do not pass by themselves end it long before its timeout.
func TestPatience(t *testing.T) {
	var (
		refused  = &url.Error{Op: "Get", URL: "https://10.5.0.2:6443/api", Err: &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}}
		unknown  = fmt.Errorf("Kubernetes API: %w", &url.Error{Op: "Get", URL: "x", Err: x509.UnknownAuthorityError{}})
		notYet   = errors.New("pod kube-scheduler-cp is not ready")
		gone     = fmt.Errorf("get v1alpha1: %w", status.Error(codes.Unavailable, `connection error: desc = "transport: Error while dialing"`))
		foreign  = status.Error(codes.Unavailable, `connection error: desc = "transport: authentication handshake failed: tls: failed to verify certificate: x509: certificate signed by unknown authority"`)
		rejected = fmt.Errorf("read: %w", status.Error(codes.Unauthenticated, "the certificate's authority is no longer accepted"))
	)

	for _, test := range []struct {
		name string
		// errs are the failures, one every 10 s.
		errs []error
		// ends is after which one the wait ends, -1 for never. why is in the error.
		ends int
		why  string
	}{
		{"a condition that comes late", repeat(notYet, 50), -1, ""},
		{"a condition that never comes", repeat(notYet, 70), 60, "timed out: pod kube-scheduler-cp"},
		{"an endpoint that cannot be reached", repeat(refused, 20), 6, "cannot be reached for 1m0s"},
		{"a request without an answer", repeat(context.DeadlineExceeded, 20), 6, "cannot be reached"},
		{"a node that cannot be reached", repeat(gone, 20), 6, "cannot be reached"},
		{"an API server of an unknown authority", repeat(unknown, 20), 9, "unknown authority for 1m30s"},
		{"a node of an unknown authority", repeat(foreign, 20), 9, "unknown authority"},
		{"a certificate that is refused", repeat(rejected, 20), 9, "is refused"},
		{"a restart", append(append(repeat(notYet, 3), repeat(refused, 5)...), repeat(notYet, 20)...), -1, ""},
		{"restarts one after the other", append(append(repeat(refused, 5), notYet), repeat(refused, 5)...), -1, ""},
		{"different failures", append(append(repeat(refused, 5), repeat(rejected, 5)...), repeat(refused, 5)...), -1, ""},
	} {
		start := time.Now()
		p, ended, why := patience{until: start.Add(10 * time.Minute)}, -1, ""

		for i, failed := range test.errs {
			var err error

			if p, err = p.after(failed, start.Add(time.Duration(i)*10*time.Second)); err != nil {
				ended, why = i, err.Error()

				break
			}
		}

		if ended != test.ends || !strings.Contains(why, test.why) {
			t.Errorf("%s: got an end after %d with %q, want %d with %q", test.name, ended, why, test.ends, test.why)
		}
	}
}

func repeat(err error, n int) []error {
	out := make([]error, n)
	for i := range out {
		out[i] = err
	}

	return out
}
