// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"crypto/x509"
	"fmt"
	"io/fs"

	"github.com/seed-59268b81/talos/controllers/secrets/kubeconfig"
	"github.com/seed-59268b81/talos/pki"
	"github.com/seed-59268b81/talos/resources/secrets"
)

// currentCert is the kubelet's own certificate and key, which it keeps renewing.
const currentCert = "kubelet-client-current.pem"

// KeepIdentity tells whether the kubelet may keep its certificate from an earlier run. If not, it says why, and the
// kubelet must join anew: the node is called otherwise, the cluster has another authority, or the API server is reached
// elsewhere. dir is PKIDir and kubeconfigText the kubelet's own kubeconfig, nil if there is none.
func KeepIdentity(dir fs.FS, kubeconfigText []byte, nodename string, join secrets.KubeletSpec) (keep bool, reason string) {
	if len(kubeconfigText) == 0 {
		return false, "the kubelet has no kubeconfig yet"
	}

	held, err := kubeconfig.Peek(kubeconfigText)
	if err != nil {
		return false, err.Error()
	}

	if held.Server != join.Endpoint.String() {
		return false, fmt.Sprintf("the kubelet is to reach the API server at %s, not %s", join.Endpoint, held.Server)
	}

	text, err := fs.ReadFile(dir, currentCert)
	if err != nil {
		return false, fmt.Sprintf("the kubelet's certificate: %v", err)
	}

	cert, err := pki.ParseCertificate(text)
	if err != nil {
		return false, fmt.Sprintf("the kubelet's certificate: %v", err)
	}

	if want := "system:node:" + nodename; cert.Subject.CommonName != want {
		return false, fmt.Sprintf("the kubelet's certificate is that of %s, not %s", cert.Subject.CommonName, want)
	}

	pool, err := pki.Pool(secrets.JoinCerts(join.AcceptedCAs))
	if err != nil {
		return false, err.Error()
	}

	// Signed by an authority that is accepted; its dates are the kubelet's own business, which renews it or fails.
	if _, err := cert.Verify(x509.VerifyOptions{
		Roots: pool, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, CurrentTime: cert.NotBefore.Add(cert.NotAfter.Sub(cert.NotBefore) / 2),
	}); err != nil {
		return false, fmt.Sprintf("the kubelet's certificate is not of an accepted authority: %v", err)
	}

	return true, ""
}
