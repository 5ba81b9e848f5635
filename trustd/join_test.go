// SPDX-License-Identifier: Apache-2.0

package trustd

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"net"
	"net/netip"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/seed-59268b81/talos/api/contract"
	"github.com/seed-59268b81/talos/build/hosttools/hosttest"
	"github.com/seed-59268b81/talos/config/generate"
	"github.com/seed-59268b81/talos/controllers/controllertest"
	"github.com/seed-59268b81/talos/controllers/secrets"
	"github.com/seed-59268b81/talos/controllers/secrets/trust"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/pki"
	configres "github.com/seed-59268b81/talos/resources/config"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/resources/network"
	secretsres "github.com/seed-59268b81/talos/resources/secrets"
	"github.com/seed-59268b81/talos/sys/nstest"
)

// Control plane nodes have loopback addresses of their own; nothing listens on the first.
var (
	unused = netip.MustParseAddr("127.0.0.9")
	first  = netip.MustParseAddr("127.0.0.2")
	second = netip.MustParseAddr("127.0.0.3")
)

// generated is the configuration of a cluster in which every machine lists the control plane's address and name, as is usual.
func generated(t *testing.T) *generate.Output {
	t.Helper()

	out, err := generate.New("test", "https://172.20.0.2:6443", "", generate.Options{AdditionalSANs: []string{"172.20.0.2", "api.example.org"}})
	if err != nil {
		t.Fatal(err)
	}

	return out
}

// controlPlane is a node with the controllers that create its resources from its configuration, and trustd.
func controlPlane(t *testing.T, config []byte, at netip.Addr, lifetime time.Duration) {
	t.Helper()

	n := controllertest.Start(t, secrets.Controllers()...)
	n.ReadyWith(config)
	setAddresses(n, controllertest.Address.Addr(), at)

	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	signer := NewSigner(log, n.State)
	signer.Lifetime, signer.FirstLifetime = lifetime, lifetime
	server := NewServer(log, local{signer})

	l, err := net.Listen("tcp", net.JoinHostPort(at.String(), strconv.Itoa(contract.TrustdPort)))
	if err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)

	go func() { done <- serve(ctx, server, n.State, l) }()

	t.Cleanup(func() {
		cancel()

		if err := <-done; err != nil {
			t.Error(err)
		}
	})

	// Until it has its certificate it closes connections; the first certificate may be without the address.
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		conn, err := tls.Dial("tcp", l.Addr().String(), &tls.Config{InsecureSkipVerify: true}) // who serves is not asked here
		if err == nil {
			err = conn.ConnectionState().PeerCertificates[0].VerifyHostname(at.String())
			_ = conn.Close()
		}

		if err == nil {
			return
		}

		if time.Now().After(deadline) {
			t.Fatalf("trustd does not serve: %v", err)
		}
	}
}

func setAddresses(n *controllertest.Node, addrs ...netip.Addr) {
	var spec network.NodeAddressSpec
	for _, addr := range addrs {
		spec.Addresses = append(spec.Addresses, netip.PrefixFrom(addr, addr.BitLen()))
	}

	for _, id := range []string{network.NodeAddressCurrentID, network.NodeAddressAccumulativeID} {
		controllertest.Set(n, id, spec)
		controllertest.Set(n, network.FilteredNodeAddressID(id, network.NodeAddressFilterNoK8s), spec)
	}
}

// worker is a node with a configuration, a name, an address, and addresses of control plane nodes.
func worker(t *testing.T, config []byte, controlPlanes ...netip.Addr) *controllertest.Node {
	t.Helper()

	n := controllertest.Start(t, secrets.Controllers()...)
	n.Configure(config)
	controllertest.Set(n, configres.MachineTypeID, configres.MachineTypeSpec{MachineType: configres.TypeWorker})
	n.Hostname("w1")
	setAddresses(n, netip.MustParseAddr("172.20.0.3"))

	// One by the configuration, the others by Kubernetes.
	controllertest.Set(n, k8s.EndpointControlPlane, k8s.EndpointSpec{Addresses: controlPlanes[:1]})
	controllertest.Set(n, k8s.EndpointAPIServerID, k8s.EndpointSpec{Addresses: controlPlanes[1:]})

	return n
}

func served(t *testing.T, certs secretsres.APICertsSpec) *x509.Certificate {
	t.Helper()

	pair, err := pki.Pair{Crt: certs.Server.Crt, Key: certs.Server.Key}.TLS()
	if err != nil {
		t.Fatal(err)
	}

	return pair.Leaf
}

// configured certificates are not the self-signed ones of maintenance mode.
func configured(s secretsres.APICertsSpec) bool { return !s.SkipVerifyingClientCert }

func setUp(t *testing.T) bool {
	t.Helper()

	if !nstest.Isolate(t) {
		return false
	}

	if out, err := exec.Command(hosttest.Need(t, "ip"), "link", "set", "lo", "up").CombinedOutput(); err != nil {
		t.Skipf("ip link set lo up: %v: %s", err, out)
	}

	return true
}

