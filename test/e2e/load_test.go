// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/kube/kubeconfig"
	"github.com/seed-59268b81/talos/pki"
)

// pace is how fast a client asks.
type pace struct {
	// timeout of one request. A client that is not answered by then tries again.
	timeout time.Duration
	// pause between two requests.
	pause time.Duration
}

var (
	usualPace = pace{timeout: 5 * time.Second, pause: 40 * time.Millisecond}
	// An emulated API server needs a tenth of a second of a core for one request.
	emulatedPace = pace{timeout: 30 * time.Second, pause: 2 * time.Second}
)

// retryPause is how long a client waits before it repeats a request, as those of Kubernetes do. Etcd drops writes while it moves its leader. An
// API server that shuts down says itself how long to wait (Retry-After).
const retryPause = 250 * time.Millisecond

// load is clients of Kubernetes that write and read, each its own ConfigMap, until they are stopped. Each request is repeated once when it
// fails.
type load struct {
	t       *testing.T
	cancel  context.CancelFunc
	done    sync.WaitGroup
	clients []*writer
	pace    pace
	// emulated machines are not judged by their times.
	emulated bool
	// most is the largest load average that was seen.
	most float64
	// down is set while the test has cut the power of a machine: requests that fail then are counted apart.
	down atomic.Bool
	// held is set while the clients wait.
	held atomic.Bool
}

// writer is one client. Its fields are of interest after its end, apart from those that mu guards.
type writer struct {
	name   string
	url    string
	client *http.Client
	pause  time.Duration

	requests, failures, cut int
	// down and held are those of the load.
	down, held *atomic.Bool
	// repeated are the requests that failed once, lost those that failed twice, and wrong the answers that contradict an earlier one.
	repeated, lost, wrong []string
	// acknowledged is the value of the last write that was answered.
	acknowledged int

	mu sync.Mutex
	// last is when the last request succeeded, and gap the longest time between two since the mark.
	last time.Time
	gap  time.Duration
}

// startLoad starts an empty load.
func startLoad(t *testing.T, emulated bool) (*load, context.Context) {
	ctx, cancel := context.WithCancel(context.Background())
	l := &load{t: t, cancel: cancel, pace: usualPace, emulated: emulated}

	if emulated {
		l.pace = emulatedPace
	}

	t.Cleanup(l.stop)
	l.done.Go(func() { l.watch(ctx) })

	return l, ctx
}

// tooBusy is the load average for each core above which times say more about the computer than about the cluster: API servers then take
// seconds to answer.
const tooBusy = 10

// watch follows the load of the computer.
func (l *load) watch(ctx context.Context) {
	for {
		if text, err := os.ReadFile("/proc/loadavg"); err == nil {
			if now, err := strconv.ParseFloat(strings.Fields(string(text))[0], 64); err == nil {
				l.most = max(l.most, now)
			}
		}

		select {
		case <-ctx.Done():
			return
		case <-time.After(5 * time.Second):
		}
	}
}

// fails returns how a limit that was exceeded is reported: as a failure, unless the machines are emulated or other
// programs kept the computer busy. Call it after stop.
func (l *load) fails(t *testing.T) func(format string, args ...any) {
	if l.emulated {
		t.Log("the machines are emulated: limits of time are not judged")

		return t.Logf
	}

	if l.most > tooBusy*float64(runtime.NumCPU()) {
		t.Logf("the load average was %.0f on %d cores: limits of time are not judged", l.most, runtime.NumCPU())

		return t.Logf
	}

	return t.Errorf
}

// dialer connects to an address; nil is a plain connection.
type dialer = func(ctx context.Context, network, address string) (net.Conn, error)

// add starts a client.
func (l *load) add(ctx context.Context, name, server, file string, dial dialer) {
	l.t.Helper()

	w := l.newWriter(name, server, file, dial)
	l.clients = append(l.clients, w)
	l.done.Go(func() { w.run(ctx) })
}

