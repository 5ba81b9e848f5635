// SPDX-License-Identifier: Apache-2.0

package network

import (
	"errors"
	"fmt"

	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/sys/cmdline"
)

// arguments are the kernel's arguments about the network: ip=, bond=, vlan=, talos.hostname=, talos.network.interface.ignore=.
type arguments struct {
	hostname string
	ips      []cmdline.IP
	links    []view.Link
	ignored  []string
}

// parseArguments returns the valid arguments, and an error for the others.
func parseArguments(c cmdline.Cmdline) (arguments, error) {
	var a arguments

	links, errs := parseLinks(c)
	a.links = links

	for _, value := range c.All("ip") {
		ip, err := cmdline.ParseIP(value)
		if err != nil {
			errs = append(errs, err)

			continue
		}

		a.ips = append(a.ips, ip)

		if ip.Hostname != "" {
			a.hostname = ip.Hostname
		}
	}

	if name, ok := c.Get("talos.hostname"); ok && name != "" {
		a.hostname = name
	}

	if a.hostname != "" {
		var spec network.HostnameSpecSpec
		if err := spec.ParseFQDN(a.hostname); err != nil {
			errs = append(errs, fmt.Errorf("kernel argument: %w", err))
			a.hostname = ""
		}
	}

	a.ignored = c.All("talos.network.interface.ignore")

	return a, errors.Join(errs...)
}

// device returns the link of an ip= argument: the named one, or the first physical link that the kernel found, so that a card whose
// driver is loaded later does not change it. It returns "" if there is none.
func (f facts) device(ip cmdline.IP) string {
	if ip.Device != "" {
		return f.canonical(ip.Device)
	}

	for _, i := range f.found() {
		if f.links[i].Physical() {
			return f.names[i]
		}
	}

	return ""
}
