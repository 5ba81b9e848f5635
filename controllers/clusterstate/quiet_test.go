// SPDX-License-Identifier: Apache-2.0

package clusterstate_test

import (
	"bufio"
	"crypto/tls"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/controllers/clusterstate"
	"github.com/seed-59268b81/talos/controllers/controllertest"
	"github.com/seed-59268b81/talos/controllers/etcd/etcdclient"
	"github.com/seed-59268b81/talos/cosi/state"
	serviceres "github.com/seed-59268b81/talos/resources/service"
)

// calls returns how many calls an etcd has begun to serve, and its revision.
func (s *server) calls() (calls, revision int64) {
	s.t.Helper()

	root, certs := s.secrets()

	config, err := etcdclient.TLS(root, certs)
	ok(s.t, err)

	transport := &http.Transport{TLSClientConfig: config.Clone(), TLSNextProto: map[string]func(string, *tls.Conn) http.RoundTripper{}}
	defer transport.CloseIdleConnections()

	res, err := (&http.Client{Transport: transport}).Get(s.client + "/metrics")
	ok(s.t, err)

	defer res.Body.Close()

	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), " ")

		number, err := strconv.ParseFloat(value, 64)
		if err != nil {
			continue
		}

		switch {
		case strings.HasPrefix(name, "grpc_server_msg_received_total{"):
			calls += int64(number)
		case name == "etcd_debugging_mvcc_current_revision":
			revision = int64(number)
		}
	}

	return calls, revision
}

// TestQuiet: an open store without readers sends etcd nothing, and a lock that is held writes nothing.
func TestQuiet(t *testing.T) {
	b := newBench(t)
	b.ready()

	calls, revision := b.server.calls()
	if calls == 0 || revision == 0 {
		t.Fatal("etcd counts no calls, or has no revision: the test proves nothing")
	}

	observed := time.NewTimer(3 * time.Second) // a poll is more frequent
	<-observed.C

	if again, _ := b.server.calls(); again != calls {
		t.Errorf("an idle store sent %d messages", again-calls)
	}

	held, err := clusterstate.Claim(t.Context(), b.server.dial(), "lock", "cp-1")
	ok(t, err)
	b.lists("lock cp-1")

	_, revision = b.server.calls()

	observed.Reset(clusterstate.Lease / 3) // in which the lease is renewed
	<-observed.C

	if _, again := b.server.calls(); again != revision {
		t.Errorf("a lock that was held wrote %d times", again-revision)
	}

	ok(t, held.Release(t.Context()))
}

// TestMemory: what an open store takes of process 1.
func TestMemory(t *testing.T) {
	const limit = 1 << 20

	b := newBench(t)
	b.ready()

	used := func() int64 {
		var m runtime.MemStats

		runtime.GC()
		runtime.GC() // what finalizers released
		runtime.ReadMemStats(&m)

		return int64(m.HeapAlloc + m.StackInuse)
	}

	with := used()

	controllertest.Set(b.Node, "etcd", serviceres.ServiceSpec{})
	b.refuses(state.Unavailable, "does not run")

	if took := with - used(); took > limit {
		t.Errorf("an open store takes %d bytes, want at most %d", took, limit)
	} else {
		t.Logf("an open store takes %d kB of heap and stacks", took>>10)
	}
}
