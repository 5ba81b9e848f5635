// SPDX-License-Identifier: Apache-2.0

package kubelet_test

import (
	"crypto/tls"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/seed-59268b81/talos/controllers/k8s/kubelet"
	"github.com/seed-59268b81/talos/pki"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/resources/secrets"
)

// TestServesByCluster checks that the kubelet requests its serving certificate from the cluster, unless the configuration says otherwise.
func TestServesByCluster(t *testing.T) {
	t.Parallel()

	arg := func(flag, value string) func(*k8s.KubeletConfigSpec) {
		return func(c *k8s.KubeletConfigSpec) { c.ExtraArgs = k8s.Args{flag: {Values: []string{value}}} }
	}
	field := func(name string, value any) func(*k8s.KubeletConfigSpec) {
		return func(c *k8s.KubeletConfigSpec) { c.ExtraConfig = map[string]any{name: value} }
	}

	for name, test := range map[string]struct {
		change func(*k8s.KubeletConfigSpec)
		want   bool
		// asks is serverTLSBootstrap in the KubeletConfiguration.
		asks any
	}{
		"by default":                   {want: true, asks: true},
		"turned off":                   {change: field("serverTLSBootstrap", false), asks: false},
		"enabled":                      {change: field("serverTLSBootstrap", true), want: true, asks: true},
		"turned off by argument":       {change: arg("rotate-server-certificates", "false"), asks: true},
		"enabled by argument":          {change: arg("rotate-server-certificates", "1"), want: true, asks: true},
		"its own certificate":          {change: field("tlsCertFile", "/var/x.crt")},
		"a key of its own":             {change: field("tlsPrivateKeyFile", "/var/x.key")},
		"a certificate as an argument": {change: arg("tls-cert-file", "/var/x.crt")},
		"without the feature":          {change: field("featureGates", map[string]any{"RotateKubeletServerCertificate": false})},
		"without it by argument":       {change: arg("feature-gates", "UserNamespacesSupport=true, RotateKubeletServerCertificate=False")},
		"with another feature":         {change: field("featureGates", map[string]any{"X": false}), want: true, asks: true},
		"without a cluster":            {change: func(c *k8s.KubeletConfigSpec) { c.SkipNodeRegistration = true }},
		"an empty certificate's field": {change: field("tlsCertFile", ""), want: true, asks: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			spec, err := kubelet.Spec(settings(test.change), node)
			if err != nil {
				t.Fatal(err)
			}

			if got := kubelet.ServesByCluster(spec); got != test.want || spec.Config["serverTLSBootstrap"] != test.asks {
				t.Errorf("got %t and serverTLSBootstrap %v, want %t and %v", got, spec.Config["serverTLSBootstrap"], test.want, test.asks)
			}
		})
	}
}

func TestNodeIPs(t *testing.T) {
	t.Parallel()

	for text, want := range map[string][]netip.Addr{
		"10.5.0.2,fd00::2": {netip.MustParseAddr("10.5.0.2"), netip.MustParseAddr("fd00::2")},
		"::":               nil,
		"x":                nil,
	} {
		if got := kubelet.NodeIPs(k8s.KubeletSpecSpec{Args: []string{"--config=x", "--node-ip=" + text}}); !slices.Equal(got, want) {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

// TestServing checks which serving certificates are valid, and which must be removed before the kubelet starts.
func TestServing(t *testing.T) {
	t.Parallel()

	root := func() (secrets.KubernetesRootSpec, secrets.KubeletSpec) {
		ca, err := pki.NewCA(pki.CAOptions{Kind: pki.ECDSAP256, Organization: []string{"kubernetes"}})
		if err != nil {
			t.Fatal(err)
		}

		return secrets.KubernetesRootSpec{IssuingCA: secrets.CertAndKey{Crt: ca.PEM.Crt, Key: ca.PEM.Key}},
			secrets.KubeletSpec{AcceptedCAs: []secrets.Cert{{Crt: ca.PEM.Crt}}}
	}
	ours, join := root()
	theirs, _ := root()

	held := func(root secrets.KubernetesRootSpec, name string, ips ...netip.Addr) fstest.MapFS {
		text, err := kubelet.NewServingIdentity(root, name, ips)
		if err != nil {
			t.Fatal(err)
		}

		if _, err := tls.X509KeyPair(text, text); err != nil {
			t.Errorf("certificate and key in one file, as the kubelet reads them: %v", err)
		}

		return fstest.MapFS{"kubelet-server-current.pem": {Data: text}}
	}
	v4, v6 := netip.MustParseAddr("172.20.0.2"), netip.MustParseAddr("fd00::2")
	right := held(ours, "cp1", v4)
	half := right["kubelet-server-current.pem"].Data

	// A client certificate instead of a serving certificate.
	client, err := kubelet.NewIdentity(ours, "cp1")
	if err != nil {
		t.Fatal(err)
	}

	for name, test := range map[string]struct {
		dir fstest.MapFS
		ips []netip.Addr
		in  time.Duration
		// want is why the certificate is not valid, stale why it must be removed.
		want, stale string
	}{
		"right":                    {dir: right, ips: []netip.Addr{v4}},
		"none":                     {dir: fstest.MapFS{}, want: "not requested a certificate yet"},
		"of two families":          {dir: held(ours, "cp1", v4, v6), ips: []netip.Addr{v4, v6}},
		"a name that is an IP":     {dir: held(ours, "172.20.0.2", v4), ips: []netip.Addr{v4}, want: "is that of system:node:172.20.0.2", stale: "is that of"},
		"another address":          {dir: right, ips: []netip.Addr{v4, v6}, want: "not valid for the address fd00::2"},
		"of another name":          {dir: held(ours, "old", v4), want: "is that of system:node:old, not system:node:cp1", stale: "is that of system:node:old"},
		"of another cluster":       {dir: held(theirs, "cp1", v4), want: "not signed by an accepted authority", stale: "not signed by an accepted authority"},
		"of another use":           {dir: fstest.MapFS{"kubelet-server-current.pem": {Data: client}}, want: "not signed by an accepted authority", stale: "not signed by an accepted authority"},
		"expired":                  {dir: right, in: 366 * 24 * time.Hour, want: "expired at", stale: "expired at"},
		"broken":                   {dir: fstest.MapFS{"kubelet-server-current.pem": {Data: []byte("x")}}, want: "cannot be read", stale: "cannot be read"},
		"empty, after a power cut": {dir: fstest.MapFS{"kubelet-server-current.pem": {}}, want: "cannot be read", stale: "cannot be read"},
		"without its key":          {dir: fstest.MapFS{"kubelet-server-current.pem": {Data: half[:len(half)-40]}}, stale: "cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			now := time.Now().Add(test.in)

			if got := kubelet.Serving(test.dir, "cp1", test.ips, join, now); got.Ready != (test.want == "") || !strings.Contains(got.Reason, test.want) {
				t.Errorf("got %+v, want %q", got, test.want)
			}

			if got := kubelet.StaleServing(test.dir, "cp1", join, now); (got == "") != (test.stale == "") || !strings.Contains(got, test.stale) {
				t.Errorf("stale: got %q, want %q", got, test.stale)
			}
		})
	}
}
