// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/lab"
	"github.com/seed-59268b81/talos/lab/gateway"
	"github.com/seed-59268b81/talos/lab/world"
)

// newServiceCommand completes a command that sets the faults of a service of a network.
func newServiceCommand(p *place, cmd *cobra.Command, edit func(*world.Services)) *cobra.Command {
	cmd.Use += " NETWORK"
	cmd.Long += " Without a flag, the server is healthy again."
	cmd.Args = cobra.ExactArgs(1)
	cmd.ValidArgsFunction = completion(p, networkNames)
	cmd.RunE = p.run(func(cmd *cobra.Command, l *lab.Lab, args []string) error {
		if err := l.EditServices(cmd.Context(), args[0], edit); err != nil {
			return err
		}

		status, err := l.Status(cmd.Context())
		if err != nil {
			return err
		}

		for _, n := range status.Networks {
			if n.Name == args[0] {
				fmt.Fprintf(cmd.OutOrStdout(), "services of %s: %s\n", n.Name, describeServices(n.Services))
			}
		}

		return nil
	})

	return cmd
}

func newDHCPCommand(p *place) *cobra.Command {
	var (
		b      gateway.DHCPBehaviour
		second bool
	)

	cmd := newServiceCommand(p, &cobra.Command{
		Use:   "dhcp",
		Short: "Inject faults of DHCP",
		Long: `Inject faults of the DHCP server of a network, or with --second start another server with these faults. The command without --second
stops the second server.`,
		Example: `  talosctl cluster net dhcp lab --silent
  talosctl cluster net dhcp lab --lease-time 10s
  talosctl cluster net dhcp lab --second --no-router`,
	}, func(s *world.Services) {
		own := b // later runs must not change it

		if s.SecondDHCP = nil; second {
			s.SecondDHCP = &own
		} else {
			s.DHCP = own
		}
	})

	cmd.Flags().BoolVar(&b.Silent, "silent", false, "answer nothing")
	cmd.Flags().BoolVar(&b.RefuseRequests, "refuse", false, "refuse each request (NAK)")
	cmd.Flags().BoolVar(&b.NoRouter, "no-router", false, "send no default router")
	cmd.Flags().IntVar(&b.StopAfter, "stop-after", 0, "answer nothing after this many answers")
	cmd.Flags().DurationVar(&b.Delay, "delay", 0, "how late each answer is")
	cmd.Flags().DurationVar(&b.LeaseTime, "lease-time", 0, "lease time, instead of an hour")
	cmd.Flags().StringSliceVar(&b.HostNames, "host-names", nil, "host names to send, the next one with each lease")
	cmd.Flags().BoolVar(&second, "second", false, "start a second server with these faults, beside the first")

	return cmd
}

func newNTPCommand(p *place) *cobra.Command {
	var b gateway.NTPBehaviour

	cmd := newServiceCommand(p, &cobra.Command{
		Use:   "ntp",
		Short: "Inject faults of NTP",
		Long:  "Make the NTP server of a network silent or wrong.",
		Example: `  talosctl cluster net ntp lab --offset 2h
  talosctl cluster net ntp lab --silent`,
	}, func(s *world.Services) { s.NTP = b })

	cmd.Flags().BoolVar(&b.Silent, "silent", false, "answer nothing")
	cmd.Flags().DurationVar(&b.Delay, "delay", 0, "how late each answer is")
	cmd.Flags().DurationVar(&b.Offset, "offset", 0, "how far the server's clock is ahead")
	cmd.Flags().Float64Var(&b.Drift, "drift", 0, "seconds that the server's clock gains each second: 0.0001 is 100 ppm")
	cmd.Flags().StringVar(&b.Kiss, "kiss", "", "answer with a kiss-o'-death: DENY, RATE or RSTR")
	cmd.Flags().Uint8Var(&b.Stratum, "stratum", 0, "stratum to send (default 1; 16 is not synchronized)")

	return cmd
}

func newDNSCommand(p *place) *cobra.Command {
	var b gateway.DNSBehaviour

	cmd := newServiceCommand(p, &cobra.Command{
		Use:   "dns",
		Short: "Inject faults of DNS",
		Long:  "Make the DNS server of a network silent or slow, or make it fail.",
		Example: `  talosctl cluster net dns lab --delay 2s
  talosctl cluster net dns lab --rcode SERVFAIL`,
	}, func(s *world.Services) { s.DNS = b })

	cmd.Flags().BoolVar(&b.Silent, "silent", false, "answer nothing")
	cmd.Flags().DurationVar(&b.Delay, "delay", 0, "how late each answer is")
	cmd.Flags().StringVar(&b.Rcode, "rcode", "", "answer everything with this code, such as SERVFAIL")
	cmd.Flags().BoolVar(&b.Truncate, "truncate", false, "truncate answers over UDP")

	return cmd
}

// describeServices lists the services that are not healthy.
func describeServices(s world.Services) string {
	var all []string
	add := func(name, why string) {
		if why != "" {
			all = append(all, name+" "+why)
		}
	}

	add("DHCP", describeDHCP(s.DHCP))

	if s.SecondDHCP != nil {
		add("second DHCP server", cmp.Or(describeDHCP(*s.SecondDHCP), "healthy"))
	}

	add("DHCPv6", silent(s.DHCPv6.Silent, s.DHCPv6.Delay, s.DHCPv6 != gateway.DHCPv6Behaviour{}))
	add("RA", map[bool]string{true: "off"}[s.RA.Off])
	add("DNS", silent(s.DNS.Silent, s.DNS.Delay, s.DNS != gateway.DNSBehaviour{}, s.DNS.Rcode))
	add("NTP", describeNTP(s.NTP))
	add("metadata", silent(s.Metadata.Silent, s.Metadata.Delay, s.Metadata != gateway.MetadataBehaviour{}))

	return cmp.Or(strings.Join(all, "; "), "healthy")
}

// silent describes the faults that all services share; odd is any other fault.
func silent(silent bool, delay time.Duration, odd bool, more ...string) string {
	switch text := strings.Join(more, " "); {
	case silent:
		return "silent"
	case text != "":
		return text
	case delay > 0:
		return fmt.Sprintf("late by %v", delay)
	case odd:
		return "misbehaves"
	}

	return ""
}

func describeDHCP(b gateway.DHCPBehaviour) string {
	var all []string
	add := func(is bool, format string, args ...any) {
		if is {
			all = append(all, fmt.Sprintf(format, args...))
		}
	}

	add(b.Silent, "silent")
	add(b.StopAfter > 0, "silent after %d answers", b.StopAfter)
	add(b.Delay > 0, "late by %v", b.Delay)
	add(b.RefuseRequests, "refuses requests")
	add(b.NoRouter, "sends no router")
	add(b.Router.IsValid(), "sends router %v", b.Router)
	add(b.ServerID.IsValid(), "calls itself %v", b.ServerID)
	add(b.Addr.IsValid(), "leases %v to all", b.Addr)
	add(b.LeaseTime > 0, "leases for %v", b.LeaseTime)
	add(len(b.HostNames) > 0, "sends host names %s", strings.Join(b.HostNames, ", "))

	return strings.Join(all, ", ")
}

func describeNTP(b gateway.NTPBehaviour) string {
	switch {
	case b.Silent:
		return "silent"
	case b.Kiss != "":
		return "answers " + b.Kiss
	case b.Offset != 0 || b.Drift != 0:
		return fmt.Sprintf("ahead by %v, gains %v ppm", b.Offset, b.Drift*1e6)
	}

	return silent(false, b.Delay, b != gateway.NTPBehaviour{})
}
