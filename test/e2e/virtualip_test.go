// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"github.com/seed-59268b81/talos/api/contract"
	"github.com/seed-59268b81/talos/config/generate"
	"github.com/seed-59268b81/talos/config/patch"
	"github.com/seed-59268b81/talos/lab"
	"github.com/seed-59268b81/talos/resources/network"
)

// virtualAddress is shared by the control planes of the lab's network. No machine has it from DHCP.
var virtualAddress = netip.MustParseAddr("10.5.0.200")

// withVirtualAddress has the control planes share an address on the card of containers.
func withVirtualAddress(options *generate.Options) error {
	patches, err := patch.Load([]string{
		document("Layer2VIPConfig", "name: "+virtualAddress.String()+"\nlink: eth0") + "---\n" + document("DHCPv4Config", "name: eth0"),
	})
	options.ControlPlanePatches = append(options.ControlPlanePatches, patches...)

	return err
}

// holder returns the machine with the virtual address.
func (s *scaled) holder(ctx context.Context, planes []*lab.Node) (*lab.Node, error) {
	var holders []*lab.Node

	for _, n := range planes {
		addresses, err := specs[network.AddressStatusSpec](ctx, s, n, network.NamespaceName)
		if err != nil {
			return nil, err
		}

		if slices.ContainsFunc(addresses, func(a network.AddressStatusSpec) bool { return a.Address.Addr() == virtualAddress }) {
			holders = append(holders, n)
		}
	}

	if len(holders) != 1 {
		return nil, fmt.Errorf("%d machines have the address %s, want one", len(holders), virtualAddress)
	}

	return holders[0], nil
}

// losesHolder cuts the power of the machine with the virtual address, and leaves it off. A client in the network of a worker writes through
// that address.
func (s *scaled) losesHolder(planes []*lab.Node, worker *lab.Node) {
	dial := insideOf(s.t, worker)
	if dial == nil {
		s.t.Log("no client of the virtual address: this computer cannot enter the network of the worker")

		return
	}

	w := s.load.newWriter("virtual", netip.AddrPortFrom(virtualAddress, contract.KubernetesPort).String(), s.Lab.State().KubeconfigPath(), dial)
	defer w.client.CloseIdleConnections()

	name := `{"metadata": {"name": "load-virtual"}}`

	s.Until("the virtual address answers", time.Minute, func(ctx context.Context) error {
		code, text, err := w.send(ctx, http.MethodPost, "", name, "application/json")
		if err == nil && code != http.StatusCreated && code != http.StatusConflict {
			err = errors.New(strconv.Itoa(code) + " " + string(text))
		}

		return err
	})

	var holder *lab.Node

	// It has etcd's leader move elsewhere.
	s.Until("one machine has the virtual address, and another leads etcd", time.Minute, func(ctx context.Context) (err error) {
		if holder, err = s.holder(ctx, planes); err != nil {
			return err
		}

		if leader := s.leader(planes); leader == holder {
			return fmt.Errorf("%s has both", leader.Name)
		}

		return nil
	})

	s.load.hold()

	if err := holder.PowerCut(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}

	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()

	took := w.silence(ctx)
	s.Measured("virtual address: from the power cut of its machine to an answer", took)

	if took > silence {
		s.late = append(s.late, fmt.Sprintf("the virtual address did not answer for %s after the power cut of its machine, want at most %s", took, silence))
	}
}
