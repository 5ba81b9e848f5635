// SPDX-License-Identifier: Apache-2.0

package network

import (
	"net/netip"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	machineapi "github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/network/nethelpers"
)

// TestAddressEvents changes the addresses and the hostname step by step: each step sends the event that it is expected to, or none.
func TestAddressEvents(t *testing.T) {
	addresses := func(set string, algorithm nethelpers.AddressSortAlgorithm, prefixes ...string) func(*testing.T, state.State) error {
		spec := network.NodeAddressSpec{SortAlgorithm: algorithm}
		for _, p := range prefixes {
			spec.Addresses = append(spec.Addresses, netip.MustParsePrefix(p))
		}

		return func(t *testing.T, st state.State) error { return typed.Set(t.Context(), st, "", set, spec) }
	}

	current := func(prefixes ...string) func(*testing.T, state.State) error {
		return addresses(network.NodeAddressCurrentID, nethelpers.AddressSortV1, prefixes...)
	}

	hostname := func(name, domain string) func(*testing.T, state.State) error {
		return func(t *testing.T, st state.State) error {
			return typed.Set(t.Context(), st, "", network.HostnameID, network.HostnameStatusSpec{Hostname: name, Domainname: domain})
		}
	}

	steps := []struct {
		name   string
		change func(*testing.T, state.State) error
		want   *machineapi.AddressEvent
	}{
		{"nothing is known", current(), nil},
		{"the first hostname", hostname("cp1", ""), &machineapi.AddressEvent{Hostname: "cp1"}},
		{"the first address", current("10.5.0.2/24"), &machineapi.AddressEvent{Hostname: "cp1", Addresses: []string{"10.5.0.2"}}},
		{
			"another address", current("10.5.0.2/24", "2001:db8::2/64"),
			&machineapi.AddressEvent{Hostname: "cp1", Addresses: []string{"10.5.0.2", "2001:db8::2"}},
		},
		{"the length of a prefix", current("10.5.0.2/16", "2001:db8::2/64"), nil},
		{"the algorithm", addresses(network.NodeAddressCurrentID, nethelpers.AddressSortV2, "10.5.0.2/16", "2001:db8::2/64"), nil},
		{"the domain", hostname("cp1", "example.com"), nil},
		{"other sets of addresses", addresses(network.NodeAddressRoutedID, nethelpers.AddressSortV1, "10.5.0.9/24"), nil},
		{"another hostname", hostname("cp2", ""), &machineapi.AddressEvent{Hostname: "cp2", Addresses: []string{"10.5.0.2", "2001:db8::2"}}},
		{"an address is removed", current("2001:db8::2/64"), &machineapi.AddressEvent{Hostname: "cp2", Addresses: []string{"2001:db8::2"}}},
		{"the last address is removed", current(), &machineapi.AddressEvent{Hostname: "cp2"}},
	}

	synctest.Test(t, func(t *testing.T) {
		var got, want []proto.Message // synctest.Wait is between a write and a read

		st := memory.New()
		run(t, st, []controller.Controller{addressEventController(func(event proto.Message) { got = append(got, event) })})

		for _, step := range steps {
			if err := step.change(t, st); err != nil {
				t.Fatal(err)
			}

			synctest.Wait()

			if step.want != nil {
				want = append(want, step.want)
			}

			if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
				t.Fatalf("%s (-want +got):\n%s", step.name, diff)
			}
		}
	})
}
