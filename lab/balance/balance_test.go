// SPDX-License-Identifier: Apache-2.0

package balance

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// server is an API server that answers with its name. It can be unready, hang, and lose its power.
type server struct {
	*httptest.Server
	name           string
	unready, hangs atomic.Bool
	off            atomic.Bool
}

func serve(t *testing.T, name string) *server {
	t.Helper()

	s := &server{name: name}
	s.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case s.hangs.Load():
			<-r.Context().Done()
		case r.URL.Path == "/readyz" && s.unready.Load():
			w.WriteHeader(http.StatusInternalServerError)
		default:
			_, _ = w.Write([]byte(name))
		}
	}))
	t.Cleanup(s.Close)

	return s
}

func (s *server) target() Target {
	return Target{Name: s.name, Dial: func(ctx context.Context) (net.Conn, error) {
		if s.off.Load() { // neither accepts nor refuses
			<-ctx.Done()

			return nil, ctx.Err()
		}

		return (&net.Dialer{}).DialContext(ctx, "tcp", s.Listener.Addr().String())
	}}
}

// start runs a balancer of the servers until the test ends, and returns its address.
func start(t *testing.T, servers ...*server) string {
	t.Helper()

	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	var targets []Target
	for _, s := range servers {
		targets = append(targets, s.target())
	}

	b := New(slog.New(slog.DiscardHandler), targets...)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{}, 2)

	go func() { b.Check(ctx); done <- struct{}{} }()
	go func() { b.Serve(ctx, l); done <- struct{}{} }()

	t.Cleanup(func() { cancel(); <-done; <-done })

	return l.Addr().String()
}

// ask asks over a new connection which server answers.
func ask(address string) (string, error) {
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{
		DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
	}}

	response, err := client.Get("https://" + address + "/")
	if err != nil {
		return "", err
	}
	defer response.Body.Close()

	text, err := io.ReadAll(response.Body)

	return string(text), err
}

// until waits until a condition is true.
func until(t *testing.T, what string, is func() error) {
	t.Helper()

	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		err := is()
		if err == nil {
			return
		}

		if time.Now().After(deadline) {
			t.Fatalf("%s: %v", what, err)
		}
	}
}

// answers waits until each of so many new connections in a row leads to the server.
func answers(t *testing.T, address, name string) {
	t.Helper()

	until(t, name+" answers all", func() error {
		for range 5 {
			if got, err := ask(address); err != nil || got != name {
				return errors.Join(err, errors.New("got "+got))
			}
		}

		return nil
	})
}

// TestBalancer checks that new connections go to a server that is ready, whatever happens to the others.
func TestBalancer(t *testing.T) {
	one, two := serve(t, "one"), serve(t, "two")
	two.unready.Store(true)

	address := start(t, one, two)
	answers(t, address, "one")

	two.unready.Store(false)
	one.unready.Store(true)
	answers(t, address, "two")

	one.unready.Store(false)
	two.hangs.Store(true)
	answers(t, address, "one")

	two.hangs.Store(false)
	one.off.Store(true)
	answers(t, address, "two")
}

// TestCuts checks that a connection to a server that hangs is closed when another one is ready, and not before.
func TestCuts(t *testing.T) {
	one, two := serve(t, "one"), serve(t, "two")
	two.unready.Store(true)

	address := start(t, one, two)
	answers(t, address, "one")

	held, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()

	one.hangs.Store(true)

	_ = held.SetReadDeadline(time.Now().Add(5 * time.Second))

	if _, err := held.Read(make([]byte, 1)); !isTimeout(err) {
		t.Errorf("no other server is ready: got %v, want the connection kept", err)
	}

	two.unready.Store(false)

	_ = held.SetReadDeadline(time.Now().Add(20 * time.Second))

	if _, err := held.Read(make([]byte, 1)); err == nil || isTimeout(err) {
		t.Errorf("another server is ready: got %v, want the connection closed", err)
	}
}

// TestPastDead checks that a server without power does not delay a connection.
func TestPastDead(t *testing.T) {
	dead, alive := serve(t, "dead"), serve(t, "alive")
	dead.off.Store(true)

	// Without Check, none is known to be ready: they are tried in turn.
	b := New(slog.New(slog.DiscardHandler), dead.target(), alive.target())

	begin := time.Now()

	conn, to, err := dial(t.Context(), b.order())
	if err != nil || to.Name != "alive" {
		t.Fatalf("got %v, %v, want the server with power", to, err)
	}

	_ = conn.Close()

	if took := time.Since(begin); took > dialTimeout/2 {
		t.Errorf("took %s, want it not to wait for the dead server", took)
	}

	// One that refuses connections is not waited for at all, and when all do, so does the balancer.
	refuses := Target{Name: "refuses", Dial: func(context.Context) (net.Conn, error) { return nil, errors.New("refused") }}

	if _, _, err := dial(t.Context(), New(slog.New(slog.DiscardHandler), refuses, refuses).order()); err == nil {
		t.Error("all servers refuse: got a connection")
	}
}

// hasty is a connection to a server that answers and closes without reading the request. The answer takes a while.
type hasty struct {
	net.Conn

	sent bool
}

func (h *hasty) Read(b []byte) (int, error) {
	if h.sent {
		return 0, io.EOF
	}

	time.Sleep(100 * time.Millisecond)

	h.sent = true

	return copy(b, "too large"), nil
}

func (*hasty) Write([]byte) (int, error) { return 0, syscall.ECONNRESET }
func (*hasty) CloseWrite() error         { return syscall.ENOTCONN }

// TestHastyAnswer: the answer of a server that does not read the rest of the request reaches the client.
func TestHastyAnswer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	near, far := net.Pipe()
	defer near.Close()

	b := New(slog.New(slog.DiscardHandler), Target{Name: "hasty", Dial: func(context.Context) (net.Conn, error) { return &hasty{Conn: far}, nil }})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})

	go func() { b.Serve(ctx, l); close(done) }()

	t.Cleanup(func() { cancel(); <-done })

	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()

	if _, err := conn.Write([]byte("a request")); err != nil {
		t.Fatal(err)
	}

	if got, err := io.ReadAll(conn); string(got) != "too large" {
		t.Errorf("got %q, %v", got, err)
	}
}
