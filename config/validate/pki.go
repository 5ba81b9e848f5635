// SPDX-License-Identifier: Apache-2.0

package validate

import (
	"fmt"
	"time"

	"github.com/seed-59268b81/talos/config/v1alpha1"
	"github.com/seed-59268b81/talos/pki"
)

func index(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }

// issuing checks an authority that signs certificates.
func (c *check) issuing(path string, ca v1alpha1.CertPair) {
	switch {
	case len(ca.Crt) == 0 && len(ca.Key) == 0:
		c.wrong(path, "is missing: a control plane machine signs certificates with it; copy it from another control plane machine, or from the secrets bundle (\"talosctl gen config --with-secrets FILE\")")
	case len(ca.Key) == 0:
		c.wrong(path+".key", "is missing: a control plane machine signs certificates with it; is this the configuration of a worker?")
	default:
		authority, err := pki.ParseCA(ca.Crt, ca.Key)
		if err != nil {
			c.wrong(path, "%s", err)

			return
		}

		c.lifetime(path+".crt", authority.Certificate.NotAfter)
	}
}

// trusted checks an authority that does not sign.
func (c *check) trusted(path string, crt []byte) {
	if len(crt) == 0 {
		c.wrong(path, "is missing: the machine needs it to recognize its cluster; copy it from another machine of the cluster")

		return
	}

	c.certificate(path, crt)
}

func (c *check) certificate(path string, crt []byte) {
	certs, err := pki.ParseCertificates(crt)
	if err != nil {
		c.wrong(path, "%s", err)

		return
	}

	for _, cert := range certs {
		c.lifetime(path, cert.NotAfter)
	}
}

// lifetime warns about an expired authority. It is not an error, since the local clock may be wrong.
func (c *check) lifetime(path string, end time.Time) {
	if time.Now().After(end) {
		c.warn(path, "the certificate expired at %s", end.Format(time.RFC3339))
	}
}

func (c *check) accepted(path string, list []v1alpha1.Cert) {
	for i, cert := range list {
		c.trusted(index(path, i)+".crt", cert.Crt)
	}
}
