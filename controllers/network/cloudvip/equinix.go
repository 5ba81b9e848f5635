// SPDX-License-Identifier: Apache-2.0

package cloudvip

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"path"
	"strings"
)

// equinix is Equinix Metal. The address is one of a reservation of the project. https://deploy.equinix.com/developers/api/metal
type equinix struct{ api, metadata caller }

// equinixRef refers to another object: /metal/v1/devices/ID.
type equinixRef struct {
	Href string `json:"href"`
}

// id is "" if the object has none that can be a part of a path.
func (r equinixRef) id() string {
	if id := path.Base(r.Href); equinixID(id) {
		return id
	}

	return ""
}

// equinixID reports whether a text is an id, such as 7c3b0a52-0c4b-4a0e-9d53-2f0f1b6f5a10: with another one a request would have another
// path.
func equinixID(text string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"

	return text != "" && len(text) <= 100 && strings.Trim(text, letters) == ""
}

type equinixAddress struct {
	ID          string       `json:"id"`
	Network     netip.Addr   `json:"network"`
	Bits        int          `json:"cidr"`
	AssignedTo  equinixRef   `json:"assigned_to"`
	Assignments []equinixRef `json:"assignments"`
}

func (a equinixAddress) contains(addr netip.Addr) bool {
	p, err := a.Network.Prefix(a.Bits)

	return err == nil && p.Contains(addr)
}

// Move implements Mover.
func (e *equinix) Move(ctx context.Context, addr netip.Addr) error {
	return move(ctx, "Equinix Metal", addr, func(ctx context.Context) error {
		var own struct {
			ID string `json:"id"`
		}

		if err := e.metadata.call(ctx, http.MethodGet, "/metadata", nil, &own); err != nil {
			return err
		}

		if !equinixID(own.ID) {
			return fmt.Errorf("the metadata server's id of this machine: %.100q", own.ID)
		}

		var device struct {
			Project equinixRef `json:"project"`
		}

		if err := e.api.call(ctx, http.MethodGet, "/devices/"+own.ID, nil, &device); err != nil {
			return err
		}

		if device.Project.id() == "" {
			return fmt.Errorf("the project of this machine: %.100q has no id", device.Project.Href)
		}

		var project struct {
			Addresses []equinixAddress `json:"ip_addresses"`
		}

		if err := e.api.call(ctx, http.MethodGet, "/projects/"+device.Project.id()+"/ips", nil, &project); err != nil {
			return err
		}

		known := false

		for _, reserved := range project.Addresses {
			if !reserved.contains(addr) {
				continue
			}

			known = true

			if done, err := e.release(ctx, reserved, own.ID, addr); done || err != nil {
				return err
			}
		}

		if !known {
			return errors.New("it is in no reservation of the project: reserve one, or set another address")
		}

		return e.api.call(ctx, http.MethodPost, "/devices/"+own.ID+"/ips", map[string]any{"address": netip.PrefixFrom(addr, addr.BitLen()).String()}, nil)
	})
}

// release takes the address from the machine that has it. It reports whether that is this one.
func (e *equinix) release(ctx context.Context, reserved equinixAddress, own string, addr netip.Addr) (done bool, err error) {
	for _, ref := range reserved.Assignments {
		if ref.id() == "" {
			return false, fmt.Errorf("an assignment of reservation %.100q: %.100q has no id", reserved.ID, ref.Href)
		}

		var assigned equinixAddress

		if err := e.api.call(ctx, http.MethodGet, "/ips/"+ref.id(), nil, &assigned); err != nil {
			return false, err
		}

		switch {
		case !assigned.contains(addr):
		case assigned.AssignedTo.id() == own:
			return true, nil
		default:
			if err := e.api.call(ctx, http.MethodDelete, "/ips/"+ref.id(), nil, nil); err != nil {
				return false, err
			}
		}
	}

	return false, nil
}