// newWriter returns a client that is not started.
func (l *load) newWriter(name, server, file string, dial dialer) *writer {
	l.t.Helper()

	text, err := os.ReadFile(file)
	if err != nil {
		l.t.Fatal(err)
	}

	config, err := kubeconfig.Parse(text)
	if err != nil {
		l.t.Fatal(err)
	}

	pool, err := pki.Pool(config.CA)
	if err != nil {
		l.t.Fatal(err)
	}

	pair, err := (pki.Pair{Crt: config.Crt, Key: config.Key}).TLS()
	if err != nil {
		l.t.Fatal(err)
	}

	return &writer{name: name, down: &l.down, held: &l.held, pause: l.pace.pause, url: "https://" + server + "/api/v1/namespaces/default/configmaps", last: time.Now(), client: &http.Client{
		Timeout: l.pace.timeout,
		Transport: &http.Transport{
			DialContext: dial, ForceAttemptHTTP2: true,
			TLSClientConfig: &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12},
		},
	}}
}

// hold has the clients wait. Their last requests may fail.
func (l *load) hold() {
	l.down.Store(true)
	l.held.Store(true)
}

// resume ends hold.
func (l *load) resume() {
	for _, w := range l.clients {
		w.client.CloseIdleConnections()
	}

	l.down.Store(false)
	l.held.Store(false)
}

// stop ends the clients.
func (l *load) stop() {
	l.cancel()
	l.done.Wait()
}

// mark begins a new measurement of gaps.
func (l *load) mark() {
	for _, w := range l.clients {
		w.mu.Lock()
		w.gap = 0
		w.mu.Unlock()
	}
}

// gaps returns the longest time that each client was without an answer since the mark.
func (l *load) gaps() map[string]time.Duration {
	out := map[string]time.Duration{}

	for _, w := range l.clients {
		w.mu.Lock()
		out[w.name] = max(w.gap, time.Since(w.last))
		w.mu.Unlock()
	}

	return out
}

// probePause is the time between two writes of silences.
const probePause = 250 * time.Millisecond

// silences has each client write again and again, without waiting for answers, and returns how long it takes until one is answered. Etcd answers
// no write that it has received between the loss of its leader and the election of another, so the writes of a client that waits for each
// answer do not show that.
func (l *load) silences(ctx context.Context) map[string]time.Duration {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()

	var (
		all sync.WaitGroup
		mu  sync.Mutex
		out = map[string]time.Duration{}
	)

	for _, w := range l.clients {
		all.Go(func() {
			took := w.silence(ctx)

			mu.Lock()
			defer mu.Unlock()

			out[w.name] = took
		})
	}

	all.Wait()

	return out
}

func (w *writer) silence(ctx context.Context) time.Duration {
	ctx, cancel := context.WithCancel(ctx)
	begin := time.Now()

	var probes sync.WaitGroup

	defer probes.Wait()
	defer cancel()

	answered := make(chan struct{}, 1)

	for n := 0; ; n++ {
		probes.Go(func() {
			code, _, err := w.send(ctx, http.MethodPatch, "/load-"+w.name, fmt.Sprintf(`{"data": {"probe": "%d"}}`, n), "application/merge-patch+json")
			if err == nil && code == http.StatusOK {
				select {
				case answered <- struct{}{}:
				default:
				}
			}
		})

		select {
		case <-answered:
			return time.Since(begin)
		case <-ctx.Done():
			return time.Since(begin)
		case <-time.After(probePause):
		}
	}
}

// check ends the clients, and checks that at most one in a thousand requests failed, and none twice. Those that failed while the test had cut
// the power of a machine are not among them.
func (l *load) check(t *testing.T) {
	l.stop()

	fails, requests, failures := l.fails(t), 0, 0

	for _, w := range l.clients {
		t.Logf("client %s: %d requests, %d failed and were repeated, %d more after the power cut", w.name, w.requests, w.failures, w.cut)

		requests, failures = requests+w.requests, failures+w.failures

		for _, repeated := range w.repeated {
			t.Logf("client %s repeated %s", w.name, repeated)
		}

		for _, lost := range w.lost {
			fails("client %s: %s", w.name, lost)
		}

		for _, wrong := range w.wrong {
			t.Errorf("client %s: %s", w.name, wrong)
		}
	}

	t.Logf("%d requests, %d failed (%.3f %%)", requests, failures, 100*float64(failures)/float64(max(requests, 1)))

	if failures*1000 > requests {
		fails("%d of %d requests failed, want at most 0.1 %%", failures, requests)
	}
}

