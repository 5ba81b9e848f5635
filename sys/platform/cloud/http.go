// SPDX-License-Identifier: Apache-2.0

package cloud

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"syscall"
	"time"

	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/sys/outbound"
)

// maxDocument in bytes. A configuration has at most that much.
const maxDocument = 16 << 20

// attemptTimeout bounds one request, so that a server that does not answer is asked again.
const attemptTimeout = 30 * time.Second

// StatusError is the error of a request that a server has refused: the status of HTTP.
type StatusError int

// Error implements error.
func (e StatusError) Error() string {
	return fmt.Sprintf("status %d %s", int(e), http.StatusText(int(e)))
}

// HTTP carries out a request over HTTP. The transport is one for all requests; if it is nil, each request gets what it needs: one that permits
// a proxy is made as package outbound makes those of the machine.
func HTTP(transport http.RoundTripper) Fetch {
	return over(transport, layout.CABundle)
}

func over(transport http.RoundTripper, bundle string) Fetch {
	direct := directTransport()

	return func(ctx context.Context, r Request) ([]byte, error) {
		ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
		defer cancel()

		request, err := http.NewRequestWithContext(ctx, r.Method, r.URL, bytes.NewReader(r.Body))
		if err != nil {
			return nil, errors.New("the address is not a URL")
		}

		for name, value := range r.Header {
			request.Header.Set(name, value)
		}

		client := http.Client{Transport: transport}

		switch {
		case transport != nil:
		case r.LowPort:
			low := lowPorts()
			defer low.CloseIdleConnections()

			client.Transport = low
		case r.Proxied:
			client.Transport = outbound.Transport{Bundle: bundle, Dial: outbound.Dial}
		default:
			client.Transport = direct
		}

		response, err := client.Do(request)
		if failure := (*url.Error)(nil); errors.As(err, &failure) {
			err = failure.Err // the cause without the address, which may be secret
		}

		if err != nil {
			return nil, err
		}
		defer response.Body.Close()

		switch {
		case response.StatusCode == http.StatusNotFound || response.StatusCode == http.StatusGone:
			return nil, ErrNotFound
		case response.StatusCode == http.StatusNoContent:
			return nil, nil
		case response.StatusCode != http.StatusOK:
			return nil, StatusError(response.StatusCode)
		}

		text, err := io.ReadAll(io.LimitReader(response.Body, maxDocument+1))
		if err != nil {
			return nil, err
		}

		if len(text) > maxDocument {
			return nil, fmt.Errorf("more than %d MiB", maxDocument>>20)
		}

		return text, nil
	}
}

// directTransport returns one without a proxy: a cloud's server knows the machine by its connection.
func directTransport() *http.Transport {
	direct := http.DefaultTransport.(*http.Transport).Clone()
	direct.Proxy, direct.DialContext = nil, outbound.Dial

	return direct
}

// lowPorts returns a transport whose connections come from ports below 1024.
func lowPorts() *http.Transport {
	return &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		const lowest, highest = 512, 1023

		var last error

		for port := highest; port >= lowest; port-- {
			dialer := net.Dialer{LocalAddr: &net.TCPAddr{Port: port}}

			conn, err := dialer.DialContext(ctx, network, address)
			if err == nil {
				return conn, nil
			}

			if last = err; !errors.Is(err, syscall.EADDRINUSE) {
				break
			}
		}

		return nil, last
	}}
}
