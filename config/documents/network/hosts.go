// SPDX-License-Identifier: Apache-2.0

package network

import (
	"github.com/seed-59268b81/talos/config/v1alpha1"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/seed-59268b81/talos/config/document"
	"github.com/seed-59268b81/talos/config/value"
)

// StaticHostConfig is a line of /etc/hosts. Its name is the address.
type StaticHostConfig struct {
	document.Named `yaml:",inline"`
	// The names of the host.
	Hostnames []value.LookupName `yaml:"hostnames" required:"true" like:"machine.network.extraHostEntries"`
}

var staticHost = document.Of[StaticHostConfig]("StaticHostConfig", `apiVersion: v1alpha1
kind: StaticHostConfig
name: 192.0.2.20
hostnames:
    - registry.example.com
    - registry
`)

// Validate implements document.Validator.
func (c *StaticHostConfig) Validate(r *document.Report) { addressName(r, c.DocName) }

// BlackholeRouteConfig drops packets to a network for which there is no better route. Its name is the network.
type BlackholeRouteConfig struct {
	document.Named `yaml:",inline"`
	// Of several routes to a network, packets take the one with the lowest metric.
	Metric uint32 `yaml:"metric,omitempty"`
}

var blackhole = document.Of[BlackholeRouteConfig]("BlackholeRouteConfig", `apiVersion: v1alpha1
kind: BlackholeRouteConfig
name: 198.51.100.0/24
`)

// Validate implements document.Validator.
func (c *BlackholeRouteConfig) Validate(r *document.Report) {
	if p, err := netip.ParsePrefix(c.DocName); err != nil || p != p.Masked() || p.String() != c.DocName {
		r.Wrong("name", "%q is not a network in its usual form, such as 198.51.100.0/24", c.DocName)
	}
}

// LinkAliasConfig gives a link a second name, under which other documents mean it.
type LinkAliasConfig struct {
	document.Named `yaml:",inline"`
	// What selects the link.
	Selector LinkSelector `yaml:"selector" required:"true"`
}

// LinkSelector selects links.
type LinkSelector struct {
	// A CEL expression over the status of a link, which is true for the link that is meant. A name with %d in it names all links that
	// match, numbered in the order of their hardware addresses.
	Match value.LinkExpression `yaml:"match" required:"true"`
}

var linkAlias = document.Of[LinkAliasConfig]("LinkAliasConfig", `apiVersion: v1alpha1
kind: LinkAliasConfig
name: net0
selector:
    match: mac(link.permanent_addr) == "02:00:5e:10:00:01"
`)

// Validate implements document.Validator.
func (c *LinkAliasConfig) Validate(r *document.Report) {
	first := strings.Replace(c.DocName, "%d", "0", 1)

	if err := new(value.LinkName).UnmarshalText([]byte(first)); err != nil || strings.Contains(first, "%") {
		r.Wrong("name", "%q is not the name of a link, nor one with %%d for a number", c.DocName)
	}
}

// TimeSyncConfig says where the machine gets the time from.
type TimeSyncConfig struct {
	document.Header `yaml:",inline"`
	// Whether the time is set; it is without this key.
	Enabled *bool `yaml:"enabled,omitempty" maps:"!machine.time.disabled"`
	// How long services wait for the time at boot; forever without it.
	BootTimeout time.Duration `yaml:"bootTimeout,omitempty" maps:"machine.time.bootTimeout"`
	// Servers of the Network Time Protocol.
	NTP *NTP `yaml:"ntp,omitempty"`
	// Clocks of the Precision Time Protocol.
	PTP *PTP `yaml:"ptp,omitempty"`
}

// NTP has servers of the Network Time Protocol.
type NTP struct {
	// The servers, by name or address.
	Servers []value.Host `yaml:"servers,omitempty" maps:"machine.time.servers"`
	// Whether the servers must prove their answers (Network Time Security).
	UseNTS *bool `yaml:"useNTS,omitempty" protects:"true"`
}

// PTP has clocks of the Precision Time Protocol.
type PTP struct {
	// Devices of the kernel, such as /dev/ptp0: the clock of a virtual machine's host, or of a network card that is synchronized. Their
	// time is UTC.
	Devices []string `yaml:"devices,omitempty"`
}

var timeSync = document.Of[TimeSyncConfig]("TimeSyncConfig", `apiVersion: v1alpha1
kind: TimeSyncConfig
bootTimeout: 2m
ntp:
    servers:
        - time.example.com
`)

// Validate implements document.Validator.
func (c *TimeSyncConfig) Validate(r *document.Report) {
	if c.NTP != nil && c.PTP != nil {
		r.Wrong("ptp", "the time comes from ntp or from ptp: keep one of the two")
	}

	if c.PTP != nil {
		for i, device := range c.PTP.Devices {
			if !strings.HasPrefix(device, "/dev/") {
				r.Wrong(index("ptp.devices", i), "%q is not a device: want a path such as /dev/ptp0", device)
			}
		}
	}

	if c.BootTimeout < 0 {
		r.Wrong("bootTimeout", "%v is negative", c.BootTimeout)
	}
}

// Overlay implements overlay.Overlayer.
func (c *StaticHostConfig) Overlay(main *v1alpha1.Config) {
	addr, err := netip.ParseAddr(c.DocName)
	if err != nil {
		return // the check reports it
	}

	host := v1alpha1.ExtraHost{IP: addr}
	for _, name := range c.Hostnames {
		host.Aliases = append(host.Aliases, string(name))
	}

	hosts := &main.Machine.Network.ExtraHostEntries
	*hosts = append(slices.Clip(*hosts), host)
}
