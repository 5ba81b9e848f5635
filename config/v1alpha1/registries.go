// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"encoding/base64"
	"strings"
)

// RegistriesConfig configures the registries of container images.
type RegistriesConfig struct {
	Mirrors map[string]RegistryMirror `yaml:"mirrors,omitempty"`
	Config  map[string]RegistryAccess `yaml:"config,omitempty"`
}

// RegistryMirror lists the endpoints that replace a registry host ("*": every host).
type RegistryMirror struct {
	Endpoints    []string `yaml:"endpoints"`
	OverridePath *bool    `yaml:"overridePath,omitempty"`
	SkipFallback *bool    `yaml:"skipFallback,omitempty"`

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
	TLS  *RegistryTLS  `yaml:"tls,omitempty"`
	Auth *RegistryAuth `yaml:"auth,omitempty"`
}

// RegistryTLS configures TLS for a registry.
type RegistryTLS struct {
	ClientIdentity     *CertPair `yaml:"clientIdentity,omitempty"`
	CA                 Base64    `yaml:"ca,omitempty"`
	InsecureSkipVerify *bool     `yaml:"insecureSkipVerify,omitempty"`
}

// RegistryAuth has the credentials for a registry.
type RegistryAuth struct {
	Username      string `yaml:"username,omitempty"`
	Password      string `yaml:"password,omitempty"`
	Auth          string `yaml:"auth,omitempty"`
	IdentityToken string `yaml:"identityToken,omitempty"`
}

// Valid reports whether Auth is a user and a password with a colon between, in base64, if it is set.
func (a *RegistryAuth) Valid() bool {
	decoded, err := base64.StdEncoding.DecodeString(a.Auth)

	return a.Auth == "" || err == nil && strings.Contains(string(decoded), ":")
}
