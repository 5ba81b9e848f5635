// SPDX-License-Identifier: Apache-2.0

//go:build linux

package stranger_test

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/build/hosttools/hosttest"
	"github.com/seed-59268b81/talos/sys/nstest"
	"github.com/seed-59268b81/talos/sys/stranger"
)

func init() { stranger.Main() }

// TestStranger holds that the stranger finds everything: secrets at each kind of port, ports that can be bound, and clients that
// send a secret to any server that answers.
func TestStranger(t *testing.T) {
	if !nstest.Isolate(t) {
		return
	}

	if out, err := exec.Command(hosttest.Need(t, "ip"), "link", "set", "lo", "up").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}

	says := func(name string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/configz" {
				_, _ = fmt.Fprint(w, "token: secret-"+name)
			} else {
				w.WriteHeader(http.StatusForbidden)
			}
		})
	}

	plain := httptest.NewServer(says("plain"))
	defer plain.Close()

	secure := httptest.NewUnstartedServer(says("secure"))
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer secure.Close()

	quiet := httptest.NewServer(http.NotFoundHandler())
	defer quiet.Close()

	greets, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer greets.Close()

	go func() {
		for {
			conn, err := greets.Accept()
			if err != nil {
				return
			}

			_, _ = conn.Write([]byte("hello, secret-greeting\n"))
			_ = conn.Close()
		}
	}()

	secrets := map[string]string{"plain": "secret-plain", "secure": "secret-secure", "greeting": "secret-greeting", "kept": "secret-kept"}

	got := stranger.Run(t, "", stranger.Task{Read: true, Take: true})
	t.Log(got)

	found := got.Found(secrets)
	slices.Sort(found)

	if want := []string{"greeting", "plain", "secure"}; !slices.Equal(found, want) {
		t.Errorf("secrets: got %q, want %q", found, want)
	}

	if len(got.Ports) != 4 || len(got.Taken) != 0 {
		t.Errorf("got ports %v, of which it took %q; want 4, and none taken", got.Ports, got.Taken)
	}

	// A port whose owner has ended, and a client that sends a password there.
	port := plain.Listener.Addr().(*net.TCPAddr).Port
	done := make(chan struct{})

	go func() {
		defer close(done)

		for range 200 {
			request, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, fmt.Sprintf("http://127.0.0.1:%d/x", port), nil)
			request.SetBasicAuth("admin", "secret-kept")

			response, err := http.DefaultClient.Do(request)
			if err == nil {
				_ = response.Body.Close()

				if response.StatusCode == http.StatusOK {
					return
				}
			}

			time.Sleep(10 * time.Millisecond)
		}
	}()

	time.AfterFunc(200*time.Millisecond, plain.Close)

	got = stranger.Run(t, "", stranger.Task{Ports: []int{port}, Patience: 2 * time.Second})
	<-done
	t.Log(got)

	if len(got.Taken) != 1 || len(got.Asked) == 0 || got.Callers == 0 || !strings.Contains(string(got.Heard), "Authorization: Basic") {
		t.Errorf("got %s, want that it took the port and heard a password", got)
	}
}
