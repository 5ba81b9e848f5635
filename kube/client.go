// SPDX-License-Identifier: Apache-2.0

// Package kube is a small client of the Kubernetes API over HTTP, for the controllers of a node, the health checks of a cluster and talosctl:
// get, list, watch, apply, patch and delete, and operations on nodes and pods (cordon, evict, drain). Objects are maps, or values of the
// caller with the fields that it reads.
//
// client-go was rejected for its size. Its dynamic client, with discovery and kubeconfigs, adds some ten megabytes to a program whose budget
// is thirty, for a handful of requests. Its typed clients and kubectl's drain add the types of every API.
package kube

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/seed-59268b81/talos/kube/kubeconfig"
	"github.com/seed-59268b81/talos/pki"
)

const (
	// requestTimeout is the timeout of every request but a watch.
	requestTimeout = 30 * time.Second
	// maxAnswer is the size limit of an answer.
	maxAnswer = 64 << 20
)

const (
	jsonContent  = "application/json"
	mergeContent = "application/merge-patch+json"
	applyContent = "application/apply-patch+yaml"
)

// Client talks to one API server.
type Client struct {
	server string
	token  string
	http   *http.Client

	mu        sync.Mutex
	resources map[string]map[string]Resource // group version → kind → resource
}

// New returns a client for a kubeconfig.
func New(config kubeconfig.Config) (*Client, error) {
	pool, err := pki.Pool(config.CA)
	if err != nil {
		return nil, fmt.Errorf("Kubernetes client: authority: %w", err)
	}

	transport := &http.Transport{
		TLSClientConfig:     &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: pool, ServerName: config.TLSServerName},
		TLSHandshakeTimeout: 10 * time.Second, ForceAttemptHTTP2: true, MaxIdleConns: 2, IdleConnTimeout: 90 * time.Second,
		// As in client-go: a dead connection is found long before TCP times out.
		HTTP2: &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second},
	}

	if len(config.Crt) > 0 {
		pair, err := (pki.Pair{Crt: config.Crt, Key: config.Key}).TLS()
		if err != nil {
			return nil, fmt.Errorf("Kubernetes client: %w", err)
		}

		transport.TLSClientConfig.Certificates = []tls.Certificate{pair}
	}

	if config.ProxyURL != "" {
		proxy, err := url.Parse(config.ProxyURL)
		if err != nil {
			return nil, fmt.Errorf("Kubernetes client: proxy: %w", err)
		}

		transport.Proxy = http.ProxyURL(proxy)
	}

	return &Client{
		server: strings.TrimSuffix(config.Server, "/"),
		token:  config.Token,
		// An API server does not redirect, and another server must not get the client's certificate.
		http: &http.Client{
			Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		resources: map[string]map[string]Resource{},
	}, nil
}

// NewFromText returns a client for the text of a kubeconfig.
func NewFromText(text []byte) (*Client, error) {
	config, err := kubeconfig.Parse(text)
	if err != nil {
		return nil, err
	}

	return New(config)
}

// Close drops idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Get reads one object or a list.
func (c *Client) Get(ctx context.Context, path string) (Object, error) {
	return c.object(ctx, http.MethodGet, path, "", nil)
}

// Find decodes one object or a list into a value, and reports whether it exists.
func (c *Client) Find(ctx context.Context, path string, into any) (found bool, err error) {
	err = c.do(ctx, http.MethodGet, path, "", nil, into)
	if IsNotFound(err) {
		return false, nil
	}

	return err == nil, err
}

// Create posts an object to its collection.
func (c *Client) Create(ctx context.Context, path string, object Object) (Object, error) {
	return c.object(ctx, http.MethodPost, path, jsonContent, object)
}

// Replace puts an object.
func (c *Client) Replace(ctx context.Context, path string, object Object) (Object, error) {
	return c.object(ctx, http.MethodPut, path, jsonContent, object)
}

// Apply is a server-side apply in the name of a field manager.
func (c *Client) Apply(ctx context.Context, path, manager string, object Object) (Object, error) {
	return c.object(ctx, http.MethodPatch, path+"?force=true&fieldManager="+url.QueryEscape(manager), applyContent, object)
}

// ApplyUncontested is a server-side apply that fails when it would change fields of another manager. Conflicts returns these fields.
func (c *Client) ApplyUncontested(ctx context.Context, path, manager string, object Object) (Object, error) {
	return c.object(ctx, http.MethodPatch, path+"?fieldManager="+url.QueryEscape(manager), applyContent, object)
}

// Merge changes some fields of an object.
func (c *Client) Merge(ctx context.Context, path string, fields Object) error {
	return c.do(ctx, http.MethodPatch, path, mergeContent, fields, nil)
}

// Delete deletes the object with this UID, and in the background the objects that it owns.
func (c *Client) Delete(ctx context.Context, path, uid string) error {
	return c.do(ctx, http.MethodDelete, path, jsonContent, Object{
		"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background", "preconditions": Object{"uid": uid},
	}, nil)
}

// Ready returns nil when the API server reports that it is ready: its roles and namespaces exist. Excluded checks (names as in /readyz?verbose)
// may fail.
func (c *Client) Ready(ctx context.Context, exclude ...string) error {
	path := "/readyz"
	if len(exclude) > 0 {
		path += "?" + url.Values{"exclude": exclude}.Encode()
	}

	return c.do(ctx, http.MethodGet, path, "", nil, nil)
}

func (c *Client) object(ctx context.Context, method, path, contentType string, body any) (Object, error) {
	var out Object

	err := c.do(ctx, method, path, contentType, body, &out)

	return out, err
}

// do sends a request, with body as JSON unless it is nil, and decodes the answer into a value unless that is nil.
func (c *Client) do(ctx context.Context, method, path, contentType string, body, answer any) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()

	response, err := c.send(ctx, method, path, contentType, body)
	if err != nil {
		return err
	}
	defer response.Body.Close()

	if answer == nil {
		return nil
	}

	if err := json.NewDecoder(io.LimitReader(response.Body, maxAnswer)).Decode(answer); err != nil {
		return fmt.Errorf("Kubernetes API: %s %s: answer: %w", method, path, err)
	}

	return nil
}

// send returns a successful response, or an error.
func (c *Client) send(ctx context.Context, method, path, contentType string, body any) (*http.Response, error) {
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

	request.Header.Set("Accept", jsonContent)
	request.Header.Set("User-Agent", "talos")

	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}

	if c.token != "" {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}

	response, err := c.http.Do(request)
	if err != nil {
		return nil, fmt.Errorf("Kubernetes API: %w", err) // which has the method and the URL
	}

	if response.StatusCode/100 == 2 {
		return response, nil
	}

	defer response.Body.Close()

	return nil, fmt.Errorf("Kubernetes API: %s %s: %w", method, path, statusOf(response))
}
