// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/kube"
	"github.com/seed-59268b81/talos/kube/kubeconfig"
)

// TestFollow checks which objects are kept: those for which keep returns a part, and not more than most.
func TestFollow(t *testing.T) {
	t.Parallel()

	object := func(name string, done bool) kube.Object {
		return kube.Object{"metadata": kube.Object{"name": name, "noise": "x"}, "done": done}
	}
	event := func(kind, name string, done bool) kube.Object {
		return kube.Object{"type": kind, "object": object(name, done)}
	}

	for name, test := range map[string]struct {
		list   []any
		events []kube.Object
		want   []string
	}{
		"the list":                     {list: []any{object("a", false), object("b", false)}, want: []string{"a", "b"}},
		"what is done":                 {list: []any{object("a", true), object("b", false)}, want: []string{"b"}},
		"more than may be":             {list: []any{object("a", false), object("b", false), object("c", false)}, want: []string{"a", "b"}},
		"what is done makes room":      {list: []any{object("a", true), object("b", true), object("c", false)}, want: []string{"c"}},
		"what is done later":           {list: []any{object("a", false)}, events: []kube.Object{event("MODIFIED", "a", true)}},
		"what comes":                   {list: []any{object("a", false)}, events: []kube.Object{event("ADDED", "b", false)}, want: []string{"a", "b"}},
		"what comes, more than may be": {list: []any{object("a", false), object("b", false)}, events: []kube.Object{event("ADDED", "c", false)}, want: []string{"a", "b"}},
		"what comes, when there is room": {
			list:   []any{object("a", false), object("b", false)},
			events: []kube.Object{event("DELETED", "a", false), event("DELETED", "never", false), event("ADDED", "c", false)}, want: []string{"b", "c"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				out := json.NewEncoder(w) // the client reports it

				if r.URL.Query().Get("watch") == "" {
					_ = out.Encode(kube.Object{"metadata": kube.Object{"resourceVersion": "1"}, "items": test.list})

					return
				}

				for _, e := range test.events {
					_ = out.Encode(e)
				}
			}))
			defer server.Close()

			latest := make(chan []kube.Object, 1)

			if err := watchOnce(t.Context(), target{
				config: kubeconfig.Config{Server: server.URL, CA: certificateOf(server)}, path: "/things", most: 2,
				keep: func(o kube.Object) kube.Object {
					if o["done"] == true {
						return nil
					}

					_, _, _, name := kube.Identity(o)

					return kube.Object{"kept": name}
				},
			}, latest); err != nil {
				t.Fatal(err)
			}

			var got []string
			for _, o := range <-latest {
				got = append(got, o["kept"].(string))
			}

			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
