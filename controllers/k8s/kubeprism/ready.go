// SPDX-License-Identifier: Apache-2.0

package kubeprism

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
)

// readyClient asks over connections of its own. It does not look at the certificate: the answer only decides who is asked first, and
// those who connect through the balancer look for themselves.
var readyClient = &http.Client{
	Timeout: dialTimeout,
	Transport: &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}, //nolint:gosec // see above
	},
}

// Readyz asks an API server whether it is ready. One that answers only those whom it knows counts as ready.
func Readyz(ctx context.Context, address string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+address+"/readyz", nil)
	if err != nil {
		return err
	}

	response, err := readyClient.Do(request)
	if err != nil {
		return err
	}

	response.Body.Close() //nolint:errcheck,gosec // nothing of it is read

	if response.StatusCode >= http.StatusInternalServerError {
		return fmt.Errorf("the API server is not ready: status %s", response.Status)
	}

	return nil
}
