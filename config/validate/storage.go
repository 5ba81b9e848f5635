// SPDX-License-Identifier: Apache-2.0

package validate

import (
	"crypto/tls"
	"net/url"
	"strings"

	"github.com/seed-59268b81/talos/config/strict"
	"github.com/seed-59268b81/talos/config/v1alpha1"
)

func (c *check) registries(r *v1alpha1.RegistriesConfig) {
	for host, mirror := range r.Mirrors {
		at := strict.Join("machine.registries.mirrors", host)
		c.registryHost(at, host)

		for i, endpoint := range mirror.Endpoints {
			if u, err := url.Parse(endpoint); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
				c.wrong(index(at+".endpoints", i), "%q is not a registry: want http(s)://HOST[:PORT]", endpoint)
			}
		}
	}

	for host, access := range r.Config {
		at := strict.Join("machine.registries.config", host)

		c.registryHost(at, host)

		if host == "*" && access.Auth != nil {
			c.wrong(at+".auth", "\"*\" is not the host of a registry: credentials are for one host each, such as registry.example.com:5000")
		}

		if access.TLS != nil && len(access.TLS.CA) > 0 {
			c.certificate(at+".tls.ca", access.TLS.CA)
		}

		if access.TLS != nil && access.TLS.ClientIdentity != nil {
			id := access.TLS.ClientIdentity
			if _, err := tls.X509KeyPair(id.Crt, id.Key); err != nil {
				c.wrong(at+".tls.clientIdentity", "is not a certificate and its key: %v", err)
			}
		}

		if access.Auth != nil && !access.Auth.Valid() {
			c.wrong(at+".auth.auth", "is not USER:PASSWORD in base64")
		}
	}
}

// registryHost warns about settings of a registry that no image can be from.
func (c *check) registryHost(at, host string) {
	if host == "" || host == "." || host == ".." || strings.Contains(host, "/") {
		c.warn(at, "has no effect: %q is not the host of a registry, such as registry.example.com:5000", host)
	}
}

func (c *check) encryption(at string, e *v1alpha1.Encryption) {
	if e == nil {
		return
	}

	if e.Provider != "luks2" {
		c.wrong(at+".provider", "unknown provider %q: want luks2", e.Provider)
	}

	if len(e.Keys) == 0 {
		c.wrong(at+".keys", "is empty: want at least one key")
	}

	slots := map[int]bool{}

	for i, key := range e.Keys {
		keyAt := index(at+".keys", i)
		sources := 0

		for _, set := range []bool{key.Static != nil, key.NodeID != nil, key.KMS != nil, key.TPM != nil} {
			if set {
				sources++
			}
		}

		if sources != 1 {
			c.wrong(keyAt, "has %d sources: want exactly one of static, nodeID, kms, tpm", sources)
		}

		if key.Static != nil && key.Static.Passphrase == "" {
			c.wrong(keyAt+".static.passphrase", "is missing")
		}

		if slots[key.Slot] {
			c.wrong(keyAt+".slot", "%d: duplicate", key.Slot)
		}

		slots[key.Slot] = true
	}
}
