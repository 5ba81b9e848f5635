// SPDX-License-Identifier: Apache-2.0

package rotateca

import (
	"cmp"
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
	// oldBridge follows the old authority's certificates, so that clients that know only the new one accept them. newBridge is the opposite.
	oldBridge, newBridge *x509.Certificate
	// dropped is the new authority of an interrupted run, whose key is in no configuration.
	dropped []*x509.Certificate
	// reverts is set when the old authority was to be the new one.
	reverts bool
}

// plan finds out from the configurations of all nodes which authority is replaced by which. A new one is created when none is being replaced.
func plan(k kind, members []member, revert bool) (*rotation, error) {
	issuers, keys := issuersOf(members)

	var (
		r   *rotation
		err error
	)

	switch len(issuers) {
	case 1:
		r, err = planOne(k, members, issuers[0], keys, revert)
	case 2:
		r, err = planTwo(k, issuers, keys, revert)
	default:
		err = fmt.Errorf("%d authorities issue certificates, want one, or two while one is replaced: %s", len(issuers), fingerprints(issuers))
	}

	if err != nil {
		return nil, fmt.Errorf("%s: %w", k, err)
	}

	if err := r.bridge(members, keys); err != nil {
		return nil, fmt.Errorf("%s: %w", k, err)
	}

	for _, m := range members {
		if _, err := r.level(m); err != nil {
			return nil, fmt.Errorf("%s: node %s: %w", k, m.name, err)
		}
	}

	return r, nil
}

// issuersOf returns the authorities that the nodes name as theirs, oldest first, and the keys of those that the control planes have.
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

	slices.SortFunc(issuers, byAge)

	return issuers, keys
}

// byAge compares two authorities by their start, and then in an order that is the same in each run.
func byAge(a, b *x509.Certificate) int {
	return cmp.Or(a.NotBefore.Compare(b.NotBefore), cmp.Compare(pki.Fingerprint(a), pki.Fingerprint(b)))
}

// planOne plans a rotation when all nodes name one authority. A second one is accepted when an earlier run has begun, or is almost complete.
func planOne(k kind, members []member, issuing *x509.Certificate, keys map[string][]byte, revert bool) (*rotation, error) {
	key := keys[pki.Fingerprint(issuing)]
	if len(key) == 0 {
		return nil, errors.New("no control plane node has the key of the authority")
	}

	other := partner(members)

	switch {
	case other == nil && revert:
		return nil, errors.New("no rotation is in progress, so there is nothing to revert")
	case other == nil:
		return create(k, issuing, nil)
	case byAge(issuing, other) < 0 && revert: // the other one does not issue yet
		return &rotation{kind: k, old: other, new: issuing, key: key, reverts: true}, nil
	case byAge(issuing, other) < 0:
		return create(k, issuing, []*x509.Certificate{other})
	case revert:
		return nil, errors.New("every node issues with the new authority, and no node has the key of the old one: complete the rotation instead")
	default:
		return &rotation{kind: k, old: other, new: issuing, key: key}, nil
	}
}

// partner returns the authority that replaces, or is replaced by, the one of all nodes: it is accepted, and has signed a bridge. Authorities
// that are accepted for other reasons have no bridge.
func partner(members []member) *x509.Certificate {
	for _, m := range members {
		for _, accepted := range m.trust.accepted {
			for _, server := range members {
				if len(server.trust.bridgedBy(accepted)) > 0 {
					return accepted
				}
			}
		}
	}

	return nil
}

// create returns a rotation to a new authority.
func create(k kind, old *x509.Certificate, dropped []*x509.Certificate) (*rotation, error) {
	ca, err := pki.NewCA(k.options())
	if err != nil {
		return nil, err
	}

	return &rotation{kind: k, old: old, new: ca.Certificate, key: ca.PEM.Key, dropped: dropped}, nil
}

// planTwo continues a rotation in which some nodes issue with the new authority already.
func planTwo(k kind, issuers []*x509.Certificate, keys map[string][]byte, revert bool) (*rotation, error) {
	r := &rotation{kind: k, old: issuers[0], new: issuers[1], reverts: revert}

	if revert {
		r.old, r.new = r.new, r.old
	}

	r.key = keys[pki.Fingerprint(r.new)]

	switch {
	case len(r.key) > 0:
		return r, nil
	case revert:
		return nil, errors.New("no control plane node has the key of the old authority any more: complete the rotation instead")
	default:
		return nil, fmt.Errorf("no control plane node has the key of the authority %s, which some nodes name as theirs: restore their configuration", short(r.new))
	}
}

// bridge signs what is missing of the two bridges, as far as there are the keys.
func (r *rotation) bridge(members []member, keys map[string][]byte) error {
	for _, m := range members {
		for _, b := range m.trust.bridges {
			switch {
			case m.trust.issuing.Equal(r.new) && b.CheckSignatureFrom(r.old) == nil:
				r.newBridge = b
			case m.trust.issuing.Equal(r.old) && b.CheckSignatureFrom(r.new) == nil:
				r.oldBridge = b
			}
		}
	}

	sign := func(signer *x509.Certificate, key []byte, other *x509.Certificate, into **x509.Certificate) error {
		if *into != nil || len(key) == 0 {
			return nil
		}

		ca, err := pki.ParseCA(pki.EncodeCertificate(signer), key)
		if err != nil {
			return err
		}

		*into, err = ca.Bridge(other)

		return err
	}

	return errors.Join(
		sign(r.new, r.key, r.old, &r.oldBridge),
		sign(r.old, keys[pki.Fingerprint(r.old)], r.new, &r.newBridge),
	)
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
	case m.controlPlane && len(t.bridgedBy(r.new)) == 0:
		return untouched, nil
	default:
		return accept, nil
	}
}

// at returns what the configuration of a node says after a step. Authorities that have nothing to do with the rotation stay.
func (r *rotation) at(step level, m member) trust {
	others := m.trust.without(append([]*x509.Certificate{r.old, r.new}, r.dropped...)...)

	next := trust{issuing: r.new, accepted: others}

	switch step {
	case untouched:
		return m.trust
	case accept:
		next = trust{issuing: r.old, key: m.trust.key}
		next.accept(others...)
		next.accept(r.new)

		if m.controlPlane {
			next.bridges = append(m.trust.notBridgedBy(append(r.dropped, r.new)...), r.oldBridge)
		}
	case issue:
		next.accept(r.old)

		if m.controlPlane {
			next.key, next.bridges = r.key, some(r.newBridge)
		}
	case remove:
		if m.controlPlane {
			next.key = m.trust.key
		}

		// Pods may have read the old authority at their start. With the bridge they accept the API server as long as they run.
		if m.controlPlane && r.kind == kubernetes && !r.reverts {
			next.bridges = m.trust.bridges
		}
	}

	return next
}

func some(cert *x509.Certificate) []*x509.Certificate {
	if cert == nil {
		return nil
	}

	return []*x509.Certificate{cert}
}

func fingerprints(certs []*x509.Certificate) []string {
	out := make([]string, 0, len(certs))
	for _, cert := range certs {
		out = append(out, short(cert))
	}

	return out
}
