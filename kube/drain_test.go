// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// apiServer has the pods of one node. It answers each eviction with the next status of its pod, and then 201: such a pod is listed once more.
type apiServer struct {
	mu       sync.Mutex
	pods     []string          // JSON
	statuses map[string][]int  // of evictions, by the pod's name
	ending   map[string]bool   // by the pod's name
	asked    []string          // evictions, in order
	patches  map[string]string // content of the last patch, by path
}

func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()

	switch {
	case r.Method == http.MethodGet && r.URL.Path == "/api/v1/pods" && r.URL.Query().Get("fieldSelector") == "spec.nodeName=n1":
		fmt.Fprintf(w, `{"items": [%s]}`, strings.Join(s.pods, ","))

		s.pods = slices.DeleteFunc(s.pods, func(p string) bool { return s.ending[nameOf(p)] })
	case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/eviction"):
		s.evict(w, r)
	case r.Method == http.MethodPatch:
		content, _ := io.ReadAll(r.Body) // an empty body fails the test
		s.patches[r.Header.Get("Content-Type")+" "+r.URL.Path] = string(content)
		io.WriteString(w, "{}")
	default:
		w.WriteHeader(http.StatusNotFound)
		io.WriteString(w, `{"message": "nodes \"n9\" not found"}`)
	}
}

func (s *apiServer) evict(w http.ResponseWriter, r *http.Request) {
	var eviction struct {
		Kind     string
		Metadata struct{ Namespace, Name string }
	}

	if err := json.NewDecoder(r.Body).Decode(&eviction); err != nil || eviction.Kind != "Eviction" {
		w.WriteHeader(http.StatusBadRequest)

		return
	}

	name := eviction.Metadata.Name
	s.asked = append(s.asked, name)

	if left := s.statuses[name]; len(left) > 0 {
		s.statuses[name] = left[1:]

		w.WriteHeader(left[0])
		fmt.Fprintf(w, `{"message": "Cannot evict pod.", "details": {"causes": [{"message": "The disruption budget %s needs 1."}]}}`, name)

		return
	}

	s.ending[name] = true

	w.WriteHeader(http.StatusCreated)
	io.WriteString(w, "{}")
}

func nameOf(text string) string {
	var p struct{ Metadata struct{ Name string } }

	if err := json.Unmarshal([]byte(text), &p); err != nil {
		panic(err) // The pods of a test can be decoded.
	}

	return p.Metadata.Name
}

func podText(name, more string) string {
	return `{"metadata": {"namespace": "default", "name": "` + name + `", "uid": "uid-` + name + `"` + more + `}}`
}

// serve answers without a network, for synctest.
func serve(t *testing.T, handler http.Handler) *Client {
	t.Helper()

	return &Client{server: "http://kubernetes.test", http: &http.Client{Transport: direct{handler}}}
}

type direct struct{ http.Handler }

func (d direct) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	d.ServeHTTP(w, r)

	return w.Result(), r.Context().Err()
}

func TestDrain(t *testing.T) {
	const (
		mirror    = `, "annotations": {"kubernetes.io/config.mirror": "x"}`
		daemon    = `, "ownerReferences": [{"kind": "DaemonSet", "controller": true}]`
		daemonToo = `, "ownerReferences": [{"kind": "DaemonSet"}, {"kind": "ReplicaSet", "controller": true}]`
	)

	for _, tt := range []struct {
		name     string
		pods     []string
		statuses map[string][]int
		asked    []string
		said     []string
		took     time.Duration
		err      string
	}{
		{name: "nothing to move", pods: []string{podText("static", mirror), podText("daemon", daemon)}},
		{
			name: "those that belong to the node stay", pods: []string{podText("static", mirror), podText("a", ""), podText("daemon", daemon), podText("b", daemonToo)},
			asked: []string{"a", "b"}, said: []string{"evicting pod default/a", "evicting pod default/b"}, took: 4 * time.Second,
		},
		{
			name: "a budget is waited for", pods: []string{podText("a", ""), podText("b", "")}, statuses: map[string][]int{"a": {429, 429}},
			asked: []string{"a", "b", "a", "a"}, said: []string{"evicting pod default/b", "evicting pod default/a"}, took: 8 * time.Second,
		},
		{
			name: "a server that is not well is asked again", pods: []string{podText("a", "")}, statuses: map[string][]int{"a": {503}},
			asked: []string{"a", "a"}, said: []string{"evicting pod default/a"}, took: 6 * time.Second,
		},
		{
			name: "no right to", pods: []string{podText("a", "")}, statuses: map[string][]int{"a": {403}},
			asked: []string{"a"}, err: "evict pod default/a: 403: Cannot evict pod. The disruption budget a needs 1.",
		},
		{
			name: "time over", pods: []string{podText("a", ""), podText("b", "")}, statuses: map[string][]int{"a": slices.Repeat([]int{429}, 99), "b": {404}},
			asked: append([]string{"a", "b"}, slices.Repeat([]string{"a"}, 15)...), took: 31 * time.Second,
			err: "no more time with pods left: pod default/a: 429: Cannot evict pod. The disruption budget a needs 1.; " +
				"pod default/b: it was evicted and has not ended yet",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := &apiServer{pods: tt.pods, statuses: tt.statuses, ending: map[string]bool{}}

				ctx, cancel := context.WithTimeoutCause(t.Context(), 31*time.Second, errors.New("no more time"))
				defer cancel()

				var said []string

				start := time.Now()
				err := serve(t, server).Drain(ctx, "n1", func(text string) { said = append(said, text) })

				if got := fmt.Sprint(err); got != tt.err && (err != nil || tt.err != "") {
					t.Errorf("got error %s, want %s", got, tt.err)
				}

				if diff := cmp.Diff(tt.asked, server.asked); diff != "" {
					t.Errorf("evictions (-want +got):\n%s", diff)
				}

				if diff := cmp.Diff(tt.said, said); diff != "" {
					t.Errorf("said (-want +got):\n%s", diff)
				}

				if took := time.Since(start); took != tt.took {
					t.Errorf("took %s, want %s", took, tt.took)
				}
			})
		})
	}
}

func TestSetSchedulable(t *testing.T) {
	server := &apiServer{patches: map[string]string{}}
	client := serve(t, server)

	if err := client.SetSchedulable(t.Context(), "n1", false); err != nil {
		t.Error(err)
	}

	want := map[string]string{"application/merge-patch+json /api/v1/nodes/n1": `{"spec":{"unschedulable":true}}`}
	if diff := cmp.Diff(want, server.patches); diff != "" {
		t.Errorf("patches (-want +got):\n%s", diff)
	}

	_, err := client.Node(t.Context(), "n9")
	if got, want := fmt.Sprint(err), `Kubernetes node n9: 404: nodes "n9" not found`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
