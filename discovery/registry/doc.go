// SPDX-License-Identifier: Apache-2.0

// Package registry holds the members of one cluster and the log of their changes. It is a function of events and times: it has no clock,
// lock, network or disk. Package server puts those around it.
//
// The log has one entry for each member, in the order of the last changes, and each entry is encoded once. A watcher is only a
// sequence number, a cursor: everything after it is what the watcher has not seen. So a slow watcher costs no memory and misses
// nothing. It receives the present state of what has changed, once, however often it has changed. A queue for each watcher was
// rejected: it is lost when it overflows. A ring of all changes was rejected too, since it overflows for a watcher that is slow enough.
// A removed member leaves an entry for some minutes. A cursor from before the oldest removal that was dropped is too old.
//
// A refresh with the same content moves the expiry and is not a change.
package registry

import (
	"errors"
	"time"
)

// Limits of a cluster.
type Limits struct {
	// Affiliates of the cluster, and Endpoints of each.
	Affiliates, Endpoints int
}

// The limits of the protocol as everyone knows it, and of a cluster whose members are authenticated.
var (
	OpenLimits   = Limits{Affiliates: 1024, Endpoints: 64}
	ProvedLimits = Limits{Affiliates: 5000, Endpoints: 64}
)

// Errors of an update.
var (
	ErrAffiliates = errors.New("too many affiliates in the cluster")
	ErrEndpoints  = errors.New("too many endpoints in the affiliate")
)

const (
	// keepRemoved is how long a removal stays in the log.
	keepRemoved = 10 * time.Minute
	// maxMessage is about the size of the messages that a log is sent in.
	maxMessage = 256 << 10
)
