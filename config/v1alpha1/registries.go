// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"encoding/base64"
	"strings"
)

// RegistriesConfig configures the registries of container images.
type RegistriesConfig struct {
	// Where the images of a registry are pulled from, by the host of the registry; * is for all others.
	Mirrors map[string]RegistryMirror `yaml:"mirrors,omitempty"`
	// How a registry is accessed, by its host.
	Config map[string]RegistryAccess `yaml:"config,omitempty"`
}

// RegistryMirror lists the endpoints that replace a registry host ("*": every host).
type RegistryMirror struct {
	// The URLs that images are pulled from, in this order, before the registry itself.
	Endpoints []string `yaml:"endpoints"`
	// Whether the path of a URL takes the place of /v2, instead of coming before it.
	OverridePath *bool `yaml:"overridePath,omitempty"`
	// Whether images are not pulled from the registry itself when no endpoint has them.
	SkipFallback *bool `yaml:"skipFallback,omitempty"`

	// overrides are the choices of a document for each endpoint.
	overrides []bool
}

// OverridesPath reports whether the path of an endpoint takes the place of /v2.
func (m *RegistryMirror) OverridesPath(endpoint int) bool {
	if endpoint < len(m.overrides) {
		return m.overrides[endpoint]
	}

	return IsTrue(m.OverridePath)
}

// AddEndpoint adds an endpoint that has a choice of its own.
func (m *RegistryMirror) AddEndpoint(url string, overridesPath bool) {
	m.Endpoints, m.overrides = append(m.Endpoints, url), append(m.overrides, overridesPath)
}

// RegistryAccess configures the connection to a registry host.
type RegistryAccess struct {
	// What the registry proves itself by, and the machine to it.
	TLS *RegistryTLS `yaml:"tls,omitempty"`
	// What the registry is logged in to with.
	Auth *RegistryAuth `yaml:"auth,omitempty"`
}

// RegistryTLS configures TLS for a registry.
type RegistryTLS struct {
	// What the machine proves itself by.
	ClientIdentity *CertPair `yaml:"clientIdentity,omitempty"`
	// The authorities that the registry's certificate may be from, beside those of the system.
	CA Base64 `yaml:"ca,omitempty"`
	// Whether the registry's certificate is not checked.
	InsecureSkipVerify *bool `yaml:"insecureSkipVerify,omitempty"`
}

// RegistryAuth has the credentials for a registry.
type RegistryAuth struct {
	// The user.
	Username string `yaml:"username,omitempty"`
	// The password.
	Password string `yaml:"password,omitempty"`
	// User and password with a colon between, in base64.
	Auth string `yaml:"auth,omitempty"`
	// A token of OAuth 2.
	IdentityToken string `yaml:"identityToken,omitempty"`
}

// Valid reports whether Auth is a user and a password with a colon between, in base64, if it is set.
func (a *RegistryAuth) Valid() bool {
	decoded, err := base64.StdEncoding.DecodeString(a.Auth)

	return a.Auth == "" || err == nil && strings.Contains(string(decoded), ":")
}
