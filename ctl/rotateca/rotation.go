// SPDX-License-Identifier: Apache-2.0

package rotateca

import (
	"bytes"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"

	"github.com/seed-59268b81/talos/pki"
)

// level is how far a node is: the last step that its configuration has.
type level int

const (
	untouched level = iota
	accept          // both are accepted, the old one issues
	issue           // both are accepted, the new one issues
	remove          // only the new one is accepted
)

// steps are the levels of a rotation.
var steps = []level{accept, issue, remove}

func (l level) String() string {
	return [...]string{
		"knows only the old authority", "accepts both authorities", "issues with the new authority and accepts both", "accepts only the new authority",
	}[l]
}

// member is a node as its configuration describes it.
type member struct {
	name         string
	controlPlane bool
	trust        trust
}

// rotation is the replacement of an authority.
type rotation struct {
	kind     kind
	old, new *x509.Certificate
	key      []byte // of new, PEM
	// bridge is to the new authority, from the old one. In the configuration of a control plane it follows the new authority, and tells that
	// this replaces the old one. As long as both are accepted, servers send it to clients that know only the old one.
	bridge *x509.Certificate
	// dropped is the new authority of an interrupted run, whose key is in no configuration.
	dropped []*x509.Certificate
	// reverts is set when new was there before old. Then the bridge is from new to old.
	reverts bool
}

// plan finds out from the configurations of all nodes which authority is replaced by which. A new one is created when none is being replaced.
func plan(k kind, members []member, revert bool) (*rotation, error) {
	issuers, keys := issuersOf(members)
	found := underway(members, issuers)

	var (
		r   *rotation
		err error
	)

	switch {
	case len(issuers) > 2 || len(issuers) == 2 && found == nil:
		err = fmt.Errorf("the nodes name different authorities as theirs: %s", fingerprints(issuers))
	case found == nil && revert:
		err = errors.New("no rotation is in progress, so there is nothing to revert")
	case found == nil:
		r, err = create(k, issuers[0], keys, nil)
	case revert:
		r, err = back(k, found, keys)
	case len(keys[pki.Fingerprint(found.new)]) > 0:
		r = &rotation{kind: k, old: found.old, new: found.new, key: keys[pki.Fingerprint(found.new)], bridge: found.bridge}
	case len(issuers) == 1:
		r, err = create(k, found.old, keys, []*x509.Certificate{found.new})
	default:
		err = fmt.Errorf("no control plane node has the key of the authority %s, which some nodes name as theirs: restore their configurations", short(found.new))
	}

	if err != nil {
		return nil, fmt.Errorf("%s: %w", k, err)
	}

	for _, m := range members {
		if _, err := r.level(m); err != nil {
			return nil, fmt.Errorf("%s: node %s: %w", k, m.name, err)
		}
	}

	return r, nil
}

// issuersOf returns the authorities that the nodes name as theirs, and the keys of those that the control planes have.
func issuersOf(members []member) (issuers []*x509.Certificate, keys map[string][]byte) {
	keys = map[string][]byte{}

	for _, m := range members {
		if !contains(issuers, m.trust.issuing) {
			issuers = append(issuers, m.trust.issuing)
		}

		if m.controlPlane && len(m.trust.key) > 0 {
			keys[pki.Fingerprint(m.trust.issuing)] = m.trust.key
		}
	}

	return issuers, keys
}

// replacement is a rotation that was begun.
type replacement struct{ old, new, bridge *x509.Certificate }

// underway returns the rotation in progress, nil if there is none: all issuing authorities belong to it, and a node accepts both of its
// authorities, or both issue. A bridge alone stays after a rotation, and authorities that are accepted for other reasons have none.
func underway(members []member, issuers []*x509.Certificate) *replacement {
	var known, bridges []*x509.Certificate

	for _, m := range members {
		for _, cert := range m.trust.all() {
			if !contains(known, cert) {
				known = append(known, cert)
			}
		}

		if m.controlPlane {
			bridges = append(bridges, m.trust.bridges...)
		}
	}

	for _, bridge := range bridges {
		for _, from := range known {
			for _, to := range known {
				if from.Equal(to) || !pki.SameKey(bridge, to) || bridge.CheckSignatureFrom(from) != nil {
					continue
				}

				if !slices.ContainsFunc(issuers, func(i *x509.Certificate) bool { return !i.Equal(from) && !i.Equal(to) }) {
					return &replacement{from, to, bridge}
				}
			}
		}
	}

	return nil
}

