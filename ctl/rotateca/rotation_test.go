// SPDX-License-Identifier: Apache-2.0

package rotateca

import (
	"bytes"
	"crypto/x509"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/pki"
)

// world is the nodes of a cluster: their configurations alone, as a run finds them.
type world struct {
	kind    kind
	members []member
	foreign *x509.Certificate
	// first is the authority before the first rotation. known are all that a run has ever created.
	first *x509.Certificate
}

func newWorld(t *testing.T, k kind) *world {
	t.Helper()

	authority := func(age time.Duration) *pki.CA {
		options := k.options()
		options.NotBefore = time.Now().Add(-age)

		ca, err := pki.NewCA(options)
		if err != nil {
			t.Fatal(err)
		}

		return ca
	}

	ca, foreign := authority(time.Hour), authority(2*time.Hour)
	w := &world{kind: k, foreign: foreign.Certificate, first: ca.Certificate}

	for _, name := range []string{"cp1", "cp2", "cp3", "worker1", "worker2"} {
		m := member{name: name, controlPlane: name[0] == 'c', trust: trust{issuing: ca.Certificate, accepted: []*x509.Certificate{foreign.Certificate}}}
		if m.controlPlane {
			m.trust.key = bytes.TrimSpace(ca.PEM.Key)
		}

		w.members = append(w.members, m)
	}

	return w
}

// rotate runs until so many nodes were changed, and checks the cluster after each change. It reports whether the run is complete.
func (w *world) rotate(t *testing.T, revert bool, changes int) (r *rotation, complete bool) {
	t.Helper()

	r, err := plan(w.kind, w.members, revert)
	if err != nil {
		t.Fatal(err)
	}

	for _, step := range steps {
		for _, group := range groups(step, hosts(w.members)) {
			for _, h := range group {
				i := slices.IndexFunc(w.members, func(m member) bool { return m.name == h.name })
				at, err := r.level(w.members[i])

				switch {
				case err != nil:
					t.Fatal(err)
				case at >= step:
					continue
				case at != step-1:
					t.Fatalf("%s %s before step %d", h.name, at, step)
				case changes == 0:
					return r, false
				}

				w.members[i].trust = r.at(step, w.members[i])
				changes--

				if now, err := r.level(w.members[i]); err != nil || now != step {
					t.Fatalf("%s after step %d: %s, %v", h.name, step, now, err)
				}

				w.check(t, r)
			}
		}
	}

	return r, true
}

func hosts(members []member) []host {
	var out []host
	for _, m := range members {
		out = append(out, host{m.name, m.controlPlane})
	}

	return out
}

// check checks that every node accepts the certificates of every other, those that are still of the authority that issued before too, and
// that clients of the old authority accept the servers, and are accepted, until it is removed. Those of the new one get their configuration
// when all issue with it.
func (w *world) check(t *testing.T, r *rotation) {
	t.Helper()

	everywhere := func(is func(m member) bool) bool {
		return !slices.ContainsFunc(w.members, func(m member) bool { return m.controlPlane && !is(m) })
	}

	accepted := everywhere(func(m member) bool { return m.trust.accepts(r.old) && m.trust.accepts(r.new) })
	issues := everywhere(func(m member) bool { return m.trust.issuing.Equal(r.new) })

	for _, server := range w.members {
		for _, client := range w.members {
			if !client.trust.accepts(server.trust.issuing) {
				t.Fatalf("%s does not accept the certificates of %s", client.name, server.name)
			}
		}

		if !server.trust.accepts(w.foreign) {
			t.Fatalf("%s has lost an authority that has nothing to do with the rotation", server.name)
		}

		if contains(server.trust.all(), r.bridge) {
			t.Fatalf("%s trusts a bridge", server.name)
		}

		if !server.controlPlane {
			continue
		}

		if _, err := pki.ParseCA(server.trust.text(server.trust.issuing), server.trust.key); err != nil {
			t.Fatalf("%s: %v", server.name, err)
		}

		for root, want := range map[*x509.Certificate]bool{r.old: accepted && !r.reverts, r.new: issues} {
			if want && !verifies(server.trust, root) {
				t.Fatalf("a client that trusts only %s does not accept %s, which issues with %s and has %d bridges",
					short(root), server.name, short(server.trust.issuing), len(server.trust.bridges))
			}
		}
	}
}

// verifies reports whether a client with one root accepts a server's certificate.
func verifies(t trust, root *x509.Certificate) bool {
	ca, err := pki.ParseCA(t.text(t.issuing), t.key)
	if err != nil {
		return false
	}

	pair, err := ca.Sign(pki.LeafOptions{Server: true, TTL: time.Hour})
	if err != nil {
		return false
	}

	leaf, err := pki.ParseCertificate(pair.Crt)
	if err != nil {
		return false
	}

	roots, between := x509.NewCertPool(), x509.NewCertPool()
	roots.AddCert(root)

	for _, bridge := range t.bridgesTo(t.issuing) {
		between.AddCert(bridge)
	}

	_, err = leaf.Verify(x509.VerifyOptions{Roots: roots, Intermediates: between})

	return err == nil
}

