// SPDX-License-Identifier: Apache-2.0

package cri

import (
	cryptotls "crypto/tls"
	"maps"
	"strings"

	"github.com/seed-59268b81/talos/config/document"
	"github.com/seed-59268b81/talos/config/v1alpha1"
	"github.com/seed-59268b81/talos/config/value"
)

// RegistryMirrorConfig has the images of a registry pulled from elsewhere. Its name is the host of the registry, with its port if it has
// one, or * for all registries without a document of their own.
type RegistryMirrorConfig struct {
	document.Named `yaml:",inline"`
	// Where images are pulled from, in this order, before the registry itself.
	Endpoints []MirrorEndpoint `yaml:"endpoints,omitempty"`
	// Whether images are not pulled from the registry itself when no endpoint has them.
	SkipFallback bool `yaml:"skipFallback,omitempty" like:"machine.registries.mirrors.skipFallback"`
}

// MirrorEndpoint is where images are pulled from.
type MirrorEndpoint struct {
	// The URL.
	URL value.URL `yaml:"url" required:"true" like:"machine.registries.mirrors.endpoints"`
	// Whether the path of the URL takes the place of /v2, instead of coming before it.
	OverridePath bool `yaml:"overridePath,omitempty" like:"machine.registries.mirrors.overridePath"`
}

var mirror = document.Of[RegistryMirrorConfig]("RegistryMirrorConfig", `apiVersion: v1alpha1
kind: RegistryMirrorConfig
name: registry.k8s.io
endpoints:
    - url: https://mirror.example.com/v2/registry.k8s.io
      overridePath: true
skipFallback: true
`)

// RegistryAuthConfig has what a registry is logged in to with. Its name is the host that answers, that of the mirror for a mirror, with its port if
// it has one. Pods with a pull secret use that one instead.
type RegistryAuthConfig struct {
	document.Named `yaml:",inline"`
	// The user.
	Username string `yaml:"username,omitempty" like:"machine.registries.config.auth.username"`
	// The password.
	Password string `yaml:"password,omitempty" like:"machine.registries.config.auth.password"`
	// User and password with a colon between, in base64.
	Auth string `yaml:"auth,omitempty" like:"machine.registries.config.auth.auth"`
	// A token of OAuth 2.
	IdentityToken string `yaml:"identityToken,omitempty" like:"machine.registries.config.auth.identityToken"`
}

var auth = document.Of[RegistryAuthConfig]("RegistryAuthConfig", `apiVersion: v1alpha1
kind: RegistryAuthConfig
name: registry.example.com
username: talos
password: secret
`)

// RegistryTLSConfig has what a registry proves itself by, and the machine to it. Its name is the host of the registry, with its port if
// it has one, or * for all hosts without such a document.
type RegistryTLSConfig struct {
	document.Named `yaml:",inline"`
	// What the machine proves itself by.
	ClientIdentity *value.CertificateAndKey `yaml:"clientIdentity,omitempty" like:"machine.registries.config.tls.clientIdentity"`
	// The authorities that the registry's certificate may be from, in PEM, beside those of the system.
	CA value.Certificates `yaml:"ca,omitempty" like:"machine.registries.config.tls.ca"`
	// Whether the registry's certificate is not checked.
	InsecureSkipVerify bool `yaml:"insecureSkipVerify,omitempty" like:"machine.registries.config.tls.insecureSkipVerify"`
}

var tls = document.Of[RegistryTLSConfig]("RegistryTLSConfig", `apiVersion: v1alpha1
kind: RegistryTLSConfig
name: registry.example.com
insecureSkipVerify: true
`)

// Validate implements document.Validator.
func (c *RegistryMirrorConfig) Validate(r *document.Report) {
	registry(r, c.DocName)

	if len(c.Endpoints) == 0 && !c.SkipFallback {
		r.Wrong("endpoints", "is missing: the document says nothing")
	}
}

// Validate implements document.Validator.
func (c *RegistryAuthConfig) Validate(r *document.Report) {
	registry(r, c.DocName)
	oneRegistry(r, c.DocName)

	if auth := (v1alpha1.RegistryAuth{Auth: c.Auth}); !auth.Valid() {
		r.Wrong("auth", "is not USER:PASSWORD in base64")
	}

	switch {
	case c.Username == "" && c.Password == "" && c.Auth == "" && c.IdentityToken == "":
		r.Wrong("", "says nothing: set username and password, auth, or identityToken")
	case (c.Username == "") != (c.Password == ""):
		r.Wrong("username", "username and password go together")
	}
}