// create returns a rotation to a new authority.
func create(k kind, old *x509.Certificate, keys map[string][]byte, dropped []*x509.Certificate) (*rotation, error) {
	key := keys[pki.Fingerprint(old)]
	if len(key) == 0 {
		return nil, errors.New("no control plane node has the key of the authority")
	}

	signer, err := pki.ParseCA(pki.EncodeCertificate(old), key)
	if err != nil {
		return nil, err
	}

	ca, err := pki.NewCA(k.options())
	if err != nil {
		return nil, err
	}

	bridge, err := signer.Bridge(ca.Certificate)
	if err != nil {
		return nil, err
	}

	return &rotation{kind: k, old: old, new: ca.Certificate, key: bytes.TrimSpace(ca.PEM.Key), bridge: bridge, dropped: dropped}, nil
}

// back returns the rotation back to the authority that was to be replaced.
func back(k kind, found *replacement, keys map[string][]byte) (*rotation, error) {
	key := keys[pki.Fingerprint(found.old)]
	if len(key) == 0 {
		return nil, errors.New("every control plane node issues with the new authority, and none has the key of the old one any more: complete the rotation instead")
	}

	return &rotation{kind: k, old: found.new, new: found.old, key: key, bridge: found.bridge, reverts: true}, nil
}

// level returns how far a node is.
func (r *rotation) level(m member) (level, error) {
	t := m.trust

	switch {
	case t.issuing.Equal(r.new) && t.accepts(r.old):
		return issue, nil
	case t.issuing.Equal(r.new):
		return remove, nil
	case !t.issuing.Equal(r.old):
		return untouched, fmt.Errorf("its authority is %s, want %s or %s", short(t.issuing), short(r.old), short(r.new))
	case !t.accepts(r.new), slices.ContainsFunc(r.dropped, t.accepts):
		return untouched, nil
	case m.controlPlane && !r.reverts && !contains(t.bridges, r.bridge):
		return untouched, nil
	default:
		return accept, nil
	}
}

// at returns what the configuration of a node says after a step. Authorities that have nothing to do with the rotation stay.
func (r *rotation) at(step level, m member) trust {
	next := trust{issuing: r.new, accepted: m.trust.without(append([]*x509.Certificate{r.old, r.new}, r.dropped...)...)}

	if m.controlPlane {
		next.key = r.key
	}

	switch step {
	case accept:
		next.issuing, next.key = r.old, m.trust.key
		next.accept(r.new)
	case issue:
		next.accept(r.old)
	}

	// Bridges to authorities that are not there any more have no use.
	if m.controlPlane {
		for _, bridge := range append(slices.Clone(m.trust.bridges), r.bridge) {
			if r.keeps(step, bridge) && !contains(next.bridges, bridge) && slices.ContainsFunc(next.all(), func(cert *x509.Certificate) bool { return pki.SameKey(cert, bridge) }) {
				next.bridges = append(next.bridges, bridge)
			}
		}
	}

	return next
}

// keeps reports whether a bridge is still sent after a step. Pods may have read the former authority of Kubernetes at their start: with the
// bridge they accept API servers as long as they run.
func (r *rotation) keeps(step level, bridge *x509.Certificate) bool {
	return step != remove || r.kind == kubernetes || !pki.SameKey(bridge, r.new)
}

func fingerprints(certs []*x509.Certificate) []string {
	out := make([]string, 0, len(certs))
	for _, cert := range certs {
		out = append(out, short(cert))
	}

	return out
}
