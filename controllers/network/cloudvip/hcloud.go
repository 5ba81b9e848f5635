// SPDX-License-Identifier: Apache-2.0

package cloudvip

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"time"
)

// hcloud is Hetzner Cloud. An address in the range of one of this machine's networks is an alias of its card there; any other one is a
// floating address. https://docs.hetzner.cloud/reference/cloud
type hcloud struct{ api, metadata caller }

type hcloudServer struct {
	ID         int64 `json:"id"`
	PrivateNet []struct {
		Network  int64        `json:"network"`
		AliasIPs []netip.Addr `json:"alias_ips"`
	} `json:"private_net"`
}

// aliases returns the aliases of the machine in a network, and whether it is in the network.
func (s hcloudServer) aliases(network int64) ([]netip.Addr, bool) {
	for _, n := range s.PrivateNet {
		if n.Network == network {
			return n.AliasIPs, true
		}
	}

	return nil, false
}

type hcloudFloatingIP struct {
	ID     int64  `json:"id"`
	IP     string `json:"ip"` // an address, or a network of IPv6
	Server *int64 `json:"server"`
}

func (f hcloudFloatingIP) has(addr netip.Addr) bool {
	if p, err := netip.ParsePrefix(f.IP); err == nil {
		return p.Contains(addr)
	}

	own, err := netip.ParseAddr(f.IP)

	return err == nil && own == addr
}

type hcloudAction struct {
	ID     int64  `json:"id"`
	Status string `json:"status"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error"`
}

// Move implements Mover.
func (h *hcloud) Move(ctx context.Context, addr netip.Addr) error {
	return move(ctx, "Hetzner Cloud", addr, func(ctx context.Context) error {
		text, err := h.metadata.text(ctx, "/instance-id")
		if err != nil {
			return err
		}

		id, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return fmt.Errorf("the metadata server's id of this machine: %.100q is not a number", text)
		}

		var own struct {
			Server hcloudServer `json:"server"`
		}

		if err := h.api.call(ctx, http.MethodGet, fmt.Sprintf("/servers/%d", id), nil, &own); err != nil {
			return err
		}

		for _, n := range own.Server.PrivateNet {
			var in struct {
				Network struct {
					Range netip.Prefix `json:"ip_range"`
				} `json:"network"`
			}

			if err := h.api.call(ctx, http.MethodGet, fmt.Sprintf("/networks/%d", n.Network), nil, &in); err != nil {
				return err
			}

			if in.Network.Range.Contains(addr) {
				return h.moveAlias(ctx, own.Server, n.Network, addr)
			}
		}

		return h.moveFloating(ctx, id, addr)
	})
}

// moveAlias takes the alias from the machine that has it: two machines of a network cannot have it.
func (h *hcloud) moveAlias(ctx context.Context, own hcloudServer, network int64, addr netip.Addr) error {
	set := func(server int64, aliases []netip.Addr) error {
		if aliases == nil {
			aliases = []netip.Addr{} // the API requires the list
		}

		return h.act(ctx, fmt.Sprintf("/servers/%d/actions/change_alias_ips", server), map[string]any{"network": network, "alias_ips": aliases})
	}

	aliases, _ := own.aliases(network)
	if slices.Contains(aliases, addr) {
		return nil
	}

	err := h.pages(ctx, "/servers", func(path string) (hcloudMeta, error) {
		var page struct {
			hcloudMeta

			Servers []hcloudServer `json:"servers"`
		}

		if err := h.api.call(ctx, http.MethodGet, path, nil, &page); err != nil {
			return hcloudMeta{}, err
		}

		for _, other := range page.Servers {
			had, _ := other.aliases(network)
			if !slices.Contains(had, addr) || other.ID == own.ID {
				continue
			}

			if err := set(other.ID, slices.DeleteFunc(slices.Clone(had), func(a netip.Addr) bool { return a == addr })); err != nil {
				return hcloudMeta{}, err
			}
		}

		return page.hcloudMeta, nil
	})
	if err != nil {
		return err
	}

	return set(own.ID, append(slices.Clone(aliases), addr))
}

func (h *hcloud) moveFloating(ctx context.Context, server int64, addr netip.Addr) error {
	var found *hcloudFloatingIP

	err := h.pages(ctx, "/floating_ips", func(path string) (hcloudMeta, error) {
		var page struct {
			hcloudMeta

			FloatingIPs []hcloudFloatingIP `json:"floating_ips"`
		}

		if err := h.api.call(ctx, http.MethodGet, path, nil, &page); err != nil {
			return hcloudMeta{}, err
		}

		if i := slices.IndexFunc(page.FloatingIPs, func(f hcloudFloatingIP) bool { return f.has(addr) }); i >= 0 {
			found = &page.FloatingIPs[i]

			return hcloudMeta{}, nil
		}

		return page.hcloudMeta, nil
	})

	switch {
	case err != nil:
		return err
	case found == nil:
		return errors.New("it is neither in a network of this machine nor a floating address of the project: create one, or set another address")
	case found.Server != nil && *found.Server == server:
		return nil
	default:
		return h.act(ctx, fmt.Sprintf("/floating_ips/%d/actions/assign", found.ID), map[string]any{"server": server})
	}
}

// hcloudMeta is the part of an answer that says whether there is more.
type hcloudMeta struct {
	Meta struct {
		Pagination struct {
			NextPage *int `json:"next_page"`
		} `json:"pagination"`
	} `json:"meta"`
}

// pages reads a list page by page.
func (h *hcloud) pages(ctx context.Context, path string, read func(path string) (hcloudMeta, error)) error {
	for page, n := 1, 0; n < maxPages; n++ {
		meta, err := read(fmt.Sprintf("%s?page=%d&per_page=50", path, page))

		next := meta.Meta.Pagination.NextPage
		if err != nil || next == nil {
			return err
		}

		page = *next
	}

	return fmt.Errorf("list %s: more than %d pages", path, maxPages)
}

// act starts an action and waits for its end.
func (h *hcloud) act(ctx context.Context, path string, in any) error {
	var out struct {
		Action hcloudAction `json:"action"`
	}

	if err := h.api.call(ctx, http.MethodPost, path, in, &out); err != nil {
		return err
	}

	for out.Action.Status == "running" {
		select {
		case <-ctx.Done():
			return fmt.Errorf("POST %s: the action is not over: %w", path, ctx.Err())
		case <-time.After(pollInterval):
		}

		if err := h.api.call(ctx, http.MethodGet, fmt.Sprintf("/actions/%d", out.Action.ID), nil, &out); err != nil {
			return err
		}
	}

	if out.Action.Status != "success" {
		text := ""
		if out.Action.Error != nil {
			text = ": " + out.Action.Error.Message
		}

		return fmt.Errorf("POST %s: the action ended with status %.100q%.200s", path, out.Action.Status, text)
	}

	return nil
}