// Validate implements document.Validator.
func (c *RegistryTLSConfig) Validate(r *document.Report) {
	registry(r, c.DocName)

	if id := c.ClientIdentity; id != nil && id.Cert != "" && id.Key != "" {
		if _, err := cryptotls.X509KeyPair([]byte(id.Cert), []byte(id.Key)); err != nil {
			r.Wrong("clientIdentity", "is not a certificate and its key: %v", err)
		}
	}

	if c.ClientIdentity == nil && c.CA == "" && !c.InsecureSkipVerify {
		r.Wrong("", "says nothing: set clientIdentity, ca or insecureSkipVerify")
	}
}

// registry checks the name of a document that is the host of a registry.
func registry(r *document.Report, name string) {
	host := value.Endpoint(name)
	if name == "*" || name == "" {
		return
	}

	if err := host.UnmarshalText([]byte(name)); err != nil && !value.IsDNSName(name) || strings.Contains(name, "/") {
		r.Wrong("name", "%q is not the host of a registry: want a name or an address, with a port if need be, such as registry.example.com:5000", name)
	}
}

// oneRegistry refuses credentials for all registries: one could be sent those that another one is to have.
func oneRegistry(r *document.Report, name string) {
	if name == "*" {
		r.Wrong("name", "* is not for credentials: they are for one registry each, such as registry.example.com:5000")
	}
}

// ImageCacheConfig has images pulled from the machine's own disk first, as they are without this document too, or not from there at all.
type ImageCacheConfig struct {
	document.Header `yaml:",inline"`
	// The cache on the disk.
	Local LocalCache `yaml:"local,omitempty"`
}

// LocalCache is a cache on the machine's own disk.
type LocalCache struct {
	// Whether it is used; it is without a value.
	Enabled *bool `yaml:"enabled,omitempty" maps:"machine.features.imageCache.localEnabled"`
}

var imageCache = document.Of[ImageCacheConfig]("ImageCacheConfig", `apiVersion: v1alpha1
kind: ImageCacheConfig
local:
    enabled: true
`)

// Overlay implements overlay.Overlayer.
func (c *RegistryMirrorConfig) Overlay(main *v1alpha1.Config) {
	m := v1alpha1.RegistryMirror{}
	if c.SkipFallback {
		m.SkipFallback = new(true)
	}

	for _, e := range c.Endpoints {
		m.AddEndpoint(e.URL.String(), e.OverridePath)
	}

	mirrors := &main.Machine.Registries.Mirrors
	*mirrors = with(*mirrors, c.DocName, m)
}

// Overlay implements overlay.Overlayer.
func (c *RegistryAuthConfig) Overlay(main *v1alpha1.Config) {
	access(main, c.DocName, func(a *v1alpha1.RegistryAccess) {
		a.Auth = &v1alpha1.RegistryAuth{Username: c.Username, Password: c.Password, Auth: c.Auth, IdentityToken: c.IdentityToken}
	})
}

// Overlay implements overlay.Overlayer.
func (c *RegistryTLSConfig) Overlay(main *v1alpha1.Config) {
	access(main, c.DocName, func(a *v1alpha1.RegistryAccess) {
		a.TLS = &v1alpha1.RegistryTLS{CA: v1alpha1.Base64(c.CA)}

		if c.InsecureSkipVerify {
			a.TLS.InsecureSkipVerify = new(true)
		}

		if id := c.ClientIdentity; id != nil {
			a.TLS.ClientIdentity = &v1alpha1.CertPair{Crt: v1alpha1.Base64(id.Cert), Key: v1alpha1.Base64(id.Key)}
		}
	})
}

// access changes how a registry is accessed.
func access(main *v1alpha1.Config, host string, edit func(*v1alpha1.RegistryAccess)) {
	registries := &main.Machine.Registries.Config
	a := (*registries)[host]
	edit(&a)
	*registries = with(*registries, host, a)
}

// with returns a copy of a map with one more entry.
func with[V any](m map[string]V, key string, value V) map[string]V {
	m = maps.Clone(m)
	if m == nil {
		m = map[string]V{}
	}

	m[key] = value

	return m
}
