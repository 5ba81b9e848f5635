// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"crypto/x509"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/kube/kubeconfig"
	"github.com/seed-59268b81/talos/pki"
	"github.com/seed-59268b81/talos/resources/secrets"
)

func pairOf(ca *pki.CA) secrets.CertAndKey {
	return secrets.CertAndKey{Crt: ca.PEM.Crt, Key: ca.PEM.Key}
}

// verify checks that a certificate leads to its authority and has the usage.
func verify(t *testing.T, pair secrets.CertAndKey, ca *pki.CA, name string, usage x509.ExtKeyUsage) *x509.Certificate {
	t.Helper()

	held, err := pki.Pair{Crt: pair.Crt, Key: pair.Key}.TLS()
	if err != nil {
		t.Fatal(err)
	}

	roots := x509.NewCertPool()
	roots.AddCert(ca.Certificate)

	if _, err := held.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: name, KeyUsages: []x509.ExtKeyUsage{usage}}); err != nil {
		t.Errorf("certificate %s for %q: %v", held.Leaf.Subject, name, err)
	}

	return held.Leaf
}

var (
	node  = host{name: "cp1", domain: "example.org"}
	addrs = []netip.Addr{netip.MustParseAddr("172.20.0.2")}
)

func TestAPICerts(t *testing.T) {
	ca := newCA(t, pki.Ed25519)
	root := secrets.OSRootSpec{
		IssuingCA: pairOf(ca), AcceptedCAs: []secrets.Cert{{Crt: ca.PEM.Crt}},
		CertSANDNSNames: []string{"lb.example.org"}, CertSANIPs: []netip.Addr{netip.MustParseAddr("192.0.2.1")},
	}

	got, due, err := apiCerts(secrets.APICertsSpec{}, root, apiSANs(root, node, addrs), time.Now())
	if err != nil {
		t.Fatal(err)
	}

	for _, name := range []string{"cp1", "cp1.example.org", "lb.example.org", "127.0.0.1", "172.20.0.2", "192.0.2.1"} {
		verify(t, got.Server, ca, name, x509.ExtKeyUsageServerAuth)
	}

	client := verify(t, got.Client, ca, "", x509.ExtKeyUsageClientAuth)
	if diff := cmp.Diff([]string{"os:impersonator"}, client.Subject.Organization); diff != "" {
		t.Errorf("role of the client (-want +got):\n%s", diff)
	}

	if in := time.Until(due); in < 11*time.Hour || in > 12*time.Hour {
		t.Errorf("renewal: got in %s, want in about 12h", in)
	}
}

// TestServersSendBridges checks that a server's certificate is followed by the bridges of its authority, and that it stays when only they change.
func TestServersSendBridges(t *testing.T) {
	ca, former := newCA(t, pki.Ed25519), newCA(t, pki.Ed25519)
	root := secrets.OSRootSpec{IssuingCA: pairOf(ca), AcceptedCAs: []secrets.Cert{{Crt: ca.PEM.Crt}}}
	sans := apiSANs(root, node, addrs)

	plain, _, err := apiCerts(secrets.APICertsSpec{}, root, sans, time.Now())
	if err != nil {
		t.Fatal(err)
	}

	bridge, err := former.Bridge(ca.Certificate)
	if err != nil {
		t.Fatal(err)
	}

	root.IssuingCA.Crt = slices.Concat(ca.PEM.Crt, pki.EncodeCertificate(bridge))

	bridged, _, err := apiCerts(plain, root, sans, time.Now())
	if err != nil {
		t.Fatal(err)
	}

	if want := slices.Concat(plain.Server.Crt, pki.EncodeCertificate(bridge)); !slices.Equal(bridged.Server.Crt, want) {
		t.Errorf("server: got\n%s\nwant\n%s", bridged.Server.Crt, want)
	}

	if !bridged.Client.Equal(plain.Client) {
		t.Error("the client certificate has changed")
	}

	if again, _, err := apiCerts(bridged, root, sans, time.Now()); err != nil || !again.Server.Equal(bridged.Server) {
		t.Errorf("a second time: the certificate has changed (%v)", err)
	}

	root.IssuingCA = pairOf(ca)

	if after, _, err := apiCerts(bridged, root, sans, time.Now()); err != nil || !after.Server.Equal(plain.Server) {
		t.Errorf("without the bridge: the certificate is not as before (%v)", err)
	}
}

