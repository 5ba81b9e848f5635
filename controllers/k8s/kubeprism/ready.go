// SPDX-License-Identifier: Apache-2.0

package kubeprism

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"time"
)

// dialTimeout of a connection, and of its handshake.
const dialTimeout = 5 * time.Second

// readyClient asks over connections of its own. It does not look at the certificate: the answer only decides who is asked first, and
// those who connect through the balancer look for themselves.
var readyClient = &http.Client{
	Timeout: 2 * dialTimeout,
	Transport: &http.Transport{
		DisableKeepAlives:   true,
		DialContext:         (&net.Dialer{Timeout: dialTimeout}).DialContext,
		TLSHandshakeTimeout: dialTimeout,
		TLSClientConfig:     &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}, //nolint:gosec // see above
	},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// Readyz asks an API server whether it is ready, and calls answered after the handshake: what makes it ready may take longer. One that
// answers only those whom it knows counts as ready.
func Readyz(ctx context.Context, address string, answered func()) error {
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{TLSHandshakeDone: func(_ tls.ConnectionState, err error) {
		if err == nil {
			answered()
		}
	}})

	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+address+"/readyz", nil)
	if err != nil {
		return err
	}

	response, err := readyClient.Do(request)
	if err != nil {
		if own := (*url.Error)(nil); errors.As(err, &own) && !own.Timeout() {
			return own.Err // who reads it knows what was asked
		}

		return err
	}

	response.Body.Close() //nolint:errcheck,gosec // nothing of it is read

	if response.StatusCode >= http.StatusInternalServerError {
		return fmt.Errorf("the API server is not ready: status %s", response.Status)
	}

	return nil
}