func (w *writer) run(ctx context.Context) {
	defer w.client.CloseIdleConnections()

	name := "load-" + w.name

	w.ask(ctx, http.MethodPost, "", fmt.Sprintf(`{"metadata": {"name": %q}, "data": {"n": "0"}}`, name), "application/json", func(int, configMap) string { return "" })

	for n := 1; ctx.Err() == nil; n++ {
		w.ask(ctx, http.MethodPatch, "/"+name, fmt.Sprintf(`{"data": {"n": "%d"}}`, n), "application/merge-patch+json", func(code int, _ configMap) string {
			if code == http.StatusOK {
				w.acknowledged = n
			}

			return ""
		})
		w.ask(ctx, http.MethodGet, "/"+name, "", "", func(_ int, m configMap) string {
			if got, _ := strconv.Atoi(m.Data.N); got < w.acknowledged {
				return fmt.Sprintf("write %d was acknowledged, and a later read returned %q", w.acknowledged, m.Data.N)
			}

			return ""
		})
	}
}

type configMap struct{ Data struct{ N string } }

// ask sends a request, and again if it fails. Check returns what is wrong with an answer.
func (w *writer) ask(ctx context.Context, method, path, body, content string, check func(code int, m configMap) string) {
	var failed []string

	for w.held.Load() && ctx.Err() == nil {
		time.Sleep(w.pause)
	}

	for range 2 {
		down := w.down.Load()
		code, text, after, err := w.exchange(ctx, method, path, body, content)
		if ctx.Err() != nil {
			return
		}

		w.requests++

		// A repeated creation finds what the first one made.
		if err == nil && code < 300 || code == http.StatusConflict && len(failed) > 0 {
			w.succeeded()

			var m configMap

			if wrong := ""; json.Unmarshal(text, &m) == nil {
				if wrong = check(code, m); wrong != "" {
					w.wrong = append(w.wrong, wrong)
				}
			}

			break
		}

		if down || w.down.Load() {
			w.cut++

			continue
		}

		w.failures++
		failed = append(failed, fmt.Sprintf("%s %s %s: %d %v %.200s", time.Now().Format("15:04:05.000"), method, path, code, err, text))

		select {
		case <-ctx.Done():
			return
		case <-time.After(max(after, retryPause)):
		}
	}

	switch len(failed) {
	case 1:
		w.repeated = append(w.repeated, failed[0])
	case 2:
		w.lost = append(w.lost, fmt.Sprintf("failed twice: %q", failed))
	}

	select {
	case <-ctx.Done():
	case <-time.After(w.pause):
	}
}

func (w *writer) send(ctx context.Context, method, path, body, content string) (int, []byte, error) {
	code, text, _, err := w.exchange(ctx, method, path, body, content)

	return code, text, err
}

// exchange is send that also returns how long the server wants the client to wait before it repeats the request.
func (w *writer) exchange(ctx context.Context, method, path, body, content string) (code int, text []byte, after time.Duration, err error) {
	request, err := http.NewRequestWithContext(ctx, method, w.url+path, bytes.NewReader([]byte(body)))
	if err != nil {
		return 0, nil, 0, err
	}

	if content != "" {
		request.Header.Set("Content-Type", content)
	}

	response, err := w.client.Do(request)
	if err != nil {
		return 0, nil, 0, err
	}
	defer response.Body.Close()

	text, err = io.ReadAll(response.Body)
	seconds, _ := strconv.Atoi(response.Header.Get("Retry-After"))

	return response.StatusCode, text, time.Duration(seconds) * time.Second, err
}

func (w *writer) succeeded() {
	w.mu.Lock()
	defer w.mu.Unlock()

	now := time.Now()
	w.gap = max(w.gap, now.Sub(w.last))
	w.last = now
}