func TestMaintenanceCerts(t *testing.T) {
	ca := newCA(t, pki.Ed25519)
	root := secrets.OSRootSpec{IssuingCA: pairOf(ca)}

	got, _, err := maintenanceCerts(secrets.APICertsSpec{}, root, maintenanceSANs(secrets.MaintenanceRootSpec{}, node, addrs), time.Now())
	if err != nil {
		t.Fatal(err)
	}

	server := verify(t, got.Server, ca, "172.20.0.2", x509.ExtKeyUsageServerAuth)
	if server.Subject.CommonName != pki.MaintenanceName || !got.SkipVerifyingClientCert || !got.Client.Empty() {
		t.Errorf("got %s, skip %v, client %v; want %s, no client", server.Subject.CommonName, got.SkipVerifyingClientCert, got.Client, pki.MaintenanceName)
	}
}

// TestLostCerts: a machine that has lost its configuration accepts only its administrators.
func TestLostCerts(t *testing.T) {
	ca, mine := newCA(t, pki.Ed25519), newCA(t, pki.Ed25519)

	for _, accepted := range [][]secrets.Cert{{{Crt: mine.PEM.Crt}}, nil} {
		root := secrets.OSRootSpec{IssuingCA: pairOf(ca), AcceptedCAs: accepted}

		got, _, err := lostCerts(secrets.APICertsSpec{SkipVerifyingClientCert: true}, root, maintenanceSANs(secrets.MaintenanceRootSpec{}, node, addrs), time.Now())
		if err != nil {
			t.Fatal(err)
		}

		server := verify(t, got.Server, ca, "172.20.0.2", x509.ExtKeyUsageServerAuth)
		if server.Subject.CommonName != pki.MaintenanceName || got.SkipVerifyingClientCert || !got.Client.Empty() {
			t.Errorf("got %s, skip %v, client %v", server.Subject.CommonName, got.SkipVerifyingClientCert, got.Client)
		}

		if diff := cmp.Diff(accepted, got.AcceptedCAs); diff != "" {
			t.Errorf("accepted (-want +got):\n%s", diff)
		}
	}
}

func TestEtcdCerts(t *testing.T) {
	ca := newCA(t, pki.ECDSAP256)
	root := secrets.EtcdRootSpec{EtcdCA: pairOf(ca)}

	got, _, err := etcdCerts(secrets.EtcdCertsSpec{}, root, node, addrs, time.Now())
	if err != nil {
		t.Fatal(err)
	}

	for _, pair := range []secrets.CertAndKey{got.Etcd, got.EtcdPeer} {
		for _, name := range []string{"localhost", "127.0.0.1", "172.20.0.2", "cp1"} {
			verify(t, pair, ca, name, x509.ExtKeyUsageServerAuth)
		}

		verify(t, pair, ca, "", x509.ExtKeyUsageClientAuth)
	}

	verify(t, got.EtcdAdmin, ca, "", x509.ExtKeyUsageClientAuth)
	verify(t, got.EtcdAPIServer, ca, "", x509.ExtKeyUsageClientAuth)

	again, _, err := etcdCerts(got, root, node, addrs, time.Now())
	if err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff(got, again); diff != "" {
		t.Errorf("nothing changed, so nothing may be issued (-want +got):\n%s", diff)
	}
}

func kubernetesRootOf(t *testing.T) (secrets.KubernetesRootSpec, *pki.CA, *pki.CA) {
	t.Helper()

	ca, aggregator := newCA(t, pki.ECDSAP256), newCA(t, pki.ECDSAP256)

	return secrets.KubernetesRootSpec{
		Name: "demo", Endpoint: secrets.URL{FullPath: "https://lb.example.org:6443"}, LocalEndpoint: secrets.URL{FullPath: "https://127.0.0.1:6443"},
		DNSDomain: "cluster.local", IssuingCA: pairOf(ca), AggregatorCA: pairOf(aggregator), AcceptedCAs: []secrets.Cert{{Crt: ca.PEM.Crt}},
		CertSANs: []string{"extra.example.org"}, APIServerIPs: []netip.Addr{netip.MustParseAddr("10.96.0.1")},
	}, ca, aggregator
}

