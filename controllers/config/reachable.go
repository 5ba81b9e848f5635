// SPDX-License-Identifier: Apache-2.0

//go:build linux

package config

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/files"
	"github.com/seed-59268b81/talos/resources/network"
)

// networkInputs are what decides whether a server can be reached: inputs only while the platform is asked, because later there may be thousands
// of routes that change often.
func networkInputs() []controller.Input {
	return []controller.Input{
		controller.In[network.AddressStatusSpec](controller.Weak, ""),
		controller.In[network.RouteStatusSpec](controller.Weak, ""),
		controller.In[files.EtcFileStatusSpec](controller.Weak, "", files.ResolvConf),
	}
}

// networkNow returns a text that changes with the addresses, the routes, the name servers, and the names of the machine.
func networkNow(ctx context.Context, rt state.Reader, names ...string) (string, error) {
	addresses, err1 := typed.List[network.AddressStatusSpec](ctx, rt, "")
	routes, err2 := typed.List[network.RouteStatusSpec](ctx, rt, "")

	var written files.EtcFileStatusSpec

	err3 := typed.Read(ctx, rt, files.ResolvConf, &written).Err
	out := append(names, written.SpecVersion)

	for _, a := range addresses {
		out = append(out, fmt.Sprint(a.Metadata().ID(), " ", a.TypedSpec().Flags)) // an address that is still being checked is not used
	}

	for _, r := range routes {
		out = append(out, r.Metadata().ID()+" "+r.TypedSpec().OutLinkName)
	}

	slices.Sort(out)

	return strings.Join(out, "\n"), errors.Join(err1, err2, err3)
}
