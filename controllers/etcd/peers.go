// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"

	"github.com/seed-59268b81/talos/controllers/etcd/quorum"
	"github.com/seed-59268b81/talos/controllers/etcd/settings"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/durable"
	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/resources/network"
)

// membersPath is where the addresses of the members are kept, beside the data directory.
const membersPath = layout.EtcdMembersFile

// peerInputs returns the inputs of peers.
func peerInputs() []controller.Input {
	return []controller.Input{
		controller.In[k8s.EndpointSpec](controller.Weak, ""),
		controller.In[network.NodeAddressSpec](controller.Weak, "", network.NodeAddressCurrentID),
	}
}

// peers returns the URLs of machines that may have a member of etcd: the control planes that are known from Kubernetes, from discovery
// and from the configuration, and the members that this machine has seen, without this machine's own addresses.
func peers(ctx context.Context, r state.Reader, root string) ([]string, error) {
	var current network.NodeAddressSpec

	if f := typed.Read(ctx, r, network.NodeAddressCurrentID, &current); f.Err != nil {
		return nil, f.Err
	}

	endpoints, err := typed.List[k8s.EndpointSpec](ctx, r, "")
	if err != nil {
		return nil, err
	}

	known, err := keptMembers(root)
	if err != nil {
		return nil, err
	}

	for _, e := range endpoints {
		known = append(known, e.TypedSpec().Addresses...)
	}

	own := current.IPs()
	known = slices.DeleteFunc(known, func(a netip.Addr) bool {
		return !a.IsValid() || a.IsUnspecified() || slices.Contains(own, a)
	})

	slices.SortFunc(known, netip.Addr.Compare)

	var urls []string
	for _, a := range slices.Compact(known) {
		urls = append(urls, settings.URL(a, settings.ClientPort))
	}

	return urls, nil
}

// keptMembers returns the addresses of the members that were seen last.
func keptMembers(root string) ([]netip.Addr, error) {
	text, err := os.ReadFile(filepath.Join(root, membersPath))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}

	if err != nil {
		return nil, fmt.Errorf("read the addresses of etcd's members: %w", err)
	}

	// A damaged file is as good as none.
	var known []netip.Addr
	if json.Unmarshal(text, &known) != nil {
		return nil, nil
	}

	return known, nil
}

// keepMembers stores the addresses of the members when they have changed.
func keepMembers(root string, cluster quorum.Cluster) error {
	var known []netip.Addr

	for _, m := range cluster.Members {
		for _, text := range m.ClientURLs {
			if a, ok := addressOf(text); ok {
				known = append(known, a)
			}
		}
	}

	slices.SortFunc(known, netip.Addr.Compare)

	path := filepath.Join(root, membersPath)

	text, err := json.Marshal(slices.Compact(known))
	if err != nil {
		return err
	}

	if held, err := os.ReadFile(path); err == nil && bytes.Equal(held, text) {
		return nil
	}

	if err := durable.Write(path, text, 0o600); err != nil {
		return fmt.Errorf("store the addresses of etcd's members: %w", err)
	}

	return nil
}

// addressOf returns the address in the URL of a member.
func addressOf(text string) (netip.Addr, bool) {
	u, err := url.Parse(text)
	if err != nil {
		return netip.Addr{}, false
	}

	a, err := netip.ParseAddr(u.Hostname())

	return a, err == nil
}
