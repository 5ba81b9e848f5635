// SPDX-License-Identifier: Apache-2.0

// Package kubeconfig writes kubeconfig files: for the control plane's own clients, for the kubelet's first
// contact, and for the administrator. The text is made from plain structs, so that nothing here links
// client-go's configuration machinery.
package kubeconfig

import (
	"encoding/base64"
	"errors"
	"fmt"

	"go.yaml.in/yaml/v4"
)

// Config says what a kubeconfig is to hold: one cluster, one user, one context.
type Config struct {
	Cluster string
	User    string
	// Context defaults to user@cluster.
	Context string
	// Namespace of the context; default when empty.
	Namespace string

	Server string
	// TLSServerName verifies the server by another name than Server's host.
	TLSServerName string
	CA            []byte // PEM

	// Either Token, or Crt and Key (PEM).
	Token    string
	Crt, Key []byte
}

type file struct {
	APIVersion     string         `yaml:"apiVersion"`
	Kind           string         `yaml:"kind"`
	Clusters       []namedCluster `yaml:"clusters"`
	Users          []namedUser    `yaml:"users"`
	Contexts       []namedContext `yaml:"contexts"`
	CurrentContext string         `yaml:"current-context"`
}

type namedCluster struct {
	Name    string  `yaml:"name"`
	Cluster cluster `yaml:"cluster"`
}

type namedUser struct {
	Name string `yaml:"name"`
	User user   `yaml:"user"`
}

type namedContext struct {
	Name    string         `yaml:"name"`
	Context contextOptions `yaml:"context"`
}

type cluster struct {
	Server        string `yaml:"server"`
	CA            string `yaml:"certificate-authority-data"`
	TLSServerName string `yaml:"tls-server-name,omitempty"`
}

type user struct {
	Crt   string `yaml:"client-certificate-data,omitempty"`
	Key   string `yaml:"client-key-data,omitempty"`
	Token string `yaml:"token,omitempty"`
}

type contextOptions struct {
	Cluster   string `yaml:"cluster"`
	Namespace string `yaml:"namespace"`
	User      string `yaml:"user"`
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

	return yaml.Marshal(file{
		APIVersion: "v1",
		Kind:       "Config",
		Clusters: []namedCluster{{
			Name:    c.Cluster,
			Cluster: cluster{Server: c.Server, CA: base64.StdEncoding.EncodeToString(c.CA), TLSServerName: c.TLSServerName},
		}},
		Users: []namedUser{{
			Name: c.User,
			User: user{
				Crt:   base64.StdEncoding.EncodeToString(c.Crt),
				Key:   base64.StdEncoding.EncodeToString(c.Key),
				Token: c.Token,
			},
		}},
		Contexts: []namedContext{{
			Name:    c.Context,
			Context: contextOptions{Cluster: c.Cluster, Namespace: c.Namespace, User: c.User},
		}},
		CurrentContext: c.Context,
	})
}
