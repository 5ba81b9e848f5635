// SPDX-License-Identifier: Apache-2.0

package etcdclient_test

import (
	"context"
	"net"
	"os/exec"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/controllers/etcd/etcdclient"
	"github.com/seed-59268b81/talos/pki"
	"github.com/seed-59268b81/talos/resources/secrets"
	"github.com/seed-59268b81/talos/sys/nstest"
)

// TestNoProxy checks that members of etcd are not reached through the proxy of the machine configuration, which is for registries and other
// servers outside of the cluster.
func TestNoProxy(t *testing.T) {
	if !nstest.Isolate(t) {
		return
	}

	if out, err := exec.Command("ip", "link", "set", "lo", "up").CombinedOutput(); err != nil {
		t.Fatalf("loopback: %v: %s", err, out)
	}

	proxy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer proxy.Close()

	var requests atomic.Int32

	go func() {
		for {
			conn, err := proxy.Accept()
			if err != nil {
				return
			}

			requests.Add(1)
			conn.Close()
		}
	}()

	t.Setenv("HTTPS_PROXY", "http://"+proxy.Addr().String())
	t.Setenv("NO_PROXY", "")
	t.Setenv("no_proxy", "")

	ca, err := pki.NewCA(pki.CAOptions{Kind: pki.ECDSAP256, CommonName: "etcd"})
	if err != nil {
		t.Fatal(err)
	}

	pair, err := ca.Sign(pki.LeafOptions{CommonName: "talos", Client: true, TTL: time.Hour})
	if err != nil {
		t.Fatal(err)
	}

	client, err := etcdclient.New(t.Context(), secrets.EtcdRootSpec{EtcdCA: secrets.CertAndKey{Crt: ca.PEM.Crt}},
		secrets.EtcdCertsSpec{EtcdAdmin: secrets.CertAndKey{Crt: pair.Crt, Key: pair.Key}}, "https://192.0.2.1:2379")
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()

	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()

	if _, err := client.MemberList(ctx); err == nil {
		t.Error("got an answer without a route")
	}

	if n := requests.Load(); n > 0 {
		t.Errorf("the proxy had %d connections", n)
	}
}
