// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/controllers/k8s/talosaccess"
	"github.com/seed-59268b81/talos/kube"
	"github.com/seed-59268b81/talos/kube/kubeconfig"
	"github.com/seed-59268b81/talos/pki"
	"github.com/seed-59268b81/talos/resources/kubeaccess"
	"github.com/seed-59268b81/talos/resources/secrets"
)

// fakeKubernetes keeps objects by their paths, and records the writes.
type fakeKubernetes struct {
	objects map[string]kube.Object
	writes  []string
	// refused are the requests that have a status of an error.
	refused map[string]int
}

func (f *fakeKubernetes) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body kube.Object

	_ = json.NewDecoder(r.Body).Decode(&body) // a read has none

	path := r.URL.Path
	if r.Method == http.MethodPost {
		path += "/" + body["metadata"].(kube.Object)["name"].(string)
	}

	object, there := f.objects[path]

	if code := f.refused[r.Method+" "+path]; code != 0 {
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(kube.Object{"kind": "Status", "message": "no, and no again", "code": code})

		return
	}

	switch {
	case r.Method == http.MethodPatch && strings.HasSuffix(path, "/status"):
		there, object = true, body
	case r.Method == http.MethodDelete && there:
		delete(f.objects, path)
	case r.Method == http.MethodPost, r.Method == http.MethodPut, r.Method == http.MethodPatch:
		f.objects[path], object, there = body, body, true
	}

	if r.Method != http.MethodGet {
		f.writes = append(f.writes, r.Method+" "+path)
	}

	if !there {
		w.WriteHeader(http.StatusNotFound)
	}

	_ = json.NewEncoder(w).Encode(object) // the client reports it
}

func startFakeKubernetes(t *testing.T, objects map[string]kube.Object) (*fakeKubernetes, *kube.Client) {
	t.Helper()

	fake := &fakeKubernetes{objects: objects}
	server := httptest.NewTLSServer(fake)
	t.Cleanup(server.Close)

	client, err := kube.New(kubeconfig.Config{Server: server.URL, CA: certificateOf(server)})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(client.Close)

	return fake, client
}

// TestTalosAccount checks what is written for a request for credentials.
func TestTalosAccount(t *testing.T) {
	const (
		secret = "/api/v1/namespaces/n/secrets/a"
		status = "PATCH /apis/talos.dev/v1alpha1/namespaces/n/serviceaccounts/a/status"
	)

	ca, err := pki.NewCA(pki.CAOptions{Kind: pki.Ed25519, Organization: []string{"talos"}})
	if err != nil {
		t.Fatal(err)
	}

	signer := talosaccess.Authority{Cluster: "demo", Root: secrets.OSRootSpec{
		IssuingCA: secrets.CertAndKey{Crt: ca.PEM.Crt, Key: ca.PEM.Key}, AcceptedCAs: []secrets.Cert{{Crt: ca.PEM.Crt}},
	}}
	allowed := kubeaccess.ConfigSpec{Enabled: true, AllowedAPIRoles: []string{"os:reader", "os:operator"}, AllowedKubernetesNamespaces: []string{"n"}}
	asked := talosaccess.Request{Namespace: "n", Name: "a", UID: "1", Roles: []string{"os:reader"}}

	held := func(r talosaccess.Request) kube.Object {
		object, _, err := signer.Secret(r, time.Now())
		if err != nil {
			t.Fatal(err)
		}

		object["metadata"].(kube.Object)["uid"] = "s"

		return object
	}

	failed, operator, another := asked, asked, asked
	failed.Failure, operator.Roles, another.UID = "earlier", []string{"os:operator"}, "2"

	for name, tt := range map[string]struct {
		request talosaccess.Request
		allowed kubeaccess.ConfigSpec
		secret  kube.Object
		want    []string
	}{
		"a new request":              {asked, allowed, nil, []string{"POST " + secret}},
		"as before":                  {asked, allowed, held(asked), nil},
		"no longer refused":          {failed, allowed, held(asked), []string{status}},
		"other roles":                {operator, allowed, held(asked), []string{"PUT " + secret}},
		"a Secret of someone else":   {asked, allowed, kube.Object{"metadata": kube.Object{"uid": "s"}}, []string{status}},
		"a Secret of an older one":   {another, allowed, held(asked), []string{status}},
		"refused":                    {asked, kubeaccess.ConfigSpec{}, nil, []string{status}},
		"the access has ended":       {asked, kubeaccess.ConfigSpec{}, held(asked), []string{"DELETE " + secret, status}},
		"ended, of someone else":     {asked, kubeaccess.ConfigSpec{}, kube.Object{"metadata": kube.Object{"uid": "s"}}, []string{status}},
		"refused for another reason": {failed, kubeaccess.ConfigSpec{}, nil, []string{status}},
	} {
		t.Run(name, func(t *testing.T) {
			objects := map[string]kube.Object{}
			if tt.secret != nil {
				objects[secret] = tt.secret
			}

			fake, client := startFakeKubernetes(t, objects)

			failure, due, err := answerTalosAccount(t.Context(), client, signer, tt.allowed, tt.request)
			if err != nil {
				t.Fatal(err)
			}

			if written := len(tt.want) > 0 && tt.want[len(tt.want)-1] == status; written != (failure != tt.request.Failure) {
				t.Errorf("the reason is %q after %q, status written: %t", failure, tt.request.Failure, written)
			}

			if diff := cmp.Diff(tt.want, fake.writes); diff != "" {
				t.Errorf("writes (-want +got):\n%s", diff)
			}

			soon := tt.secret != nil && len(tt.want) == 1 && tt.want[0] == status && tt.request.Failure == "" && tt.allowed.Enabled

			if ahead := time.Until(due); !due.IsZero() && ahead > talosAccountRetry == soon {
				t.Errorf("again in %s, want it soon: %t", ahead, soon)
			}
		})
	}
}

