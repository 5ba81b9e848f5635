// SPDX-License-Identifier: Apache-2.0

package apid

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	buildinfo "runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/pki"
	"github.com/seed-59268b81/talos/sys/sandbox"
)

// childSocket is the environment variable that makes the test binary run apid for that socket, with the certificates in the file
// that childKeys names.
const (
	childSocket = "TEST_APID_SOCKET"
	childKeys   = "TEST_APID_KEYS"
)

// keys are the certificates of the child, PEM.
type keys struct{ Crt, Key, CA []byte }

// child is apid as it runs on a machine: a process of its own, with its limits.
func child(socket string) {
	raw, err := os.ReadFile(os.Getenv(childKeys))
	fatal(err)

	var k keys

	fatal(json.Unmarshal(raw, &k))

	server, err := tls.X509KeyPair(k.Crt, k.Key)
	fatal(err)

	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(k.CA)

	router := NewRouter(newLog(os.Stderr), socket)
	router.SetView(&View{Server: &server, CAs: pool})

	// On all addresses, as on a machine: the tests use several.
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "0.0.0.0:0")
	fatal(err)
	fatal(sandbox.Restrict())
	fmt.Println(l.Addr().(*net.TCPAddr).Port) // TCP it is
	fatal(router.Server().Serve(newListener(l, router.pressure)))
}

func fatal(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// apidProcess is a running child.
type apidProcess struct {
	*node

	ca   *pki.CA
	port int
	pid  int
	log  string // file of its output
}

// startChild starts a backend in this process and apid in a process of its own.
func startChild(t testing.TB) *apidProcess {
	t.Helper()

	if raced() {
		t.Skip("the race detector needs more memory than apid has")
	}

	ca := newCA(t)
	n := &node{backend: &backend{name: "a"}, socket: filepath.Join(t.TempDir(), "machine.sock")}

	serveBackend(t, n)

	leaf, err := ca.Sign(pki.LeafOptions{CommonName: "node", IPs: loopbacks(), Server: true, TTL: time.Hour})
	if err != nil {
		t.Fatal(err)
	}

	raw, err := json.Marshal(keys{Crt: leaf.Crt, Key: leaf.Key, CA: ca.PEM.Crt})
	if err != nil {
		t.Fatal(err)
	}

	file := filepath.Join(t.TempDir(), "keys.json")
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		t.Fatal(err)
	}

	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()

	pid, line := spawn(t, log, childSocket+"="+n.socket, childKeys+"="+file, "GOMEMLIMIT=96MiB", "GOGC=50", "GOMAXPROCS=2")

	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("apid's log: %.2000s", readFile(t, log.Name()))
		}
	})

	p := &apidProcess{node: n, ca: ca, pid: pid, log: log.Name()}
	if p.port, err = strconv.Atoi(strings.TrimSpace(line)); err != nil {
		t.Fatal(err)
	}

	n.addr = net.JoinHostPort("127.0.0.1", strconv.Itoa(p.port))

	return p
}

// spawn starts this program again, with additional environment variables, and returns its first line of output. The process ends with
// the test.
func spawn(t testing.TB, stderr *os.File, env ...string) (pid int, line string) {
	t.Helper()

	cmd := exec.CommandContext(context.Background(), os.Args[0])
	cmd.Env = append(os.Environ(), env...)
	cmd.Stderr = stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}

	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}

	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		cmd.Process.Kill() // it may have ended, which the test has seen
		cmd.Wait()         // killed
	})

	if line, err = bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("the child does not start: %v %s", err, line)
	}

	return cmd.Process.Pid, line
}

func readFile(t testing.TB, path string) string {
	t.Helper()

	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}

	return string(raw)
}

// loopbacks are the addresses of clients and servers in the tests.
func loopbacks() []netip.Addr {
	return []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("127.0.0.2")}
}

// raced reports whether the race detector is on.
func raced() bool {
	info, ok := buildinfo.ReadBuildInfo()

	return ok && slices.Contains(info.Settings, buildinfo.BuildSetting{Key: "-race", Value: "true"})
}

// memory returns the present and the largest memory of the process, in MiB.
func (p *apidProcess) memory(t testing.TB) (now, peak int) {
	t.Helper()

	for line := range strings.Lines(readFile(t, fmt.Sprintf("/proc/%d/status", p.pid))) {
		fields := strings.Fields(line)

		switch {
		case strings.HasPrefix(line, "VmRSS:"):
			now, _ = strconv.Atoi(fields[1])
		case strings.HasPrefix(line, "VmHWM:"):
			peak, _ = strconv.Atoi(fields[1])
		}
	}

	if now == 0 {
		t.Fatal("apid has ended")
	}

	return now >> 10, peak >> 10
}
