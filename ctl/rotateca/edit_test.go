// SPDX-License-Identifier: Apache-2.0

package rotateca

import (
	"bytes"
	"crypto/x509"
	"strings"
	"testing"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/configtest"
	"github.com/seed-59268b81/talos/config/generate"
	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/pki"
)

// texts returns the configurations of all contracts, the oldest of which have no documents.
func texts(t *testing.T, each func(t *testing.T, h host, text []byte)) {
	t.Helper()

	for contract := generate.Oldest; contract <= generate.Newest; contract++ {
		out, err := generate.New("demo", "https://10.5.0.2:6443", "", generate.Options{Contract: contract, Secrets: configtest.Bundle(t)})
		if err != nil {
			t.Fatal(err)
		}

		t.Run(contract.String()+" control plane", func(t *testing.T) { each(t, host{"cp", true}, out.ControlPlane) })
		t.Run(contract.String()+" worker", func(t *testing.T) { each(t, host{"worker", false}, out.Worker) })
	}
}

func memberIn(t *testing.T, k kind, h host, text []byte) member {
	t.Helper()

	cfg, err := config.Decode(text)
	if err != nil {
		t.Fatal(err)
	}

	m, err := memberOf(k, h, view.Of(cfg))
	if err != nil {
		t.Fatal(err)
	}

	return m
}

// TestEdit rotates in the text of a configuration of each contract. In the end only the authority is another one.
func TestEdit(t *testing.T) {
	for _, k := range []kind{machineAPI, kubernetes} {
		t.Run(k.String(), func(t *testing.T) {
			texts(t, func(t *testing.T, h host, text []byte) {
				text = append([]byte("# mine\n"), text...)
				m := memberIn(t, k, h, text)
				bundle := configtest.Bundle(t)

				key := bundle.Certs.OS.Key
				if k == kubernetes {
					key = bundle.Certs.Kubernetes.Key
				}

				// A worker's text is changed by what its control plane has the key for.
				plane := m
				plane.controlPlane, plane.trust.key = true, bytes.TrimSpace(key)

				r, err := plan(k, []member{plane}, false)
				if err != nil {
					t.Fatal(err)
				}

				lines := strings.Count(string(text), "\n")

				for _, step := range steps {
					want := r.at(step, memberIn(t, k, h, text))

					if text, err = edit(k, text, want); err != nil {
						t.Fatal(err)
					}

					if got, err := r.level(memberIn(t, k, h, text)); err != nil || got != step {
						t.Errorf("step %d: got %s, %v", step, got, err)
					}

					again, err := edit(k, text, want)
					if err != nil || string(again) != string(text) {
						t.Errorf("step %d: a second change is not the same: %v", step, err)
					}
				}

				if !strings.HasPrefix(string(text), "# mine\n") {
					t.Error("a comment is lost")
				}

				// PEM has as many lines again, but Kubernetes' bridge stays.
				if got := strings.Count(string(text), "\n"); got < lines || got > lines+20 {
					t.Errorf("got %d lines, had %d", got, lines)
				}

				if h.controlPlane {
					now := memberIn(t, k, h, text).trust
					if _, err := pki.ParseCA(now.text(now.issuing), now.key); err != nil {
						t.Error(err)
					}
				}
			})
		})
	}
}

// TestEditBothPlaces changes a configuration that has the authority in the main document, and accepts more in the other.
func TestEditBothPlaces(t *testing.T) {
	out, err := generate.New("demo", "https://10.5.0.2:6443", "", generate.Options{Contract: generate.Oldest, Secrets: configtest.Bundle(t)})
	if err != nil {
		t.Fatal(err)
	}

	ca, err := pki.NewCA(pki.CAOptions{Kind: pki.ECDSAP256})
	if err != nil {
		t.Fatal(err)
	}

	document := "---\napiVersion: v1alpha1\nkind: KubeAPIServerCAConfig\nacceptedCAs:\n    - |\n        " +
		strings.ReplaceAll(strings.TrimSpace(string(ca.PEM.Crt)), "\n", "\n        ") + "\n"
	text := append(out.Worker, document...)
	h := host{"worker", false}

	m := memberIn(t, kubernetes, h, text)
	if !sameSet(m.trust.accepted, []*x509.Certificate{ca.Certificate}) {
		t.Fatalf("got %s", fingerprints(m.trust.accepted))
	}

	want := trust{issuing: ca.Certificate, accepted: []*x509.Certificate{m.trust.issuing}}

	text, err = edit(kubernetes, text, want)
	if err != nil {
		t.Fatal(err)
	}

	if got := memberIn(t, kubernetes, h, text).trust; !got.equal(want) {
		t.Errorf("got %s, %s", short(got.issuing), fingerprints(got.accepted))
	}
}
