// SPDX-License-Identifier: Apache-2.0

//go:build linux

package container

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/seed-59268b81/talos/sys/outbound"
)

// Attempts are the last failures of a pull, by host. containerd reports the failure of one host only, which is rarely the one that matters: an
// image that the image cache does not have is "not found", whatever the registry itself has answered.
type Attempts struct {
	credentials Credentials

	mu     sync.Mutex
	hosts  []string // in the order in which they were tried
	failed map[string]string
}

// watchedTransport records what becomes of requests.
type watchedTransport struct {
	http.RoundTripper

	tried *Attempts
}

// RoundTrip implements http.RoundTripper.
func (t *watchedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := t.RoundTripper.RoundTrip(r)

	if r.Context().Err() == nil {
		t.tried.note(r, response, err)
	}

	return response, err
}

func (a *Attempts) note(r *http.Request, response *http.Response, err error) {
	var reason string

	_, has := a.credentials[r.URL.Host]
	// The server that gives out tokens for a registry has another name, and is sent the registry's credentials in a header or in a form.
	has = has || strings.HasPrefix(r.Header.Get("Authorization"), "Basic ") || r.Method == http.MethodPost

	switch {
	case err != nil:
		reason = unreached(err)
		if proxy, _ := outbound.Proxy(r); proxy != nil {
			reason += " (through the proxy " + proxy.Redacted() + ")"
		}
	case response.StatusCode >= http.StatusBadRequest:
		reason = refused(response.StatusCode, has)
	}

	a.mu.Lock()
	defer a.mu.Unlock()

	if a.failed == nil {
		a.failed = map[string]string{}
	}

	if !slices.Contains(a.hosts, r.URL.Host) {
		a.hosts = append(a.hosts, r.URL.Host)
	}

	a.failed[r.URL.Host] = reason
}

// Explain adds what happened at each host to the error of a pull.
func (a *Attempts) Explain(err error) error {
	if errors.Is(err, ErrRefused) {
		return err // no host has failed
	}

	a.mu.Lock()
	defer a.mu.Unlock()

	var reasons []string

	for _, host := range a.hosts {
		if reason := a.failed[host]; reason != "" {
			reasons = append(reasons, host+": "+reason)
		}
	}

	if len(reasons) == 0 {
		return err
	}

	return fmt.Errorf("%s: %w", strings.Join(reasons, "; "), err)
}

// missing begins the reason of a host that has no such image.
const missing = "does not have the image ("

// onlyMissing reports whether all hosts have answered, and those with an error do not have the image.
func (a *Attempts) onlyMissing() bool {
	a.mu.Lock()
	defer a.mu.Unlock()

	lacking := 0

	for _, reason := range a.failed {
		switch {
		case reason == "": // such as a server that gives out tokens
		case strings.HasPrefix(reason, missing):
			lacking++
		default:
			return false
		}
	}

	return lacking > 0
}

// proxyAnswered names the proxy as the one that refuses a connection. net/http reports the text of the status only.
func proxyAnswered(_ context.Context, _ *url.URL, _ *http.Request, response *http.Response) error {
	if response.StatusCode == http.StatusOK {
		return nil
	}

	return &refusedByProxy{fmt.Sprintf("%d %s", response.StatusCode, http.StatusText(response.StatusCode))}
}

type refusedByProxy struct{ status string }

func (e *refusedByProxy) Error() string { return "proxyconnect: " + e.status }

// refused says why a host has answered with a status.
func refused(status int, hasCredentials bool) string {
	text := fmt.Sprintf("%d %s", status, http.StatusText(status))

	switch status {
	case http.StatusNotFound:
		return missing + text + ")"
	case http.StatusUnauthorized, http.StatusForbidden:
		if hasCredentials {
			return "authentication failed: it refuses the credentials of RegistryAuthConfig (" + text + ")"
		}

		return "authentication failed: it has no credentials in RegistryAuthConfig (" + text + ")"
	case http.StatusProxyAuthRequired:
		return "the proxy wants other credentials: see EnvironmentConfig (" + text + ")"
	default:
		return text
	}
}

// unreached says why a host has not answered.
func unreached(err error) string {
	var (
		authority x509.UnknownAuthorityError
		name      x509.HostnameError
		invalid   x509.CertificateInvalidError
		byProxy   *refusedByProxy
		lookup    *net.DNSError
		operation *net.OpError
	)

	switch {
	case errors.As(err, &operation) && operation.Op == "proxyconnect":
		return fmt.Sprintf("the proxy does not answer: see EnvironmentConfig: %v", err)
	case errors.As(err, &byProxy):
		return fmt.Sprintf("the proxy refuses the connection: see EnvironmentConfig: %v", err)
	case errors.As(err, &authority):
		return fmt.Sprintf("its certificate is from an authority that is not trusted: see ca in RegistryTLSConfig, or TrustedRootsConfig: %v", err)
	case errors.As(err, &name), errors.As(err, &invalid):
		return fmt.Sprintf("its certificate is not valid: %v", err)
	case strings.Contains(err.Error(), "tls: certificate required"), strings.Contains(err.Error(), "tls: bad certificate"),
		strings.Contains(err.Error(), "tls: unknown certificate authority"):
		return fmt.Sprintf("it refuses the machine's certificate, or the lack of one: see clientIdentity in RegistryTLSConfig: %v", err)
	case errors.As(err, &lookup):
		return fmt.Sprintf("its name is not resolved: %v", err)
	default:
		return err.Error()
	}
}
