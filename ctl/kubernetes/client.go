// SPDX-License-Identifier: Apache-2.0

// Package kubernetes is what talosctl asks of a Kubernetes API by itself: the nodes, and to take the pods off one.
//
// client-go's typed clients and kubectl's drain were rejected for their weight: with the types of every API they add
// some ten megabytes to a client that may have forty. What is used of client-go is the way to the server.
package kubernetes

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

const (
	// requestTimeout bounds one request.
	requestTimeout = 30 * time.Second
	// maxAnswer bounds what is read of one answer.
	maxAnswer = 64 << 20
)

// Client talks to one API server.
type Client struct {
	server string
	http   *http.Client
}

// New takes the way to the server from the kubeconfig's current context.
func New(config *api.Config) (*Client, error) {
	way, err := clientcmd.NewDefaultClientConfig(*config, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("use the kubeconfig: %w", err)
	}

	transport, err := rest.HTTPClientFor(way)
	if err != nil {
		return nil, fmt.Errorf("use the kubeconfig: %w", err)
	}

	return &Client{server: way.Host, http: transport}, nil
}

// Close drops idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// statusError is an answer that is not a success.
type statusError struct {
	code    int
	message string
}

// Error implements error.
func (e *statusError) Error() string { return fmt.Sprintf("%d: %s", e.code, e.message) }

// statusOf is the status that the server answered with, 0 where it did not.
func statusOf(err error) int {
	var status *statusError

	if errors.As(err, &status) {
		return status.code
	}

	return 0
}

// Get reads the object at a path into a value, or tells that there is none.
func (c *Client) Get(ctx context.Context, path string, into any) (found bool, err error) {
	err = c.do(ctx, http.MethodGet, path, "", nil, into)

	switch {
	case statusOf(err) == http.StatusNotFound:
		return false, nil
	case err != nil:
		return false, fmt.Errorf("GET %s: %w", path, err)
	default:
		return true, nil
	}
}

// do sends a request, whose content is JSON unless there is none, and reads the answer into a value unless there is none.
func (c *Client) do(ctx context.Context, method, path, contentType string, content, answer any) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()

	var body io.Reader

	if content != nil {
		text, err := json.Marshal(content)
		if err != nil {
			return err
		}

		body = bytes.NewReader(text)
	}

	request, err := http.NewRequestWithContext(ctx, method, c.server+path, body)
	if err != nil {
		return err
	}

	request.Header.Set("Accept", "application/json")

	if content != nil {
		request.Header.Set("Content-Type", contentType)
	}

	response, err := c.http.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()

	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return err
	}

	if response.StatusCode/100 != 2 {
		return failure(response.StatusCode, text)
	}

	if answer == nil {
		return nil
	}

	if err := json.Unmarshal(text, answer); err != nil {
		return fmt.Errorf("answer: %w", err)
	}

	return nil
}

// failure reads the Status that a Kubernetes API answers with, or whatever else came from what is in between.
func failure(code int, text []byte) error {
	var status struct {
		Message string `json:"message"`
		Details struct {
			Causes []struct {
				Message string `json:"message"`
			} `json:"causes"`
		} `json:"details"`
	}

	if json.Unmarshal(text, &status) != nil || status.Message == "" {
		return &statusError{code: code, message: fmt.Sprintf("%.200s", bytes.TrimSpace(text))}
	}

	for _, cause := range status.Details.Causes {
		status.Message += " " + cause.Message
	}

	return &statusError{code: code, message: status.Message}
}
