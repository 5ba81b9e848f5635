// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"fmt"
	"time"

	"github.com/seed-59268b81/talos/resources/etcd"
)

const (
	// claimTime is how long a request to start a cluster is published before it is carried out, so that a machine that is asked at the same
	// time sees it.
	claimTime = 2 * time.Second
	// claimPatience is how long a request waits to be published, and for a machine that was asked too and must give way. That one may have
	// lost its power.
	claimPatience = 30 * time.Second
)

// rival is another machine that has data of etcd, or was asked to start a cluster.
type rival struct {
	id, name string
	data     bool
}

// claims is what discovery knows of requests to start a cluster.
type claims struct {
	// own is this machine's identity, which decides between machines that were asked at once.
	own string
	// discovers: there is a source that tells machines about each other.
	discovers bool
	// published: this machine's request is among the claims.
	published bool
	rivals    []rival
}

// asking is the state of a request to start a cluster.
type asking struct {
	since, published time.Time
	// began: etcd was started. There is no way back: it may have data any moment.
	began bool
}

// beginning is the plan of a machine that was asked to start a cluster.
//
// Of machines that are asked at the same time, one starts a cluster: each publishes its claim before it looks at those of the others, so of
// two at least one sees the other. The one with the lower identity goes on when the other has given way, and the other gives way at once.
// Where discovery does not connect the machines, nothing else prevents two clusters.
func (a *asking) beginning(s sight, now time.Time) plan {
	if a.since.IsZero() {
		a.since = now
	}

	if s.claims.published && a.published.IsZero() {
		a.published = now
	}

	p := plan{intent: etcd.IntentBootstrap, step: etcd.StepStarting, waits: "etcd to start a new cluster"}
	if a.began {
		return p
	}

	p.step = etcd.StepChecking

	if p.err = s.earlier(); p.err != nil {
		p.waits, p.action = "the request to be dropped", dropRequest{}

		return p
	}

	patient := now.Sub(a.since) < claimPatience

	for _, r := range s.claims.rivals {
		if !r.data && patient {
			p.waits = fmt.Sprintf("%s, which was asked to start a cluster too, to give way", r.name)

			return p
		}
	}

	if unseen := a.published.IsZero() || now.Sub(a.published) < claimTime; s.claims.discovers && unseen && patient {
		p.waits = "the other control planes to learn of the request"

		return p
	}

	a.began = true
	p.step = etcd.StepStarting

	return p
}

// earlier returns the error that another machine comes first.
func (s sight) earlier() error {
	if s.cluster != nil {
		return fmt.Errorf("%w: %s", ErrClusterExists, describe(*s.cluster))
	}

	for _, r := range s.claims.rivals {
		switch {
		case r.data && !s.restore:
			return fmt.Errorf("%w: %s has data of etcd", ErrClusterExists, r.name)
		case !r.data && r.id < s.claims.own:
			return fmt.Errorf("%w: %s was asked at the same time", ErrClusterExists, r.name)
		}
	}

	return nil
}
