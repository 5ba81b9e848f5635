// SPDX-License-Identifier: Apache-2.0

package pages_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
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
