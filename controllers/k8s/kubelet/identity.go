// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/seed-59268b81/talos/pki"
	"github.com/seed-59268b81/talos/resources/secrets"
)

// CurrentCert in PKIDir is the kubelet's client certificate and key, which it renews.
const CurrentCert = "kubelet-client-current.pem"

// nodePrefix is the prefix of the name of a Node's user.
const nodePrefix = "system:node:"

// StaleIdentity returns why the kubelet cannot use its certificate of an earlier run and must join again: the node has another name, or the
// cluster another authority that signs. It is empty when the certificate can be used, or there is none. dir is PKIDir. The kubelet itself handles a
// certificate that has expired.
func StaleIdentity(dir fs.FS, nodename string, join secrets.KubeletSpec) string {
	cert, stale := currentIdentity(dir, join)

	switch {
	case stale != "" || cert == nil:
		return stale
	case cert.Subject.CommonName != nodePrefix+nodename:
		return fmt.Sprintf("the certificate is that of %s, not %s", cert.Subject.CommonName, nodePrefix+nodename)
	case Authority(cert, join) != Issuing(join):
		return "the cluster has another authority now, and accepts that of the certificate for a while only"
	default:
		return ""
	}
}

// Issuing returns the fingerprint of the authority that signs the certificates of kubelets now: the first that is accepted.
func Issuing(join secrets.KubeletSpec) string {
	if len(join.AcceptedCAs) == 0 {
		return ""
	}

	cert, err := pki.ParseCertificate(join.AcceptedCAs[0].Crt)
	if err != nil {
		return ""
	}

	return pki.Fingerprint(cert)
}

// Authority returns the fingerprint of the accepted authority that signed a certificate; empty when none did.
func Authority(cert *x509.Certificate, join secrets.KubeletSpec) string {
	accepted, err := pki.ParseCertificates(secrets.JoinCerts(join.AcceptedCAs))
	if err != nil {
		return ""
	}

	for _, ca := range accepted {
		if cert.CheckSignatureFrom(ca) == nil {
			return pki.Fingerprint(ca)
		}
	}

	return ""
}

// ClientAuthority returns the fingerprint of the authority that signed the kubelet's client certificate; empty when there is none. dir is PKIDir.
func ClientAuthority(dir fs.FS, join secrets.KubeletSpec) string {
	cert, stale := currentIdentity(dir, join)
	if stale != "" || cert == nil {
		return ""
	}

	return Authority(cert, join)
}

// RegisteredName returns the name of this machine's Node in this cluster in an earlier run; empty when there was none. dir is PKIDir.
func RegisteredName(dir fs.FS, join secrets.KubeletSpec) string {
	cert, stale := currentIdentity(dir, join)
	if stale != "" || cert == nil {
		return ""
	}

	name, _ := strings.CutPrefix(cert.Subject.CommonName, nodePrefix)

	return name
}

// currentIdentity returns the kubelet's certificate, or why it is not valid in this cluster; neither when there is none.
func currentIdentity(dir fs.FS, join secrets.KubeletSpec) (cert *x509.Certificate, stale string) {
	return currentCertificate(dir, CurrentCert, x509.ExtKeyUsageClientAuth, join)
}

func currentCertificate(dir fs.FS, file string, usage x509.ExtKeyUsage, join secrets.KubeletSpec) (cert *x509.Certificate, stale string) {
	text, err := fs.ReadFile(dir, file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ""
	}

	if err == nil {
		cert, err = pki.ParseCertificate(text)
	}

	if err != nil {
		return nil, fmt.Sprintf("the certificate cannot be read: %v", err)
	}

	pool, err := pki.Pool(secrets.JoinCerts(join.AcceptedCAs))
	if err != nil {
		return nil, err.Error()
	}

	within := cert.NotBefore.Add(cert.NotAfter.Sub(cert.NotBefore) / 2)

	if _, err := cert.Verify(x509.VerifyOptions{
		Roots: pool, CurrentTime: within, KeyUsages: []x509.ExtKeyUsage{usage},
	}); err != nil {
		return nil, fmt.Sprintf("the certificate is not signed by an accepted authority: %v", err)
	}

	return cert, ""
}

// identityLifetime is the lifetime of certificates that the controller manager signs. The kubelet renews its certificate there in time.
const identityLifetime = 365 * 24 * time.Hour

// NewIdentity signs the first certificate of a kubelet on a node with the key of the cluster's authority, as the controller manager would. So
// the first control plane registers as soon as its API server answers: the controller manager cannot sign before this kubelet runs its pod.
// The result is certificate and key.
func NewIdentity(root secrets.KubernetesRootSpec, nodename string) ([]byte, error) {
	return signFor(root, nodename, pki.LeafOptions{Client: true})
}

// signFor signs a certificate of a Node's user. The result is certificate and key.
func signFor(root secrets.KubernetesRootSpec, nodename string, want pki.LeafOptions) ([]byte, error) {
	ca, err := pki.ParseCA(root.IssuingCA.Crt, root.IssuingCA.Key)
	if err != nil {
		return nil, fmt.Errorf("kubelet's certificate: cluster.ca: %w", err)
	}

	want.CommonName, want.Organization = nodePrefix+nodename, []string{"system:nodes"}
	want.TTL, want.Kind = identityLifetime, pki.ECDSAP256

	pair, err := ca.Sign(want)
	if err != nil {
		return nil, fmt.Errorf("kubelet's certificate: %w", err)
	}

	return append(pair.Crt, pair.Key...), nil
}

// CertificateFile returns the kubelet's name for the file of a new certificate, to which a link such as CurrentCert leads.
func CertificateFile(link string, now time.Time) string {
	return strings.Replace(link, "current", now.UTC().Format("2006-01-02-15-04-05"), 1)
}
