// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-59268b81/talos/pki"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/resources/secrets"
)

// The kubelet requests its serving certificate from the cluster and renews it, unless the machine configuration sets a certificate or lets the
// kubelet sign its own.
const (
	// CurrentServingCert in PKIDir is its serving certificate from the cluster, with the key.
	CurrentServingCert = "kubelet-server-current.pem"
	// SelfSignedCert in PKIDir is its serving certificate when it signs its own.
	SelfSignedCert = "kubelet.crt"

	rotationGate = "RotateKubeletServerCertificate"
)

// asksToServe reports whether the kubelet requests its serving certificate: not without a cluster, and not when the configuration sets one or
// turns off the feature gate.
func asksToServe(cfg k8s.KubeletConfigSpec) bool {
	given := func(field, flag string) bool {
		value, _ := cfg.ExtraConfig[field].(string)
		_, isFlag := cfg.ExtraArgs[flag]

		return value != "" || isFlag
	}

	gates, _ := cfg.ExtraConfig["featureGates"].(object)
	off := gates[rotationGate] == false

	for _, value := range cfg.ExtraArgs["feature-gates"].Values {
		for gate := range strings.SplitSeq(value, ",") {
			name, text, _ := strings.Cut(strings.TrimSpace(gate), "=")
			on, err := strconv.ParseBool(text)
			off = off || name == rotationGate && err == nil && !on
		}
	}

	return !cfg.SkipNodeRegistration && !off && !given("tlsCertFile", "tls-cert-file") && !given("tlsPrivateKeyFile", "tls-private-key-file")
}

// ServesByCluster reports whether a kubelet with this specification serves with a certificate of the cluster. A flag overrides the
// KubeletConfiguration.
func ServesByCluster(spec k8s.KubeletSpecSpec) bool {
	const flag = "--rotate-server-certificates="

	for _, arg := range slices.Backward(spec.Args) {
		if value, ok := strings.CutPrefix(arg, flag); ok {
			on, err := strconv.ParseBool(value)

			return err == nil && on
		}
	}

	return spec.Config["serverTLSBootstrap"] == true
}

// NodeIPs returns the addresses in the kubelet's command line.
func NodeIPs(spec k8s.KubeletSpecSpec) []netip.Addr {
	var out []netip.Addr

	for _, arg := range spec.Args {
		list, ok := strings.CutPrefix(arg, "--node-ip=")
		if !ok {
			continue
		}

		for text := range strings.SplitSeq(list, ",") {
			if addr, err := netip.ParseAddr(strings.TrimSpace(text)); err == nil && !addr.IsUnspecified() {
				out = append(out, addr)
			}
		}
	}

	return out
}

// Serving returns whether the serving certificate on disk is valid. dir is PKIDir. An empty name is not checked.
func Serving(dir fs.FS, nodename string, ips []netip.Addr, join secrets.KubeletSpec, now time.Time) k8s.KubeletServingStatusSpec {
	not := func(reason string) k8s.KubeletServingStatusSpec { return k8s.KubeletServingStatusSpec{Reason: reason} }

	cert, stale := currentCertificate(dir, CurrentServingCert, x509.ExtKeyUsageServerAuth, join)

	switch {
	case stale != "":
		return not(stale)
	case cert == nil:
		return not("the kubelet has not requested a certificate yet, or its request is not approved")
	case now.After(cert.NotAfter):
		return not(fmt.Sprintf("the certificate expired at %s, and the request for the next is not approved", cert.NotAfter.UTC().Format(time.RFC3339)))
	case nodename != "" && cert.Subject.CommonName != nodePrefix+nodename:
		return not(fmt.Sprintf("the certificate is that of %s, not %s", cert.Subject.CommonName, nodePrefix+nodename))
	}

	for _, ip := range ips {
		if cert.VerifyHostname(ip.String()) != nil {
			return not(fmt.Sprintf("the certificate is not valid for the address %s, and the request for another one is not approved", ip))
		}
	}

	return k8s.KubeletServingStatusSpec{Ready: true, Authority: Authority(cert, join), ClientAuthority: ClientAuthority(dir, join)}
}

// StaleServing returns why the certificate on disk must be removed before the kubelet starts: the kubelet does not start with a broken one, and
// cannot renew one of another name or authority. It is empty when the certificate can be used, or there is none. dir is PKIDir.
func StaleServing(dir fs.FS, nodename string, join secrets.KubeletSpec, now time.Time) string {
	text, err := fs.ReadFile(dir, CurrentServingCert)
	if errors.Is(err, fs.ErrNotExist) {
		return ""
	}

	if err == nil {
		_, err = tls.X509KeyPair(text, text) // as the kubelet reads it
	}

	if err != nil {
		return fmt.Sprintf("the certificate cannot be read: %v", err)
	}

	status := Serving(dir, nodename, nil, join, now)
	if status.Ready && status.Authority != Issuing(join) {
		return "the cluster has another authority now, and accepts that of the certificate for a while only"
	}

	return status.Reason
}

// NewServingIdentity signs the serving certificate of a kubelet of a control plane, as the controller manager would. So the state of the static
// pods can be read even while the controller manager, which is one of them, does not run. The kubelet renews it there. The result is
// certificate and key.
func NewServingIdentity(root secrets.KubernetesRootSpec, nodename string, ips []netip.Addr) ([]byte, error) {
	want := pki.LeafOptions{IPs: ips, Server: true}

	if _, err := netip.ParseAddr(nodename); err != nil {
		want.DNSNames = []string{nodename}
	}

	return signFor(root, nodename, want)
}
