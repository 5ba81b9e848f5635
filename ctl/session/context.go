// SPDX-License-Identifier: Apache-2.0

package session

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"

	"github.com/seed-59268b81/talos/config/talosconfig"
)

// identity returns the client certificate for a machine that has lost its configuration, if there is a client configuration. Most
// machines in maintenance never had a configuration, and the user who sets up a first cluster has no certificate.
func (s *Session) identity() (crt, key []byte, ok bool) {
	config, _, err := s.load()
	if err != nil {
		return nil, nil, false
	}

	context, err := config.Find(s.context)
	if err != nil {
		return nil, nil, false
	}

	_, err = tls.X509KeyPair(context.Crt, context.Key)

	return context.Crt, context.Key, err == nil
}

// load reads the client configuration.
func (s *Session) load() (config *talosconfig.Config, path string, err error) {
	if path, err = talosconfig.Path(s.talosconfig); err != nil {
		return nil, "", err
	}

	config, err = talosconfig.Load(path)

	return config, path, err
}

// Configured returns the context of the client configuration, with the values of the flags in place of its own.
func (s *Session) Configured() (*talosconfig.Context, error) {
	context, _, err := s.ConfiguredContext()

	return context, err
}

// ConfiguredContext is Configured, and returns the name of the context too.
func (s *Session) ConfiguredContext() (*talosconfig.Context, string, error) {
	config, path, err := s.load()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "", fmt.Errorf("%w: name one with --talosconfig, or --insecure for a machine in maintenance", err)
	}

	if err != nil {
		return nil, "", err
	}

	context, err := config.Find(s.context)
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", path, err)
	}

	if len(s.endpoints) > 0 {
		context.Endpoints = s.endpoints
	}

	if len(s.nodes) > 0 {
		context.Nodes = s.nodes
	}

	if len(context.Dial()) == 0 {
		return nil, "", fmt.Errorf("%s: the context has no endpoints: set them with talosctl config endpoint ADDRESS, or name one with --endpoints", path)
	}

	return context, cmp.Or(s.context, config.Context), nil
}
