// SPDX-License-Identifier: Apache-2.0

// Package kubeapi is a small client of the Kubernetes API: objects as maps, over HTTP. It does what the controllers of
// a node need (get, list, watch, apply, patch) and no more.
//
// client-go's dynamic client was rejected for its weight: with discovery and the machinery of kubeconfigs it adds some
// ten megabytes to a program whose whole budget is thirty, for a handful of requests.
package kubeapi

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/seed-59268b81/talos/controllers/secrets/kubeconfig"
	"github.com/seed-59268b81/talos/pki"
)

// Object is a Kubernetes object.
type Object = map[string]any

// requestTimeout bounds every request but a watch.
const requestTimeout = 30 * time.Second

// maxAnswer bounds what is read of one answer.
const maxAnswer = 64 << 20

// Client talks to one API server.
type Client struct {
	server string
	token  string
	http   *http.Client

	mu        sync.Mutex
	resources map[string]map[string]Resource // group version → kind → resource
}

// New connects by a kubeconfig.
func New(config kubeconfig.Config) (*Client, error) {
	pool, err := pki.Pool(config.CA)
	if err != nil {
		return nil, fmt.Errorf("Kubernetes client: authority: %w", err)
	}

	tlsConfig := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: pool, ServerName: config.TLSServerName}

	if len(config.Crt) > 0 {
		pair, err := (pki.Pair{Crt: config.Crt, Key: config.Key}).TLS()
		if err != nil {
			return nil, fmt.Errorf("Kubernetes client: %w", err)
		}

		tlsConfig.Certificates = []tls.Certificate{pair}
	}

	return &Client{
		server: strings.TrimSuffix(config.Server, "/"),
		token:  config.Token,
		// An API server sends nobody elsewhere, and nobody else gets its client's certificate.
		http: &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, Transport: &http.Transport{
			TLSClientConfig: tlsConfig, TLSHandshakeTimeout: 10 * time.Second, ForceAttemptHTTP2: true,
			MaxIdleConns: 2, IdleConnTimeout: 90 * time.Second,
		}},
		resources: map[string]map[string]Resource{},
	}, nil
}

// NewFromText connects by the text of a kubeconfig.
func NewFromText(text []byte) (*Client, error) {
	config, err := kubeconfig.Parse(text)
	if err != nil {
		return nil, err
	}

	return New(config)
}

// Close drops idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// StatusError is an answer that is not a success.
type StatusError struct {
	Method, Path string
	Code         int
	Reason       string
	Message      string
	Details      struct{ Causes []Cause }
}

// Cause is one of what an answer says was wrong.
type Cause struct{ Reason, Message, Field string }

// Error implements error.
func (e *StatusError) Error() string {
	return fmt.Sprintf("Kubernetes API: %s %s: %d %s: %s", e.Method, e.Path, e.Code, e.Reason, e.Message)
}

// IsNotFound tells that the object (or its type) does not exist.
func IsNotFound(err error) bool { return code(err) == http.StatusNotFound }

// IsConflict tells that the object has changed meanwhile, or exists already.
func IsConflict(err error) bool { return code(err) == http.StatusConflict }

// Conflicts returns the fields that an apply would have taken from other managers; none for an error of another kind.
func Conflicts(err error) []Cause {
	var status *StatusError
	if !errors.As(err, &status) {
		return nil
	}

	var out []Cause

	for _, cause := range status.Details.Causes {
		if cause.Reason == "FieldManagerConflict" {
			out = append(out, cause)
		}
	}

	return out
}

// IsForbidden tells that the caller may not do what it asked for.
func IsForbidden(err error) bool { return code(err) == http.StatusForbidden }

func code(err error) int {
	var status *StatusError
	if errors.As(err, &status) {
		return status.Code
	}

	return 0
}

// Get reads one object or a list.
func (c *Client) Get(ctx context.Context, path string) (Object, error) {
	return c.do(ctx, http.MethodGet, path, "", nil)
}

// Create posts an object to its collection.
func (c *Client) Create(ctx context.Context, path string, object Object) (Object, error) {
	return c.do(ctx, http.MethodPost, path, "application/json", object)
}

// Replace puts an object.
func (c *Client) Replace(ctx context.Context, path string, object Object) (Object, error) {
	return c.do(ctx, http.MethodPut, path, "application/json", object)
}

// ApplyUncontested is a server-side apply that takes no field from another manager: it fails, and Conflicts says which fields it was about.
func (c *Client) ApplyUncontested(ctx context.Context, path, manager string, object Object) (Object, error) {
	return c.do(ctx, http.MethodPatch, path+"?fieldManager="+url.QueryEscape(manager), "application/apply-patch+yaml", object)
}

// Delete deletes an object, and in the background what it owns, if it is the one with this UID.
func (c *Client) Delete(ctx context.Context, path, uid string) error {
	_, err := c.do(ctx, http.MethodDelete, path, "application/json", Object{
		"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background", "preconditions": Object{"uid": uid},
	})

	return err
}

// Apply is a server-side apply in the name of a field manager.
func (c *Client) Apply(ctx context.Context, path, manager string, object Object) (Object, error) {
	return c.do(ctx, http.MethodPatch, path+"?force=true&fieldManager="+url.QueryEscape(manager), "application/apply-patch+yaml", object)
}

// Ready returns nil when the API server says that it is ready: its roles and namespaces are there. Checks that are excluded
// (names as in /readyz?verbose) may still fail.
func (c *Client) Ready(ctx context.Context, exclude ...string) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()

	path := "/readyz"
	if len(exclude) > 0 {
		path += "?" + url.Values{"exclude": exclude}.Encode()
	}

	response, err := c.send(ctx, http.MethodGet, path, "", nil)
	if err != nil {
		return err
	}

	return response.Body.Close()
}

func (c *Client) do(ctx context.Context, method, path, contentType string, body Object) (Object, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()

	response, err := c.send(ctx, method, path, contentType, body)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()

	var out Object

	if err := json.NewDecoder(io.LimitReader(response.Body, maxAnswer)).Decode(&out); err != nil {
		return nil, fmt.Errorf("Kubernetes API: %s %s: answer: %w", method, path, err)
	}

	return out, nil
}

// send returns a successful response, or an error.
func (c *Client) send(ctx context.Context, method, path, contentType string, body Object) (*http.Response, error) {
	var reader io.Reader

	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, fmt.Errorf("Kubernetes API: %s %s: %w", method, path, err)
		}

		reader = bytes.NewReader(text)
	}

	request, err := http.NewRequestWithContext(ctx, method, c.server+path, reader)
	if err != nil {
		return nil, fmt.Errorf("Kubernetes API: %s %s: %w", method, path, err)
	}

	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", "talos")

	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}

	if c.token != "" {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}

	response, err := c.http.Do(request)
	if err != nil {
		return nil, fmt.Errorf("Kubernetes API: %w", err)
	}

	if response.StatusCode/100 == 2 {
		return response, nil
	}

	defer response.Body.Close()

	var status struct {
		Reason, Message string
		Details         struct{ Causes []Cause }
	}

	text, _ := io.ReadAll(io.LimitReader(response.Body, 1<<20)) // the code says enough
	if json.Unmarshal(text, &status) != nil {
		status.Message = strings.TrimSpace(string(text))
	}

	return nil, &StatusError{
		Method: method, Path: path, Code: response.StatusCode, Reason: status.Reason, Message: status.Message, Details: status.Details,
	}
}
