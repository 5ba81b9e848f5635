// SPDX-License-Identifier: Apache-2.0

//go:build linux

package config

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/configtest"
	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/typed"
	configres "github.com/seed-59268b81/talos/resources/config"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/resources/network"
)

// TestAPIServers holds what follows from who answers.
func TestAPIServers(t *testing.T) {
	const own, other, balancer = "127.0.0.1:6443", "192.0.2.3:6443", "192.0.2.9:6443"

	for _, tt := range []struct {
		name string
		list addresses
		// up answer, and refused answer that nothing listens; apids are the machines whose apid answers.
		up, refused, apids []string
		met                string
		lost, lostForEntry bool
	}{
		{"all well", addresses{balancer, []string{own, balancer, other}, []string{other}}, []string{own, other, balancer}, nil, nil, "endpoint apiserver", false, false},
		{"a wrong endpoint", addresses{"192.0.2.99:6443", []string{own, other}, []string{other}}, []string{own, other}, nil, nil, "apiserver", false, false},
		{"the own one only is down", addresses{balancer, []string{own, other}, []string{other}}, []string{other, balancer}, []string{own}, nil, "endpoint apiserver", false, false},
		{"the only one is down", addresses{balancer, []string{own, balancer}, nil}, nil, []string{own, balancer}, nil, "", false, false},
		{"cut off", addresses{other, []string{other}, []string{other}}, nil, nil, nil, "", false, true},
		{"the others are down", addresses{other, []string{other}, []string{other}}, nil, []string{other}, nil, "", true, true},
		{"the others hang", addresses{other, []string{other}, []string{other}}, nil, nil, []string{"192.0.2.3:50000"}, "", true, true},
		{"no configuration", addresses{}, nil, nil, nil, "", false, false},
	} {
		answer := func(list ...[]string) func(context.Context, string) error {
			return func(_ context.Context, address string) error {
				for i, addresses := range list {
					if slices.Contains(addresses, address) {
						return []error{nil, &netError{syscall.ECONNREFUSED}}[i]
					}
				}

				return errors.New("i/o timeout")
			}
		}

		s := &apiServers{dial: answer(tt.up, tt.refused), port: answer(tt.apids)}
		s.know(tt.list)

		if got := strings.Join(s.ask(t.Context()).before(nil), " "); got != tt.met {
			t.Errorf("%s: met are %q, want %q", tt.name, got, tt.met)
		}

		var met []string

		for _, c := range s.conditions() {
			if c.Met {
				met = append(met, c.Name)
			} else if c.Why == "" {
				t.Errorf("%s: %s has no reason", tt.name, c.Name)
			}
		}

		if got := strings.Join(met, " "); got != tt.met || s.lost(false) != tt.lost || s.lost(true) != tt.lostForEntry {
			t.Errorf("%s: met are %q, lost %t, for a boot entry %t", tt.name, got, s.lost(false), s.lost(true))
		}

		if s.forget(); s.lost(true) || len(s.conditions()) > 0 {
			t.Errorf("%s: it is not forgotten", tt.name)
		}
	}
}

// TestQuestionGivenUp holds that a question that was given up, such as that of a trial that is over, says nothing about the cluster.
func TestQuestionGivenUp(t *testing.T) {
	s := noServers()
	s.know(addresses{endpoint: "192.0.2.9:6443"})

	ctx, cancel := context.WithCancel(t.Context())
	cancel()

	if got := s.ask(ctx); got.asked || len(s.conditions()) > 0 {
		t.Errorf("got %+v, %+v", got, s.conditions())
	}
}

// noServers are API servers that do not answer.
func noServers() *apiServers {
	silent := func(context.Context, string) error { return errors.New("i/o timeout") }

	return &apiServers{dial: silent, port: silent}
}

type netError struct{ err error }

func (e *netError) Error() string { return "dial: " + e.err.Error() }
func (e *netError) Unwrap() error { return e.err }

// TestServersOf holds which API servers are those of other machines.
func TestServersOf(t *testing.T) {
	st := memory.New()

	if got, err := serversOf(t.Context(), st, true); err != nil || got.endpoint != "" {
		t.Errorf("without a configuration: got %+v, %v", got, err)
	}

	cfg, err := config.Decode(configtest.ControlPlane(t))
	if err != nil {
		t.Fatal(err)
	}

	spec := configres.NewMachineConfigSpec(cfg)
	endpoint := spec.View().Endpoint().Hostname() + ":" + spec.View().Endpoint().Port()

	if err := errors.Join(
		typed.Set(t.Context(), st, "", configres.ActiveID, spec),
		typed.Set(t.Context(), st, "", network.NodeAddressCurrentID, network.NodeAddressSpec{Addresses: []netip.Prefix{netip.MustParsePrefix("192.0.2.2/24")}}),
		typed.Set(t.Context(), st, "", k8s.EndpointAPIServerID, k8s.EndpointSpec{Addresses: []netip.Addr{netip.MustParseAddr("192.0.2.2"), netip.MustParseAddr("192.0.2.3")}}),
		typed.Set(t.Context(), st, "", k8s.EndpointControlPlane, k8s.EndpointSpec{Addresses: []netip.Addr{netip.MustParseAddr("192.0.2.9")}}),
		typed.Set(t.Context(), st, "", k8s.KubePrismEndpointsID, k8s.KubePrismEndpointsSpec{Endpoints: []k8s.KubePrismEndpoint{
			{Host: "127.0.0.1", Port: 6443}, {Host: "192.0.2.9", Port: 6443}, {Host: "192.0.2.2", Port: 6443}, {Host: "192.0.2.3", Port: 6443},
		}}),
	); err != nil {
		t.Fatal(err)
	}

	all := []string{"127.0.0.1:6443", "192.0.2.9:6443", "192.0.2.2:6443", "192.0.2.3:6443"}

	for controlPlane, want := range map[bool]addresses{
		true:  {endpoint, all, []string{"192.0.2.3:6443"}},
		false: {endpoint, all, []string{"192.0.2.9:6443", "192.0.2.3:6443"}},
	} {
		got, err := serversOf(t.Context(), st, controlPlane)
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(addresses{})); diff != "" || err != nil {
			t.Errorf("control plane %t: %v\n%s", controlPlane, err, diff)
		}
	}
}
