// SPDX-License-Identifier: Apache-2.0

// Package kubeconfig reads, writes and merges kubeconfig files: those of the control plane's own clients, the kubelet's and the
// administrator's, and the one that a user of talosctl already has.
//
// A Config is the part of such a file that one client needs: its current context. A File is the whole file, for merging. Unknown fields
// (users who log in with a program, extensions) are kept; comments are lost, as with kubectl. client-go's configuration packages were
// rejected for their size.
package kubeconfig

import (
	"encoding/base64"
	"errors"
	"fmt"
	"os"

	"go.yaml.in/yaml/v4"
)

// Config is the content of a kubeconfig with one cluster, one user and one context.
type Config struct {
	Cluster string
	User    string
	// Context defaults to user@cluster.
	Context string
	// Namespace of the context; default when empty.
	Namespace string

	Server string
	// TLSServerName is the name by which the server is verified, if it is not Server's host.
	TLSServerName string
	// ProxyURL is the proxy for connections to the server; empty for none.
	ProxyURL string
	CA       []byte // PEM

	// Either Token, or Crt and Key (PEM).
	Token    string
	Crt, Key []byte
}

// Render returns the YAML text.
func Render(c Config) ([]byte, error) {
	switch {
	case c.Cluster == "" || c.User == "" || c.Server == "":
		return nil, fmt.Errorf("kubeconfig: cluster %q, user %q and server %q must all be set", c.Cluster, c.User, c.Server)
	case len(c.CA) == 0:
		return nil, errors.New("kubeconfig: the authority of the API server is missing")
	case c.Token == "" && (len(c.Crt) == 0 || len(c.Key) == 0):
		return nil, errors.New("kubeconfig: neither a token nor a client certificate with its key is given")
	}

	if c.Context == "" {
		c.Context = c.User + "@" + c.Cluster
	}

	if c.Namespace == "" {
		c.Namespace = "default"
	}

	return yaml.Marshal(&File{
		APIVersion: apiVersion, Kind: kind,
		Clusters: []Entry{{Name: c.Cluster, Cluster: &Cluster{
			Server: c.Server, CA: base64.StdEncoding.EncodeToString(c.CA), TLSServerName: c.TLSServerName, ProxyURL: c.ProxyURL,
		}}},
		Users: []Entry{{Name: c.User, User: &User{
			Crt: base64.StdEncoding.EncodeToString(c.Crt), Key: base64.StdEncoding.EncodeToString(c.Key), Token: c.Token,
		}}},
		Contexts:       []Entry{{Name: c.Context, Context: &Context{Cluster: c.Cluster, Namespace: c.Namespace, User: c.User}}},
		CurrentContext: c.Context,
	})
}

// Parse reads the current context of a kubeconfig, with the files of certificates and keys that it names.
func Parse(text []byte) (Config, error) {
	f, err := ParseFile(text)
	if err != nil {
		return Config{}, err
	}

	return f.Config()
}

// Config returns the current context of the file.
func (f *File) Config() (Config, error) {
	out := Config{Context: f.CurrentContext}

	if e := find(f.Contexts, f.CurrentContext); e != nil && e.Context != nil {
		out.Cluster, out.User, out.Namespace = e.Context.Cluster, e.Context.User, e.Context.Namespace
	}

	var err error

	if e := find(f.Clusters, out.Cluster); e != nil && e.Cluster != nil {
		out.Server, out.TLSServerName, out.ProxyURL = e.Cluster.Server, e.Cluster.TLSServerName, e.Cluster.ProxyURL

		if out.CA, err = inlineOrFile(e.Cluster.CA, e.Cluster.CAFile); err != nil {
			return Config{}, fmt.Errorf("kubeconfig: authority: %w", err)
		}
	}

	if e := find(f.Users, out.User); e != nil && e.User != nil {
		out.Token = e.User.Token

		if out.Crt, err = inlineOrFile(e.User.Crt, e.User.CrtFile); err != nil {
			return Config{}, fmt.Errorf("kubeconfig: client certificate: %w", err)
		}

		if out.Key, err = inlineOrFile(e.User.Key, e.User.KeyFile); err != nil {
			return Config{}, fmt.Errorf("kubeconfig: client key: %w", err)
		}
	}

	if out.Server == "" {
		return Config{}, errors.New("kubeconfig: the current context names no cluster with a server")
	}

	return out, nil
}

func inlineOrFile(inline, file string) ([]byte, error) {
	if inline != "" || file == "" {
		return base64.StdEncoding.DecodeString(inline)
	}

	return os.ReadFile(file)
}
