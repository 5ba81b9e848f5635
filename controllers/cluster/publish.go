// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"net/netip"
	"reflect"
	"regexp"
	"time"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/cluster"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/network/nethelpers"
)

// write writes the raw affiliates. When there are many, it makes pauses.
func (c *discovery) write(ctx context.Context, rt controller.Runtime, now time.Time) (again time.Time, err error) {
	if !c.outdated {
		return again, nil
	}

	raw := c.roster.raw()

	if end := c.written.Add(pauseMany); len(raw) > many && now.Before(end) {
		return end, nil
	}

	rt.StartTrackingOutputs()

	for id, spec := range raw {
		// One that is being torn down is written when it is destroyed: the runtime wakes the controller then.
		if err := typed.Set(ctx, rt, cluster.RawNamespace, id, spec); err != nil && !state.IsPhaseConflict(err) {
			return again, err
		}
	}

	if err := rt.CleanupOutputs(ctx, resource.KindOf[cluster.AffiliateSpec](cluster.RawNamespace)); err != nil {
		return again, err
	}

	c.outdated, c.unsaved, c.written = false, true, now

	return again, nil
}

// writeSources publishes the state of the sources.
func (c *discovery) writeSources(ctx context.Context, rt controller.Runtime, sources []source) error {
	rt.StartTrackingOutputs()

	for _, s := range sources {
		r := c.sessions[s.name]
		if r == nil {
			continue
		}

		spec := r.status()

		if spec.Watched = s.name == c.choice.name; spec.Watched {
			spec.Rejected += c.rejected
		}

		err := typed.Modify(ctx, rt, "", s.name, func(was *cluster.DiscoverySourceSpec) error {
			// A change of the time only is not written.
			if now := spec; was.LastContact.Before(spec.LastContact) {
				now.LastContact = was.LastContact

				if reflect.DeepEqual(*was, now) && !was.LastContact.IsZero() {
					return nil
				}
			}

			*was = spec

			return nil
		})
		if err != nil && !state.IsPhaseConflict(err) {
			return err
		}
	}

	return rt.CleanupOutputs(ctx, resource.KindOf[cluster.DiscoverySourceSpec](""))
}

// writeAddress publishes the address at which a source sees this machine, which may be that of a NAT: the first source that says one.
func (c *discovery) writeAddress(ctx context.Context, rt controller.Runtime, sources []source) error {
	rt.StartTrackingOutputs()

	for _, s := range sources {
		r := c.sessions[s.name]
		if r == nil {
			continue
		}

		seen := r.View().PublicIP.Unmap()
		if !seen.IsValid() {
			continue
		}

		family := nethelpers.FamilyInet4
		if seen.Is6() {
			family = nethelpers.FamilyInet6
		}

		err := typed.Set(ctx, rt, cluster.NamespaceName, cluster.ObservedAddressID, network.AddressStatusSpec{
			Address: netip.PrefixFrom(seen, seen.BitLen()), Local: seen, Family: family,
		})
		if err != nil && !state.IsPhaseConflict(err) {
			return err
		}

		break
	}

	return rt.CleanupOutputs(ctx, resource.KindOf[network.AddressStatusSpec](cluster.NamespaceName))
}

// localPort matches the port of this machine in an error of a connection, which differs each time.
var localPort = regexp.MustCompile(`:\d+->`)

func errorText(err error) string {
	if err == nil {
		return ""
	}

	return localPort.ReplaceAllString(err.Error(), "->")
}
