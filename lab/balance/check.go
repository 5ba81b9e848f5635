// SPDX-License-Identifier: Apache-2.0

package balance

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

const (
	checkInterval = time.Second
	checkTimeout  = 1500 * time.Millisecond
	// drainTime is how long a server that ends has for its requests.
	drainTime = 3 * time.Second
	// maxAnswer bounds what is read of an answer, so that its connection can be used again.
	maxAnswer = 64 << 10
)

// Check asks each server whether it is ready until ctx is done.
func (b *Balancer) Check(ctx context.Context) {
	var all sync.WaitGroup
	defer all.Wait()

	for _, t := range b.targets {
		all.Go(func() {
			client := t.client()
			defer client.CloseIdleConnections()

			for ctx.Err() == nil {
				err := readyz(ctx, client)
				if isTimeout(err) { // the second try decides
					err = readyz(ctx, client)
				}

				if ctx.Err() != nil {
					return
				}

				b.record(t, err)

				select {
				case <-ctx.Done():
				case <-time.After(checkInterval):
				}
			}
		})
	}
}

// client returns a client for one server, whose certificate is of no interest here.
func (t *target) client() *http.Client {
	return &http.Client{
		Timeout: checkTimeout,
		Transport: &http.Transport{
			DialContext:         func(ctx context.Context, _, _ string) (net.Conn, error) { return t.Dial(ctx) },
			TLSClientConfig:     &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12},
			MaxIdleConnsPerHost: 1,
			IdleConnTimeout:     2 * checkInterval,
		},
	}
}

// readyz asks a server whether it is ready. One that refuses unauthenticated clients counts as ready. One that starts does not know its rules
// yet, and forbids everything.
func readyz(ctx context.Context, client *http.Client) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://127.0.0.1/readyz", nil)
	if err != nil {
		return err
	}

	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()

	_, _ = io.CopyN(io.Discard, response.Body, maxAnswer) // the status has arrived

	if response.StatusCode >= http.StatusInternalServerError || response.StatusCode == http.StatusForbidden {
		return fmt.Errorf("status %s", response.Status)
	}

	return nil
}

func isTimeout(err error) bool {
	var timeout net.Error

	return errors.As(err, &timeout) && timeout.Timeout()
}