// TestWorkerJoins: a worker gets its certificate from a real trustd although one control plane node is off, and a new certificate when
// its name changes.
func TestWorkerJoins(t *testing.T) {
	if !setUp(t) {
		return
	}

	cluster := generated(t)
	controlPlane(t, cluster.ControlPlane, first, Lifetime)
	controlPlane(t, cluster.ControlPlane, second, Lifetime)

	n := worker(t, cluster.Worker, unused, first, second)
	certs := controllertest.Wait(n, secretsres.APIID, configured)
	cert := served(t, certs)

	authority, err := pki.ParseCertificate(cluster.Secrets.Certs.OS.Crt)
	if err != nil {
		t.Fatal(err)
	}

	if err := cert.CheckSignatureFrom(authority); err != nil {
		t.Error(err)
	}

	if !certs.Client.Empty() || len(certs.AcceptedCAs) != 1 || !bytes.Equal(certs.AcceptedCAs[0].Crt, cluster.Secrets.Certs.OS.Crt) {
		t.Errorf("got %+v, want no client certificate, and clients of the cluster's authority alone", certs)
	}

	if !slices.Equal(cert.DNSNames, []string{"localhost", "w1"}) || cert.VerifyHostname("172.20.0.3") != nil {
		t.Errorf("got names %q and %v, want its own", cert.DNSNames, cert.IPAddresses)
	}

	if cert.VerifyHostname("172.20.0.2") == nil || cert.VerifyHostname("api.example.org") == nil {
		t.Error("the worker may serve as a control plane node")
	}

	n.Hostname("w2")

	renamed := served(t, controllertest.Wait(n, secretsres.APIID, func(s secretsres.APICertsSpec) bool { return !s.Server.Equal(certs.Server) }))
	if renamed.Subject.CommonName != "w2" || renamed.VerifyHostname("w2") != nil {
		t.Errorf("got %s for %q, want w2", renamed.Subject, renamed.DNSNames)
	}
}

// TestWorkerRenews has short-lived certificates of a real trustd: each is replaced before it ends.
func TestWorkerRenews(t *testing.T) {
	if !setUp(t) {
		return
	}

	cluster := generated(t)
	// Half of its life, which began a while ago, is over in one second.
	controlPlane(t, cluster.ControlPlane, first, pki.Backdate+2*time.Second)

	n := worker(t, cluster.Worker, first)
	held := controllertest.Wait(n, secretsres.APIID, configured)

	for range 2 {
		end := served(t, held).NotAfter

		held = controllertest.Wait(n, secretsres.APIID, func(s secretsres.APICertsSpec) bool { return !s.Server.Equal(held.Server) })
		if time.Now().After(end) {
			t.Error("the certificate was renewed after its end")
		}
	}
}

// TestWrongToken: a worker with the token or authority of another cluster gets no certificate, and an error with the reason.
func TestWrongToken(t *testing.T) {
	if !setUp(t) {
		return
	}

	cluster, other := generated(t), generated(t)
	controlPlane(t, cluster.ControlPlane, first, Lifetime)

	token := cluster.Secrets.Trustd.Token
	n := worker(t, bytes.ReplaceAll(cluster.Worker, []byte(token), []byte(other.Secrets.Trustd.Token)), first)

	csr, _, err := pki.NewCSR(pki.CSROptions{Kind: pki.Ed25519, CommonName: "w1", IPs: addrs("127.0.0.1")})
	if err != nil {
		t.Fatal(err)
	}

	ask := func(token string, authority []byte, at ...netip.Addr) error {
		roots, err := pki.Pool(authority)
		if err != nil {
			t.Fatal(err)
		}

		_, err = trust.Certificate(t.Context(), trust.Request{Addresses: at, Roots: roots, Token: token, CSR: csr})

		return err
	}

	ours, theirs := cluster.Secrets.Certs.OS.Crt, other.Secrets.Certs.OS.Crt

	if err := ask(token, ours, first); err != nil {
		t.Errorf("with the right token: %v", err)
	}

	for name, test := range map[string]struct {
		err  error
		want []string
	}{
		"another token":     {ask(other.Secrets.Trustd.Token, ours, first), []string{"trustd at 127.0.0.2:50001", codes.Unauthenticated.String(), "machine.token"}},
		"another authority": {ask(token, theirs, first), []string{"trustd at 127.0.0.2:50001", "certificate signed by unknown authority"}},
		"no listener":       {ask(token, ours, unused), []string{"trustd at 127.0.0.9:50001", "connection refused"}},
		"one of each": {
			ask(other.Secrets.Trustd.Token, ours, first, unused), []string{"127.0.0.2:50001", "machine.token", "127.0.0.9:50001", "connection refused"},
		},
		"no control plane": {ask(token, ours), []string{"cluster.controlPlane.endpoint"}},
	} {
		for _, want := range test.want {
			if test.err == nil || !strings.Contains(test.err.Error(), want) {
				t.Errorf("%s: got %v, want %q in it", name, test.err, want)
			}
		}
	}

	if certs, err := typed.Find[secretsres.APICertsSpec](t.Context(), n.State, "", secretsres.APIID); err != nil || certs != nil && configured(*certs.TypedSpec()) {
		t.Errorf("the worker with another token: got a certificate (%v), want none", err)
	}
}
