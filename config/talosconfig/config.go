// SPDX-License-Identifier: Apache-2.0

package talosconfig

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/seed-59268b81/talos/config/v1alpha1"
)

// Config is the content of a talosconfig file.
type Config struct {
	Context  string              `yaml:"context"`
	Contexts map[string]*Context `yaml:"contexts"`
}

// Context is one cluster and the client's identity there.
type Context struct {
	Target    string          `yaml:"target,omitempty"` // older name of a single endpoint
	Endpoints []string        `yaml:"endpoints"`
	Nodes     []string        `yaml:"nodes,omitempty"`
	CA        v1alpha1.Base64 `yaml:"ca,omitempty"`
	Crt       v1alpha1.Base64 `yaml:"crt,omitempty"`
	Key       v1alpha1.Base64 `yaml:"key,omitempty"`
	Auth      Auth            `yaml:"auth,omitempty"`
	Cluster   string          `yaml:"cluster,omitempty"`
	ProxyURL  string          `yaml:"proxy-url,omitempty"`
}

// Auth is an authentication other than by client certificate.
type Auth struct {
	Basic    *AuthBasic    `yaml:"basic,omitempty"`
	SideroV1 *AuthSideroV1 `yaml:"siderov1,omitempty"`
}

// AuthBasic has a name and a password, for proxies in front of the API.
type AuthBasic struct {
	Username string `yaml:"username"`
	Password string `yaml:"password"`
}

// AuthSideroV1 names a signing identity, for proxies in front of the API.
type AuthSideroV1 struct {
	Identity string `yaml:"identity"`
}

// New returns a Config with one context, which is the current one.
func New(name string, context *Context) *Config {
	return &Config{Context: name, Contexts: map[string]*Context{name: context}}
}

// Names returns the names of the contexts, sorted.
func (c *Config) Names() []string { return slices.Sorted(maps.Keys(c.Contexts)) }

// Find returns the named context, or the current one if name is empty.
func (c *Config) Find(name string) (*Context, error) {
	switch {
	case len(c.Contexts) == 0:
		return nil, fmt.Errorf("the talosconfig has no contexts: merge one with \"talosctl config merge FILE\"")
	case name == "" && c.Context == "":
		return nil, fmt.Errorf("the talosconfig has no current context: select one of %s with \"talosctl config context NAME\"", c.list())
	case name == "":
		name = c.Context
	}

	context := c.Contexts[name]
	if context == nil {
		return nil, fmt.Errorf("the talosconfig has no context %q: want one of %s", name, c.list())
	}

	return context, nil
}

func (c *Config) list() string {
	if len(c.Contexts) == 0 {
		return "none"
	}

	return strings.Join(c.Names(), ", ")
}

// Dial returns the endpoints of the context, or the older target if there are none.
func (c *Context) Dial() []string {
	if len(c.Endpoints) == 0 && c.Target != "" {
		return []string{c.Target}
	}

	return c.Endpoints
}