// settled checks that only one authority is left, beside the foreign one.
func (w *world) settled(t *testing.T, want *x509.Certificate) {
	t.Helper()

	for _, m := range w.members {
		if !m.trust.issuing.Equal(want) || !sameSet(m.trust.accepted, []*x509.Certificate{w.foreign}) {
			t.Errorf("%s: issues with %s and accepts %s, want %s and only the foreign %s",
				m.name, short(m.trust.issuing), fingerprints(m.trust.accepted), short(want), short(w.foreign))
		}
	}
}

// TestRotation rotates twice. A second rotation must not take what the first left for a rotation in progress.
func TestRotation(t *testing.T) {
	for _, k := range []kind{machineAPI, kubernetes} {
		t.Run(k.String(), func(t *testing.T) {
			w := newWorld(t, k)

			for range 2 {
				r, complete := w.rotate(t, false, 1000)
				if !complete || r.new.Equal(w.first) {
					t.Fatal("the rotation is not complete")
				}

				w.settled(t, r.new)

				// Pods that have read the former authority at their start accept the API server on.
				if cp := w.members[0].trust; verifies(cp, r.old) != (k == kubernetes) {
					t.Errorf("a client that trusts only the former authority: accepted %t, want %t", !(k == kubernetes), k == kubernetes)
				}
			}
		})
	}
}

// TestInterrupted interrupts a rotation after each change, and continues or reverts it.
func TestInterrupted(t *testing.T) {
	const changes = 15 // three steps of five nodes

	for _, k := range []kind{machineAPI, kubernetes} {
		for after := range changes {
			t.Run(fmt.Sprintf("%s after %d changes", k, after), func(t *testing.T) {
				w := newWorld(t, k)
				begun, _ := w.rotate(t, false, after)

				switch r, complete := w.rotate(t, false, 1000); {
				case !complete:
					t.Error("the rotation is not complete")
				case after > 5 && !r.new.Equal(begun.new): // a control plane has the key
					t.Error("another authority was created")
				default:
					w.settled(t, r.new)
				}
			})

			t.Run(fmt.Sprintf("%s reverted after %d changes", k, after), func(t *testing.T) {
				w := newWorld(t, k)
				w.rotate(t, false, after)

				// Nothing was begun, or all control planes issue with the new authority.
				if after == 0 || after >= 8 {
					if _, err := plan(k, w.members, true); err == nil {
						t.Error("got no error")
					}

					return
				}

				if _, complete := w.rotate(t, true, 1000); !complete {
					t.Error("the rotation is not reverted")
				}

				w.settled(t, w.first)
			})
		}
	}
}

// TestPublished: while a step is in progress, the controller manager of any control plane may publish its authorities to pods. An interrupted
// run must not wait for those of one of them.
func TestPublished(t *testing.T) {
	differ := false

	for after := range 15 {
		w := newWorld(t, kubernetes)
		w.rotate(t, false, after)

		for _, m := range w.members {
			if err := publishedBy(m.trust.all(), w.members); m.controlPlane && err != nil {
				t.Errorf("after %d changes, published by %s: %v", after, m.name, err)
			}

			differ = differ || m.controlPlane && !sameSet(m.trust.all(), w.members[0].trust.all())
		}

		err := publishedBy([]*x509.Certificate{w.foreign}, w.members)
		if want := fmt.Sprintf("has the authorities [%s], want [%s", short(w.foreign), short(w.members[0].trust.issuing)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("after %d changes, of another cluster: got %v, want %s", after, err, want)
		}
	}

	if !differ {
		t.Error("the control planes never differed")
	}
}

// TestRefused lists clusters of which no rotation can be made out.
func TestRefused(t *testing.T) {
	other := func() *x509.Certificate { return newWorld(t, machineAPI).first }

	for name, change := range map[string]func(w *world){
		"three authorities":                  func(w *world) { w.members[3].trust.issuing, w.members[4].trust.issuing = other(), other() },
		"a worker of another cluster":        func(w *world) { w.members[3].trust.issuing = w.foreign },
		"no key on the control planes":       func(w *world) { w.members[0].trust.key, w.members[1].trust.key, w.members[2].trust.key = nil, nil, nil },
		"a key that is not the authority's":  func(w *world) { w.members[2].trust.key = []byte("x") },
		"a control plane of another cluster": func(w *world) { w.members[0].trust.issuing = other(); w.members[0].trust.key = nil },
	} {
		w := newWorld(t, machineAPI)
		change(w)

		if _, err := plan(machineAPI, w.members, false); err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
}
