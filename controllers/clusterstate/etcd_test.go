// SPDX-License-Identifier: Apache-2.0

package clusterstate_test

import (
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/seed-59268b81/talos/build/hosttools/hosttest"
	"github.com/seed-59268b81/talos/controllers/etcd/etcdclient"
	"github.com/seed-59268b81/talos/pki"
	clusterstateres "github.com/seed-59268b81/talos/resources/clusterstate"
	"github.com/seed-59268b81/talos/resources/secrets"
	"github.com/seed-59268b81/talos/test/leak"
)

func TestMain(m *testing.M) {
	if err := clusterstateres.Register(); err != nil {
		panic(err)
	}

	leak.Main(m)
}

func ok(t testing.TB, err error) {
	t.Helper()

	if err != nil {
		t.Fatal(err)
	}
}

// patience is the time after which a test gives up.
const patience = 30 * time.Second

// until waits for a value.
func until(t testing.TB, what string, read func() (string, error), want string) {
	t.Helper()

	for began := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		got, err := read()
		if err == nil && got == want {
			return
		}

		if time.Since(began) > patience {
			t.Fatalf("%s: got %q, %v; want %q", what, got, err, want)
		}
	}
}

// server is an etcd of one member with the machine's certificates.
type server struct {
	t            testing.TB
	ca           *pki.CA
	dir          string
	client, peer string // URLs
	cmd          *exec.Cmd
}

func newServer(t testing.TB) *server {
	t.Helper()

	ca, err := pki.NewCA(pki.CAOptions{Kind: pki.ECDSAP256, Organization: []string{"etcd"}, TTL: time.Hour})
	ok(t, err)

	s := &server{t: t, ca: ca, dir: t.TempDir(), client: freeURL(t), peer: freeURL(t)}

	pair, err := ca.Sign(pki.LeafOptions{
		CommonName: "server", Server: true, Client: true, TTL: time.Hour, IPs: []netip.Addr{netip.MustParseAddr("127.0.0.1")},
	})
	ok(t, err)

	for name, text := range map[string][]byte{"ca.crt": ca.PEM.Crt, "server.crt": pair.Crt, "server.key": pair.Key} {
		ok(t, os.WriteFile(filepath.Join(s.dir, name), text, 0o600))
	}

	t.Cleanup(s.kill)

	return s
}

func freeURL(t testing.TB) string {
	t.Helper()

	l, err := net.Listen("tcp", "127.0.0.1:0")
	ok(t, err)

	defer l.Close()

	return "https://" + l.Addr().String()
}

func (s *server) start() {
	s.t.Helper()

	program := hosttest.Built(s.t, "etcd")
	in := func(name string) string { return filepath.Join(s.dir, name) }

	//program:built a result of the build
	s.cmd = exec.Command(program, "--name", "node", "--data-dir", in("data"),
		"--listen-client-urls", s.client, "--advertise-client-urls", s.client, "--listen-peer-urls", s.peer,
		"--initial-advertise-peer-urls", s.peer, "--initial-cluster", "node="+s.peer, "--unsafe-no-fsync", "--log-level", "fatal",
		"--cert-file", in("server.crt"), "--key-file", in("server.key"), "--trusted-ca-file", in("ca.crt"), "--client-cert-auth",
		"--peer-cert-file", in("server.crt"), "--peer-key-file", in("server.key"), "--peer-trusted-ca-file", in("ca.crt"))
	ok(s.t, s.cmd.Start())
}

func (s *server) kill() {
	if s.cmd != nil {
		s.cmd.Process.Kill()
		s.cmd.Wait()
		s.cmd = nil
	}
}

// secrets returns the authority, and a new certificate of an administrator.
func (s *server) secrets() (secrets.EtcdRootSpec, secrets.EtcdCertsSpec) {
	s.t.Helper()

	admin, err := s.ca.Sign(pki.LeafOptions{CommonName: "admin", Client: true, TTL: time.Hour})
	ok(s.t, err)

	return secrets.EtcdRootSpec{EtcdCA: secrets.CertAndKey{Crt: s.ca.PEM.Crt, Key: s.ca.PEM.Key}},
		secrets.EtcdCertsSpec{EtcdAdmin: secrets.CertAndKey{Crt: admin.Crt, Key: admin.Key}}
}

func (s *server) dial() *clientv3.Client {
	s.t.Helper()

	root, certs := s.secrets()

	client, err := etcdclient.New(s.t.Context(), root, certs, s.client)
	ok(s.t, err)
	s.t.Cleanup(func() { client.Close() })

	return client
}