func TestKubernetesDynamicCerts(t *testing.T) {
	root, ca, aggregator := kubernetesRootOf(t)

	got, _, err := kubernetesDynamicCerts(secrets.KubernetesDynamicCertsSpec{}, root, kubernetesSANs(root, node, addrs), time.Now())
	if err != nil {
		t.Fatal(err)
	}

	for _, name := range []string{
		"lb.example.org", "extra.example.org", "kubernetes", "kubernetes.default", "kubernetes.default.svc",
		"kubernetes.default.svc.cluster.local", "localhost", "cp1", "cp1.example.org", "10.96.0.1", "127.0.0.1", "172.20.0.2",
	} {
		verify(t, got.APIServer, ca, name, x509.ExtKeyUsageServerAuth)
	}

	kubelet := verify(t, got.APIServerKubeletClient, ca, "", x509.ExtKeyUsageClientAuth)
	if !slices.Equal(kubelet.Subject.Organization, []string{"talos:kubelet-clients"}) {
		t.Errorf("kubelet client: got organization %q, want one of its own, and never system:masters", kubelet.Subject.Organization)
	}

	if front := verify(t, got.FrontProxy, aggregator, "", x509.ExtKeyUsageClientAuth); front.Subject.CommonName != "front-proxy-client" {
		t.Errorf("front proxy: got %s, want front-proxy-client, which the API server's command line names", front.Subject.CommonName)
	}
}

// TestKubeconfigs holds the identities of the control plane's clients, and when their kubeconfigs are replaced.
func TestKubeconfigs(t *testing.T) {
	root, ca, _ := kubernetesRootOf(t)
	now := time.Now()

	first, _, err := kubernetesCerts(secrets.KubernetesCertsSpec{}, root, now)
	if err != nil {
		t.Fatal(err)
	}

	for text, want := range map[string][3]string{
		first.SchedulerKubeconfig:         {"system:kube-scheduler", "system:kube-scheduler", "https://127.0.0.1:6443"},
		first.ControllerManagerKubeconfig: {"system:kube-controller-manager", "system:kube-controller-manager", "https://127.0.0.1:6443"},
		first.LocalhostAdminKubeconfig:    {"talos:admin", "system:masters", "https://127.0.0.1:6443"},
		first.AdminKubeconfig:             {"talos:admin", "system:masters", "https://lb.example.org:6443"},
	} {
		config, err := kubeconfig.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}

		cert := verify(t, secrets.CertAndKey{Crt: config.Crt, Key: config.Key}, ca, "", x509.ExtKeyUsageClientAuth)
		if got := [3]string{cert.Subject.CommonName, cert.Subject.Organization[0], config.Server}; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}

	if again, _, err := kubernetesCerts(first, root, now); err != nil || again != first {
		t.Errorf("nothing changed: got new kubeconfigs (%v), want the same", err)
	}

	moved := root
	moved.LocalEndpoint.FullPath = "https://127.0.0.1:443"

	second, _, err := kubernetesCerts(first, moved, now)
	if err != nil {
		t.Fatal(err)
	}

	if second.SchedulerKubeconfig == first.SchedulerKubeconfig || second.AdminKubeconfig != first.AdminKubeconfig {
		t.Error("the local endpoint moved: want new kubeconfigs for its clients, and only for them")
	}
}

func TestAdminKubeconfig(t *testing.T) {
	root, ca, _ := kubernetesRootOf(t)

	text, err := AdminKubeconfig(root, time.Hour)
	if err != nil {
		t.Fatal(err)
	}

	config, err := kubeconfig.Parse(text)
	if err != nil {
		t.Fatal(err)
	}

	cert := verify(t, secrets.CertAndKey{Crt: config.Crt, Key: config.Key}, ca, "", x509.ExtKeyUsageClientAuth)

	got := []string{cert.Subject.CommonName, cert.Subject.Organization[0], config.Context, config.Cluster, config.User, config.Server}
	if diff := cmp.Diff([]string{"admin", "system:masters", "admin@demo", "demo", "admin", "https://lb.example.org:6443"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	if life := cert.NotAfter.Sub(cert.NotBefore); life < time.Hour || life > time.Hour+time.Minute {
		t.Errorf("life: got %s, want 1h and the backdate", life)
	}
}
