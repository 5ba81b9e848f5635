// SPDX-License-Identifier: Apache-2.0

package pages_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	serverapi "github.com/seed-59268b81/talos/api/discovery/server"
	"github.com/seed-59268b81/talos/discovery/pages"
	"github.com/seed-59268b81/talos/discovery/server"
	"github.com/seed-59268b81/talos/test/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

func TestPages(t *testing.T) {
	s := server.New(server.Options{Rate: 0.001, Burst: 5}, slog.New(slog.DiscardHandler))

	if _, err := s.AffiliateUpdate(t.Context(), &serverapi.AffiliateUpdateRequest{
		ClusterId: "<c>", AffiliateId: "machine", AffiliateData: []byte{0xab, 0xcd}, AffiliateEndpoints: [][]byte{{0xef}}, Ttl: durationpb.New(time.Minute),
	}); err != nil {
		t.Fatal(err)
	}

	handler := pages.Handler(s)

	for _, c := range []struct {
		method, path string
		code         int
		want         []string
	}{
		{"GET", "/", http.StatusOK, []string{"encrypted", "version of the client"}},
		{"GET", "/inspect?clusterID=%3Cc%3E", http.StatusOK, []string{"&lt;c&gt;", "machine", "abcd", "ef", "1 affiliates"}},
		{"GET", "/inspect?clusterID=unknown", http.StatusOK, []string{"0 affiliates"}},
		{"GET", "/inspect", http.StatusBadRequest, nil},
		{"GET", "/inspect?clusterID=" + strings.Repeat("x", 257), http.StatusBadRequest, nil},
		{"GET", "/stats", http.StatusOK, []string{`{"affiliates":1}`}},
		{"GET", "/stats/x", http.StatusOK, []string{`{"affiliates":1}`}},
		{"GET", "/other", http.StatusNotFound, nil},
		{"POST", "/stats", http.StatusMethodNotAllowed, nil},
	} {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), c.method, c.path, nil))

		if w.Code != c.code {
			t.Errorf("%s %s: got %d, want %d", c.method, c.path, w.Code, c.code)
		}

		for _, want := range c.want {
			if !strings.Contains(w.Body.String(), want) {
				t.Errorf("%s %s: want %s in\n%s", c.method, c.path, want, w.Body)
			}
		}
	}

	if s.Counts().Clusters != 1 {
		t.Error("a page has made a cluster")
	}
}

// stalled is a browser that does not read.
type stalled struct {
	http.ResponseWriter

	began, ended chan struct{}
	once         sync.Once
}

func (s *stalled) Write(p []byte) (int, error) {
	s.once.Do(func() { close(s.began) })
	<-s.ended

	return s.ResponseWriter.Write(p)
}

// TestStalled: browsers that do not read cannot make the service hold any number of pages.
func TestStalled(t *testing.T) {
	handler := pages.Handler(server.New(server.Options{}, slog.New(slog.DiscardHandler)))
	ended := make(chan struct{})
	request := func() *http.Request {
		return httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/inspect?clusterID=c", nil)
	}

	var running sync.WaitGroup

	for range 8 {
		w := &stalled{ResponseWriter: httptest.NewRecorder(), began: make(chan struct{}), ended: ended}

		running.Go(func() { handler.ServeHTTP(w, request()) })
		<-w.began
	}

	next := func() int {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, request())

		return w.Code
	}

	if got := next(); got != http.StatusServiceUnavailable {
		t.Errorf("one too many: %d", got)
	}

	close(ended)
	running.Wait()

	if got := next(); got != http.StatusOK {
		t.Errorf("afterwards: %d", got)
	}
}
