// SPDX-License-Identifier: Apache-2.0

package kubeconfig

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"go.yaml.in/yaml/v4"

	"github.com/seed-59268b81/talos/durable"
)

const (
	apiVersion = "v1"
	kind       = "Config"
)

// File is a kubeconfig. Rest, here and below, has the unknown fields, which are kept.
type File struct {
	APIVersion     string         `yaml:"apiVersion"`
	Kind           string         `yaml:"kind"`
	Clusters       []Entry        `yaml:"clusters"`
	Users          []Entry        `yaml:"users"`
	Contexts       []Entry        `yaml:"contexts"`
	CurrentContext string         `yaml:"current-context"`
	Rest           map[string]any `yaml:",inline"`
}

// Entry is a named cluster, user or context, depending on its list.
type Entry struct {
	Name    string   `yaml:"name"`
	Cluster *Cluster `yaml:"cluster,omitempty"`
	User    *User    `yaml:"user,omitempty"`
	Context *Context `yaml:"context,omitempty"`
}

// Cluster is how to connect to an API server. Keys and certificates, here and in User, are PEM in base64.
type Cluster struct {
	Server        string         `yaml:"server"`
	CA            string         `yaml:"certificate-authority-data,omitempty"`
	CAFile        string         `yaml:"certificate-authority,omitempty"`
	TLSServerName string         `yaml:"tls-server-name,omitempty"`
	ProxyURL      string         `yaml:"proxy-url,omitempty"`
	Rest          map[string]any `yaml:",inline"`
}

// User is how a client authenticates.
type User struct {
	Crt     string         `yaml:"client-certificate-data,omitempty"`
	CrtFile string         `yaml:"client-certificate,omitempty"`
	Key     string         `yaml:"client-key-data,omitempty"`
	KeyFile string         `yaml:"client-key,omitempty"`
	Token   string         `yaml:"token,omitempty"`
	Rest    map[string]any `yaml:",inline"`
}

// Context combines a cluster and a user.
type Context struct {
	Cluster   string         `yaml:"cluster"`
	Namespace string         `yaml:"namespace,omitempty"`
	User      string         `yaml:"user"`
	Rest      map[string]any `yaml:",inline"`
}

// find returns the entry of a name, nil for none.
func find(entries []Entry, name string) *Entry {
	if i := slices.IndexFunc(entries, func(e Entry) bool { return e.Name == name }); i >= 0 {
		return &entries[i]
	}

	return nil
}

// SetServer sets the URL of all clusters of the file.
func (f *File) SetServer(url string) {
	for _, e := range f.Clusters {
		if e.Cluster != nil {
			e.Cluster.Server = url
		}
	}
}

// SetTLSServerName changes the name by which all servers are verified, and reports whether that changed one.
func (f *File) SetTLSServerName(name string) (changed bool) {
	for _, e := range f.Clusters {
		if e.Cluster != nil && e.Cluster.TLSServerName != name {
			e.Cluster.TLSServerName, changed = name, true
		}
	}

	return changed
}

// ParseFile decodes a kubeconfig, YAML or JSON. Without text the file is empty.
func ParseFile(text []byte) (*File, error) {
	var f File

	if len(text) > 0 {
		if err := yaml.Load(text, &f); err != nil {
			return nil, fmt.Errorf("kubeconfig: %w", err)
		}
	}

	if f.Kind != "" && f.Kind != kind || f.APIVersion != "" && f.APIVersion != apiVersion {
		return nil, fmt.Errorf("kubeconfig: kind %s of %s, want %s of %s", f.Kind, f.APIVersion, kind, apiVersion)
	}

	return &f, nil
}

// Read reads a kubeconfig file. A missing file is empty.
func Read(path string) (*File, error) {
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read kubeconfig: %w", err)
	}

	f, err := ParseFile(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}

	return f, nil
}

// Write replaces the file in one step. Only its owner may read it, since it has keys.
func Write(path string, f *File) error {
	f.APIVersion, f.Kind = apiVersion, kind

	content, err := yaml.Dump(f, yaml.WithV4Defaults()) // indents as kubectl does
	if err != nil {
		return fmt.Errorf("encode kubeconfig: %w", err)
	}

	return WriteContent(path, content)
}

// WriteContent is Write for an encoded kubeconfig.
func WriteContent(path string, content []byte) error {
	path = durable.Target(path)

	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("write kubeconfig: %w", err)
	}

	if err := durable.Write(path, content, 0o600); err != nil {
		return fmt.Errorf("write kubeconfig: %w", err)
	}

	return nil
}
