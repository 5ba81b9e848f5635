// SPDX-License-Identifier: Apache-2.0

package rotateca

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/kube"
)

// hopeless is how long a wait goes on while each try fails for a reason that does not pass by itself. An API server that does not notice that a
// file has changed reads its authorities again after a minute.
var hopeless = map[failure]time.Duration{unreachable: time.Minute, untrusted: 90 * time.Second, denied: 90 * time.Second}

// failure is a class of failures that do not pass by themselves if they last.
type failure string

const (
	passing     failure = ""
	unreachable failure = "the endpoint cannot be reached"
	untrusted   failure = "the server's certificate is of an unknown authority"
	denied      failure = "the client certificate is refused"
)

// patience decides how long a wait goes on.
type patience struct {
	// until is the end of the whole wait.
	until time.Time
	class failure
	since time.Time
}

// after returns the patience after a failed try, and an error when it ends.
func (p patience) after(err error, now time.Time) (patience, error) {
	class := classify(err)

	if class != p.class || p.since.IsZero() {
		p.class, p.since = class, now
	}

	switch {
	case class != passing && now.Sub(p.since) >= hopeless[class]:
		return p, fmt.Errorf("%s for %s: %w", class, now.Sub(p.since).Round(time.Second), err)
	case !now.Before(p.until):
		return p, fmt.Errorf("timed out: %w", err)
	default:
		return p, nil
	}
}

// classify returns the class of a failure. gRPC passes the errors of connections as text.
func classify(err error) failure {
	var (
		authority x509.UnknownAuthorityError
		dial      *net.OpError
		text      = err.Error()
	)

	switch code := status.Code(err); { // of the status inside
	case errors.As(err, &authority), strings.Contains(text, "certificate signed by unknown authority"):
		return untrusted
	case kube.IsForbidden(err), kube.IsUnauthorized(err), code == codes.Unauthenticated, code == codes.PermissionDenied,
		strings.Contains(text, "remote error: tls: "):
		return denied
	case errors.As(err, &dial), errors.Is(err, context.DeadlineExceeded), code == codes.Unavailable, code == codes.DeadlineExceeded:
		return unreachable
	default:
		return passing
	}
}
