// SPDX-License-Identifier: Apache-2.0

// Package cloudvip moves a virtual address to this machine through the API of a cloud whose network carries no announcements (ARP): Hetzner
// Cloud and Equinix Metal. The machine that won the election calls it before it adds the address.
//
// A Mover asks the metadata server of the cloud which machine this is, and the API who has the address. It changes nothing if this machine
// has it already. The clients that the clouds publish were rejected: they would bring megabytes for six calls.
package cloudvip

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"time"

	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/sys/outbound"
)

// Mover moves an address to this machine. It returns when the cloud has done so.
type Mover interface {
	Move(ctx context.Context, addr netip.Addr) error
}

// Limits.
const (
	// callTimeout is the time for one call, and moveTimeout for all of a move.
	callTimeout = 10 * time.Second
	moveTimeout = time.Minute
	// maxAnswer is the size of the largest answer, in bytes.
	maxAnswer = 8 << 20
	// maxPages is the number of pages that are read of a list.
	maxPages = 100
	// pollInterval is the pause before the cloud is asked again whether an action is over.
	pollInterval = 500 * time.Millisecond
)

// Clients of the API, which may be behind a proxy, and of the metadata server, which never is.
var (
	apiClient      = &http.Client{Timeout: callTimeout, Transport: outbound.Transport{Bundle: layout.CABundle}}
	metadataClient = &http.Client{Timeout: callTimeout, Transport: &http.Transport{DisableKeepAlives: true, MaxResponseHeaderBytes: 64 << 10}}
)

// HCloud returns the Mover of Hetzner Cloud with a token of its API.
func HCloud(token string) Mover {
	return &hcloud{
		api:      caller{client: apiClient, root: "https://api.hetzner.cloud/v1", header: "Authorization", token: "Bearer " + token},
		metadata: caller{client: metadataClient, root: "http://169.254.169.254/hetzner/v1/metadata"},
	}
}

// EquinixMetal returns the Mover of Equinix Metal with a token of its API.
func EquinixMetal(token string) Mover {
	return &equinix{
		api:      caller{client: apiClient, root: "https://api.equinix.com/metal/v1", header: "X-Auth-Token", token: token},
		metadata: caller{client: metadataClient, root: "https://metadata.platformequinix.com"},
	}
}

// move runs a move with its timeout, and says which address it was.
func move(ctx context.Context, cloud string, addr netip.Addr, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, moveTimeout)
	defer cancel()

	if err := do(ctx); err != nil {
		return fmt.Errorf("move %s by the API of %s: %w", addr, cloud, err)
	}

	return nil
}