// TestTalosAccountRefused checks that a request which the API server refuses is answered with the reason, and looked at again later. When pods
// lose the access, a Secret that cannot be deleted is an error.
func TestTalosAccountRefused(t *testing.T) {
	const (
		secret = "/api/v1/namespaces/n/secrets/a"
		status = "PATCH /apis/talos.dev/v1alpha1/namespaces/n/serviceaccounts/a/status"
	)

	ca, err := pki.NewCA(pki.CAOptions{Kind: pki.Ed25519, Organization: []string{"talos"}})
	if err != nil {
		t.Fatal(err)
	}

	signer := talosaccess.Authority{Cluster: "demo", Root: secrets.OSRootSpec{
		IssuingCA: secrets.CertAndKey{Crt: ca.PEM.Crt, Key: ca.PEM.Key}, AcceptedCAs: []secrets.Cert{{Crt: ca.PEM.Crt}},
	}}
	allowed := kubeaccess.ConfigSpec{Enabled: true, AllowedAPIRoles: []string{"os:reader"}, AllowedKubernetesNamespaces: []string{"n"}}
	asked := talosaccess.Request{Namespace: "n", Name: "a", UID: "1", Roles: []string{"os:reader"}}

	held, _, err := signer.Secret(asked, time.Now())
	if err != nil {
		t.Fatal(err)
	}

	for name, tt := range map[string]struct {
		allowed kubeaccess.ConfigSpec
		secret  kube.Object
		refused map[string]int
		writes  []string
		failed  bool
	}{
		"a Secret that may not be read":    {allowed, nil, map[string]int{"GET " + secret: 403}, []string{status}, false},
		"a Secret that may not be created": {allowed, nil, map[string]int{"POST " + secret: 403}, []string{status}, false},
		"a Secret that is not valid":       {allowed, nil, map[string]int{"POST " + secret: 422}, []string{status}, false},
		"nor a status":                     {allowed, nil, map[string]int{"POST " + secret: 422, status: 403}, nil, false},
		"a server that is not ready":       {allowed, nil, map[string]int{"POST " + secret: 503}, nil, true},
		"the end of the access":            {kubeaccess.ConfigSpec{}, held, map[string]int{"DELETE " + secret: 403}, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			fake, client := startFakeKubernetes(t, map[string]kube.Object{})
			fake.refused = tt.refused

			if tt.secret != nil {
				fake.objects[secret] = tt.secret
			}

			failure, due, err := answerTalosAccount(t.Context(), client, signer, tt.allowed, asked)

			if diff := cmp.Diff(tt.writes, fake.writes); diff != "" || (err != nil) != tt.failed {
				t.Errorf("got %v, writes (-want +got):\n%s", err, diff)
			}

			if !tt.failed && (!strings.Contains(failure, "no, and no again") || due.IsZero() || time.Until(due) > talosAccountRetry) {
				t.Errorf("the reason is %q, again in %s", failure, time.Until(due))
			}
		})
	}
}

