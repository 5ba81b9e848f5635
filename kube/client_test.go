// SPDX-License-Identifier: Apache-2.0

package kube_test

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/kube"
	"github.com/seed-59268b81/talos/kube/kubeconfig"
	"github.com/seed-59268b81/talos/pki"
)

// serve starts an API server with this handler.
func serve(t *testing.T, handler http.HandlerFunc) *kube.Client {
	t.Helper()

	server := httptest.NewTLSServer(handler)
	t.Cleanup(server.Close)

	client, err := kube.New(kubeconfig.Config{
		Server: server.URL + "/", TLSServerName: "example.com", Token: "abc",
		CA: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
	})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(client.Close)

	return client
}

func TestErrors(t *testing.T) {
	client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/missing":
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"kind":"Status","reason":"NotFound","message":"pods \"x\" not found"}`)
		case "/conflict":
			w.WriteHeader(http.StatusConflict)
			fmt.Fprint(w, `{"reason":"Conflict","message":"the object has been modified"}`)
		case "/broken":
			w.WriteHeader(http.StatusBadGateway)
			fmt.Fprint(w, "upstream is gone\n")
		case "/garbage":
			fmt.Fprint(w, "<html>")
		default:
			if r.Header.Get("Authorization") != "Bearer abc" {
				t.Errorf("authorization: got %q", r.Header.Get("Authorization"))
			}

			fmt.Fprint(w, `{"kind":"Pod"}`)
		}
	})

	for path, test := range map[string]struct {
		text     string
		notFound bool
		conflict bool
	}{
		"/missing":  {text: `404 NotFound: pods "x" not found`, notFound: true},
		"/conflict": {text: "409 Conflict: the object has been modified", conflict: true},
		"/broken":   {text: "GET /broken: 502: upstream is gone"},
		"/garbage":  {text: "GET /garbage: answer"},
		"/fine":     {},
	} {
		t.Run(path, func(t *testing.T) {
			_, err := client.Get(t.Context(), path)
			if (err == nil) != (test.text == "") || err != nil && !strings.Contains(err.Error(), test.text) {
				t.Errorf("got error %v, want %q", err, test.text)
			}

			if kube.IsNotFound(err) != test.notFound || kube.IsConflict(err) != test.conflict {
				t.Errorf("got not found %v, conflict %v", kube.IsNotFound(err), kube.IsConflict(err))
			}
		})
	}
}

func TestFind(t *testing.T) {
	client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/there":
			fmt.Fprint(w, `{"metadata":{"name":"x"},"more":1}`)
		case "/missing":
			w.WriteHeader(http.StatusNotFound)
		default:
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, `{"reason":"Forbidden","message":"no"}`)
		}
	})

	for path, want := range map[string]struct {
		found     bool
		name      string
		forbidden bool
	}{
		"/there": {found: true, name: "x"}, "/missing": {}, "/other": {forbidden: true},
	} {
		var into struct{ Metadata struct{ Name string } }

		found, err := client.Find(t.Context(), path, &into)
		if found != want.found || into.Metadata.Name != want.name || kube.IsForbidden(err) != want.forbidden || !want.forbidden && err != nil {
			t.Errorf("%s: got %v, %q, %v; want %+v", path, found, into.Metadata.Name, err, want)
		}
	}
}

// TestProxy checks that connections go through the proxy of the kubeconfig.
func TestProxy(t *testing.T) {
	asked := make(chan string, 1)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.Method + " " + r.Host

		w.WriteHeader(http.StatusBadGateway)
	}))
	defer proxy.Close()

	ca, err := pki.NewCA(pki.CAOptions{Kind: pki.ECDSAP256})
	if err != nil {
		t.Fatal(err)
	}

	config := kubeconfig.Config{Server: "https://kubernetes.test:6443", ProxyURL: proxy.URL, CA: ca.PEM.Crt}

	client, err := kube.New(config)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()

	if _, err := client.Get(t.Context(), "/api"); err == nil {
		t.Error("the proxy refuses: got no error")
	}

	if got, want := <-asked, "CONNECT kubernetes.test:6443"; got != want {
		t.Errorf("the proxy: got %s, want %s", got, want)
	}

	config.CA = nil
	if _, err := kube.New(config); err == nil || !strings.Contains(err.Error(), "authority") {
		t.Errorf("no authority: got %v, want an error that names it", err)
	}
}

// TestConflicts checks that ApplyUncontested does not force, and that Conflicts returns the fields.
func TestConflicts(t *testing.T) {
	client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.RawQuery != "fieldManager=me" || r.Header.Get("Content-Type") != "application/apply-patch+yaml" {
			t.Errorf("got %s with %s, want an apply without force", r.URL, r.Header.Get("Content-Type"))
		}

		w.WriteHeader(http.StatusConflict)
		fmt.Fprint(w, `{"reason": "Conflict", "message": "1 conflict", "details": {"causes": [
			{"reason": "FieldManagerConflict", "message": "conflict with \"you\"", "field": ".spec.replicas"}, {"reason": "Other", "field": ".x"}]}}`)
	})

	_, err := client.ApplyUncontested(t.Context(), "/x", "me", kube.Object{})

	want := []kube.Cause{{Reason: "FieldManagerConflict", Message: `conflict with "you"`, Field: ".spec.replicas"}}
	if diff := cmp.Diff(want, kube.Conflicts(err)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	if got := kube.Conflicts(errors.New("another")); got != nil {
		t.Errorf("another error: got %v, want none", got)
	}
}

// TestDelete checks that only the object with the UID is deleted.
func TestDelete(t *testing.T) {
	client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Method != http.MethodDelete || !strings.Contains(string(body), `"preconditions":{"uid":"abc"}`) {
			t.Errorf("got %s %s, want a deletion of the object with the UID", r.Method, body)
		}

		fmt.Fprint(w, "{}")
	})

	if err := client.Delete(t.Context(), "/x", "abc"); err != nil {
		t.Error(err)
	}
}

func TestPathOf(t *testing.T) {
	asked := 0
	client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked++

		switch r.URL.Path {
		case "/api/v1":
			fmt.Fprint(w, `{"resources":[{"name":"pods","kind":"Pod","namespaced":true},{"name":"pods/status","kind":"Pod","namespaced":true},{"name":"namespaces","kind":"Namespace"}]}`)
		case "/apis/apps/v1":
			fmt.Fprint(w, `{"resources":[{"name":"deployments","kind":"Deployment","namespaced":true}]}`)
		default:
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, "404 page not found")
		}
	})

	for name, test := range map[string]struct {
		object  kube.Object
		want    string
		unknown bool
	}{
		"in a namespace":                 {object: object("v1", "Pod", "kube-system", "x"), want: "/api/v1/namespaces/kube-system/pods/x"},
		"in the default one":             {object: object("apps/v1", "Deployment", "", "x"), want: "/apis/apps/v1/namespaces/default/deployments/x"},
		"of the cluster":                 {object: object("v1", "Namespace", "ignored", "x"), want: "/api/v1/namespaces/x"},
		"a name with special characters": {object: object("v1", "Namespace", "", "a/../b"), want: "/api/v1/namespaces/a%2F..%2Fb"},
		"an unknown kind":                {object: object("v1", "Thing", "", "x"), unknown: true},
		"an unknown group":               {object: object("example.org/v1", "Thing", "", "x"), unknown: true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := client.PathOf(t.Context(), test.object)
			if got != test.want || errors.Is(err, kube.ErrUnknownKind) != test.unknown || !test.unknown && err != nil {
				t.Errorf("got %q, %v; want %q", got, err, test.want)
			}
		})
	}

	before := asked

	if _, err := client.PathOf(t.Context(), object("v1", "Pod", "", "y")); err != nil || asked != before {
		t.Errorf("a known kind: got %d more requests (%v), want none", asked-before, err)
	}

	if _, err := client.PathOf(t.Context(), object("v1", "Pod", "", "")); err == nil || !strings.Contains(err.Error(), "metadata.name") {
		t.Errorf("no name: got error %v", err)
	}
}

func object(apiVersion, kind, namespace, name string) kube.Object {
	return kube.Object{"apiVersion": apiVersion, "kind": kind, "metadata": kube.Object{"namespace": namespace, "name": name}}
}

func TestWatch(t *testing.T) {
	client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		if got := query.Get("fieldSelector"); got != "metadata.name=cp1" {
			t.Errorf("selector: got %q", got)
		}

		if query.Get("watch") == "" {
			page, more := "cp1", `,"continue":"next"`
			if query.Get("continue") == "next" {
				page, more = "cp2", ""
			}

			fmt.Fprintf(w, `{"metadata":{"resourceVersion":"7"%s},"items":[{"metadata":{"name":%q}}]}`, more, page)

			return
		}

		if got := query.Get("resourceVersion"); got != "7" {
			t.Errorf("the watch starts from %q, want the list's version", got)
		}

		encoder := json.NewEncoder(w)
		for _, typ := range []string{"MODIFIED", "DELETED"} {
			_ = encoder.Encode(kube.Event{Type: typ, Object: kube.Object{"metadata": kube.Object{"name": "cp1"}}})
		}
	})

	var got []string

	err := client.Watch(context.Background(), "/api/v1/nodes", "metadata.name=cp1", func(e kube.Event) error {
		got = append(got, e.Type)

		return nil
	})
	if err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff([]string{"ADDED", "ADDED", "", "MODIFIED", "DELETED"}, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// TestRedirects checks that the client does not follow a redirect of an API server.
func TestRedirects(t *testing.T) {
	gone := false
	client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		gone = gone || r.URL.Path == "/elsewhere"
		http.Redirect(w, r, "/elsewhere", http.StatusFound)
	})

	if _, err := client.Get(t.Context(), "/api"); err == nil || gone {
		t.Errorf("got %v, followed: %t; want an error of the first answer", err, gone)
	}
}
