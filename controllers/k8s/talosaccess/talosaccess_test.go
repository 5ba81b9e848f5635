// SPDX-License-Identifier: Apache-2.0

package talosaccess

import (
	"encoding/base64"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/config/talosconfig"
	"github.com/seed-59268b81/talos/kube"
	"github.com/seed-59268b81/talos/pki"
	"github.com/seed-59268b81/talos/resources/kubeaccess"
	"github.com/seed-59268b81/talos/resources/secrets"
)

func request(namespace string, roles ...any) Request {
	return RequestOf(kube.Object{
		"metadata": kube.Object{"namespace": namespace, "name": "a", "uid": "1"}, "spec": kube.Object{"roles": roles},
	})
}

// TestRefusal checks who gets credentials.
func TestRefusal(t *testing.T) {
	allowed := kubeaccess.ConfigSpec{
		Enabled: true, AllowedAPIRoles: []string{"os:reader", "os:etcd:backup"}, AllowedKubernetesNamespaces: []string{"monitoring"},
	}

	for name, tt := range map[string]struct {
		request Request
		allowed kubeaccess.ConfigSpec
		want    string // part of the reason; empty if it is granted
	}{
		"granted":              {request("monitoring", "os:reader"), allowed, ""},
		"several roles":        {request("monitoring", "os:reader", "os:etcd:backup", "os:reader"), allowed, ""},
		"another namespace":    {request("default", "os:reader"), allowed, `namespace "default" is not allowed`},
		"another role":         {request("monitoring", "os:reader", "os:admin"), allowed, `role "os:admin" is not allowed`},
		"the role of apid":     {request("monitoring", "os:impersonator"), allowed, `role "os:impersonator" is not allowed`},
		"a role that is none":  {request("monitoring", 5), allowed, `role "" is not allowed`},
		"no role":              {request("monitoring"), allowed, "names no role"},
		"no access":            {request("monitoring", "os:reader"), kubeaccess.ConfigSpec{AllowedAPIRoles: []string{"os:reader"}}, "no access"},
		"nothing that is kept": {RequestOf(kube.Object{"spec": "x", "metadata": 5}), allowed, `namespace ""`},
	} {
		if got := tt.request.Refusal(tt.allowed); (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}

	object := kube.Object{
		"metadata": kube.Object{"namespace": "n", "name": "a", "uid": "1", "managedFields": []any{}},
		"spec":     kube.Object{"roles": []any{"os:reader"}}, "status": kube.Object{"failureReason": "x"},
	}
	if diff := cmp.Diff(RequestOf(object), RequestOf(Keep(object))); diff != "" {
		t.Errorf("what is kept (-want +got):\n%s", diff)
	}
}

func authority(t *testing.T) Authority {
	t.Helper()

	ca, err := pki.NewCA(pki.CAOptions{Kind: pki.Ed25519, Organization: []string{"talos"}})
	if err != nil {
		t.Fatal(err)
	}

	return Authority{Cluster: "demo", Root: secrets.OSRootSpec{
		IssuingCA: secrets.CertAndKey{Crt: ca.PEM.Crt, Key: ca.PEM.Key}, AcceptedCAs: []secrets.Cert{{Crt: ca.PEM.Crt}},
	}}
}

// TestSecret checks the credentials, and what makes them unfit.
func TestSecret(t *testing.T) {
	a, asked, now := authority(t), request("monitoring", "os:reader", "os:etcd:backup"), time.Now()

	secret, due, err := a.Secret(asked, now)
	if err != nil {
		t.Fatal(err)
	}

	text, err := base64.StdEncoding.DecodeString(secret["data"].(kube.Object)["config"].(string))
	if err != nil {
		t.Fatal(err)
	}

	config, err := talosconfig.Decode(text)
	if err != nil {
		t.Fatal(err)
	}

	context, err := config.Find("")
	if err != nil {
		t.Fatal(err)
	}

	leaf, err := pki.ParseCertificate(context.Crt)
	if err != nil {
		t.Fatal(err)
	}

	life := leaf.NotAfter.Sub(now)
	if diff := cmp.Diff([]string{"os:etcd:backup", "os:reader"}, slices.Sorted(slices.Values(leaf.Subject.Organization))); diff != "" || life > Lifetime+time.Minute || due.After(now.Add(Lifetime)) {
		t.Errorf("certificate: valid for %s, replaced after %s, roles (-want +got):\n%s", life, due.Sub(now), diff)
	}

	if diff := cmp.Diff([]string{"talos.default"}, context.Endpoints); diff != "" {
		t.Errorf("endpoints (-want +got):\n%s", diff)
	}

	if !Owned(secret, asked) || Owned(secret, Request{UID: "2"}) || Owned(kube.Object{}, Request{}) {
		t.Error("the Secret belongs to another object, or to none")
	}

	if _, ok := a.Valid(secret, asked, now); !ok {
		t.Error("new credentials do not fit")
	}

	other, moved := authority(t), a
	moved.Root.AcceptedCAs = append(moved.Root.AcceptedCAs[:1:1], other.Root.AcceptedCAs...)

	renamed := a
	renamed.Cluster = "other"

	for name, tt := range map[string]struct {
		by     Authority
		of     Request
		at     time.Time
		secret kube.Object
	}{
		"after half of the life":   {a, asked, now.Add(Lifetime/2 + time.Hour), secret},
		"before their time":        {a, asked, now.Add(-Lifetime), secret},
		"fewer roles":              {a, request("monitoring", "os:reader"), now, secret},
		"another authority":        {other, asked, now, secret},
		"one more authority":       {moved, asked, now, secret},
		"another name of cluster":  {renamed, asked, now, secret},
		"an empty Secret":          {a, asked, now, kube.Object{}},
		"not base64":               {a, asked, now, kube.Object{"data": kube.Object{"config": "%"}}},
		"not a talosconfig":        {a, asked, now, kube.Object{"data": kube.Object{"config": "aGVsbG8="}}},
		"a talosconfig of nothing": {a, asked, now, kube.Object{"data": kube.Object{"config": ""}}},
	} {
		if _, ok := tt.by.Valid(tt.secret, tt.of, tt.at); ok {
			t.Errorf("%s: the credentials count as fit", name)
		}
	}
}

// TestSlices checks the endpoints of both families, and when they are written again.
func TestSlices(t *testing.T) {
	addrs := []netip.Addr{netip.MustParseAddr("192.0.2.3"), netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("::ffff:192.0.2.2")}
	both := Slices("u", addrs)

	var got []string

	for _, slice := range both {
		_, _, _, name := kube.Identity(slice)
		got = append(got, name, slice["addressType"].(string))

		for _, addr := range addressesOf(slice) {
			got = append(got, addr.(string))
		}
	}

	if diff := cmp.Diff([]string{"talos-ipv4", "IPv4", "192.0.2.2", "192.0.2.3", "talos-ipv6", "IPv6", "2001:db8::1"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	if single := Slices("u", addrs[:1]); len(single) != 2 || Empty(single[0]) || !Empty(single[1]) || Same(both[1], single[1]) {
		t.Errorf("one family: got %v, want an empty slice for the other", single)
	}

	if !Same(both[0], Slices("u", addrs)[0]) || Same(both[0], Slices("v", addrs)[0]) || Same(both[0], Slices("u", addrs[:1])[0]) || Same(kube.Object{}, both[0]) {
		t.Error("a slice counts as the same, or the same one as another")
	}
}

// FuzzValid reads what a user of Kubernetes can write into a Secret.
func FuzzValid(f *testing.F) {
	ca, err := pki.NewCA(pki.CAOptions{Kind: pki.Ed25519})
	if err != nil {
		f.Fatal(err)
	}

	a := Authority{Cluster: "demo", Root: secrets.OSRootSpec{IssuingCA: secrets.CertAndKey{Crt: ca.PEM.Crt, Key: ca.PEM.Key}}}

	secret, _, err := a.Secret(request("n", "os:reader"), time.Now())
	if err != nil {
		f.Fatal(err)
	}

	text, err := base64.StdEncoding.DecodeString(secret["data"].(kube.Object)["config"].(string))
	if err != nil {
		f.Fatal(err)
	}

	f.Add(text)
	f.Add([]byte("context: demo\ncontexts: {demo: {endpoints: [talos.default], crt: aGVsbG8=}}"))

	f.Fuzz(func(_ *testing.T, text []byte) {
		a.Valid(kube.Object{"data": kube.Object{"config": base64.StdEncoding.EncodeToString(text)}}, request("n", "os:admin"), time.Now())
	})
}