// TestTalosAnswers checks when a request gets another answer: with each change of one request, all are seen again.
func TestTalosAnswers(t *testing.T) {
	object := func(uid, failure string) kube.Object {
		return kube.Object{
			"metadata": kube.Object{"namespace": "n", "name": "a", "uid": uid},
			"spec":     kube.Object{"roles": []any{"os:reader"}}, "status": kube.Object{"failureReason": failure},
		}
	}

	var (
		a         talosAccounts
		now       = time.Now()
		settings  = talosSettings{allowed: kubeaccess.ConfigSpec{Enabled: true}}
		renewal   = now.Add(12 * time.Hour)
		unchanged = func(talosaccess.Request) (string, time.Time, error) { return "refused", renewal, nil }
		fails     = func(talosaccess.Request) (string, time.Time, error) { return "", time.Time{}, errors.New("no answer") }
		soon      = func(talosaccess.Request) (string, time.Time, error) { return "refused", now.Add(time.Second), nil }
	)

	for _, step := range []struct {
		name     string
		after    time.Duration
		object   kube.Object
		settings talosSettings
		one      func(talosaccess.Request) (string, time.Time, error)
		want     bool // another answer
		next     time.Duration
	}{
		{"a new request", 0, object("1", ""), settings, unchanged, true, talosAccountCheck},
		{"with the answer", time.Second, object("1", "refused"), settings, unchanged, false, talosAccountCheck - time.Second},
		{"with that of another control plane", time.Second, object("1", ""), settings, unchanged, false, talosAccountContest - 2*time.Second},
		{"which stays", talosAccountContest, object("1", ""), settings, unchanged, true, talosAccountCheck},
		{"the next look", talosAccountCheck, object("1", "refused"), settings, unchanged, true, talosAccountCheck},
		{"another request of this name", time.Second, object("2", ""), settings, fails, true, talosAccountCheck},
		{"after an error", time.Second, object("2", ""), settings, unchanged, true, talosAccountCheck},
		{"other settings", time.Second, object("2", "refused"), talosSettings{}, unchanged, true, talosAccountCheck},
		{"one that is due soon", talosAccountCheck, object("2", "refused"), talosSettings{}, soon, true, time.Second},
	} {
		now = now.Add(step.after)
		called, failed := false, false

		next, err := a.answer(now, step.settings, []kube.Object{step.object}, func(r talosaccess.Request) (failure string, due time.Time, err error) {
			called = true
			failure, due, err = step.one(r)
			failed = err != nil

			return failure, due, err
		})

		if called != step.want || next.Sub(now) != step.next || (err != nil) != failed {
			t.Errorf("%s: got another answer: %t, the next one in %s, %v; want %t, in %s", step.name, called, next.Sub(now), err, step.want, step.next)
		}
	}
}

// TestTalosEndpoints checks that the endpoints are written once, and again only after a change.
func TestTalosEndpoints(t *testing.T) {
	fake, client := startFakeKubernetes(t, map[string]kube.Object{talosaccess.ServicePath: {"metadata": kube.Object{"uid": "1"}}})
	addrs := []netip.Addr{netip.MustParseAddr("192.0.2.1")}

	for _, step := range []struct {
		addrs []netip.Addr
		want  int
	}{{addrs, 1}, {addrs, 1}, {append(addrs, netip.MustParseAddr("192.0.2.2")), 2}} {
		if err := writeTalosEndpoints(t.Context(), client, step.addrs); err != nil || len(fake.writes) != step.want {
			t.Errorf("%v: got writes %q, %v, want %d", step.addrs, fake.writes, err, step.want)
		}
	}

	if err := writeTalosEndpoints(t.Context(), client, []netip.Addr{netip.MustParseAddr("2001:db8::1")}); err != nil || len(fake.writes) != 4 {
		t.Errorf("another family: got writes %q, %v, want both slices written", fake.writes, err)
	}

	delete(fake.objects, talosaccess.ServicePath)

	if err := writeTalosEndpoints(t.Context(), client, addrs); !kube.IsNotFound(err) {
		t.Errorf("without the Service: got %v, want that it is missing", err)
	}
}
