// SPDX-License-Identifier: Apache-2.0

//go:build linux

package host

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/build/hosttools"
)

func links(context.Context) ([]string, error) {
	all, err := net.Interfaces()

	var lines []string

	for _, l := range all {
		if leftOut(foreignLinks, l.Name) {
			continue
		}

		// Tests do not change whether a link has a carrier.
		state := "down"
		if l.Flags&net.FlagUp != 0 {
			state = "up"
		}

		lines = append(lines, fmt.Sprintf("%s %s mtu %d %s", l.Name, l.HardwareAddr, l.MTU, state))
	}

	return lines, err
}

// addresses lists the addresses that were set. IPv6 addresses from router advertisements come and go.
func addresses(context.Context) ([]string, error) {
	all, err := net.Interfaces()
	if err != nil {
		return nil, err
	}

	var lines []string

	for _, l := range all {
		of, err := l.Addrs()
		if err != nil {
			return nil, err
		}

		for _, a := range of {
			if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr().Is4() && !leftOut(foreignLinks, l.Name) {
				lines = append(lines, l.Name+" "+a.String())
			}
		}
	}

	text, err := os.ReadFile("/proc/net/if_inet6")
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // a kernel without IPv6
		return nil, err
	}

	return append(lines, permanent6(string(text))...), nil
}

// permanent6 returns the addresses of if_inet6 that do not expire.
func permanent6(text string) []string {
	var lines []string

	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) != 6 {
			continue
		}

		flags, err := strconv.ParseUint(words[4], 16, 32)
		bytes, errHex := hex.DecodeString(words[0])
		address, ok := netip.AddrFromSlice(bytes)
		bits, errBits := strconv.ParseUint(words[2], 16, 8)

		if errors.Join(err, errHex, errBits) == nil && ok && flags&unix.IFA_F_PERMANENT != 0 && !leftOut(foreignLinks, words[5]) {
			lines = append(lines, fmt.Sprintf("%s %s/%d", words[5], address, bits))
		}
	}

	return lines
}

// routes lists the main tables as the kernel writes them, without its counters.
func routes(context.Context) ([]string, error) {
	var lines []string

	for _, table := range []struct {
		file   string
		header int
		keep   func(words []string) []string
	}{
		{"/proc/net/route", 1, route4},
		{"/proc/net/ipv6_route", 0, route6},
	} {
		text, err := os.ReadFile(table.file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}

		if err != nil {
			return nil, err
		}

		for i, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
			if kept := table.keep(strings.Fields(line)); i >= table.header && kept != nil {
				lines = append(lines, strings.Join(kept, " "))
			}
		}
	}

	return lines, nil
}

// route4 returns link, destination, gateway, flags, metric and mask.
func route4(words []string) []string {
	if len(words) < 8 || leftOut(foreignLinks, words[0]) {
		return nil
	}

	return []string{words[0], words[1], words[2], words[3], words[6], words[7]}
}

// route6 returns destination, gateway, metric and link of routes that were set. Routes from router advertisements, and
// those of single neighbours and of local and multicast addresses, come and go by themselves.
func route6(words []string) []string {
	if len(words) != 10 || leftOut(foreignLinks, words[9]) {
		return nil
	}

	// An advertised route that a program, not the kernel, has set is known by its expiry. The kernel's own route of the
	// loopback link has no next hop.
	const (
		expires  = 0x00400000 // RTF_EXPIRES of linux/ipv6_route.h
		byItself = unix.RTF_ADDRCONF | expires | unix.RTF_CACHE | unix.RTF_LOCAL | unix.RTF_NONEXTHOP
	)

	flags, err := strconv.ParseUint(words[8], 16, 32)
	if err != nil || flags&byItself != 0 || strings.HasPrefix(words[0], "ff") {
		return nil
	}

	return []string{words[0] + "/" + words[1], words[4], words[5], words[9]}
}

// restlessRules matches the counters of nft and iptables.
var restlessRules = regexp.MustCompile(` packets \d+ bytes \d+| expires \S+`)

// iptables lists the tables that iptables keeps without nftables.
func iptables(context.Context) ([]string, error) {
	var lines []string

	for _, file := range []string{"/proc/net/ip_tables_names", "/proc/net/ip6_tables_names"} {
		text, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrPermission) {
			return nil, errUnseen
		}

		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}

		for _, table := range strings.Fields(string(text)) {
			lines = append(lines, file+" "+table)
		}
	}

	return lines, nil
}

// nftables lists the rules of nftables, which only root may see, and only nft can show.
func nftables(ctx context.Context) ([]string, error) {
	//program:optional without it the rules are not compared
	nft, err := hosttools.LookPath("nft")
	if err != nil || os.Geteuid() != 0 {
		return nil, errUnseen
	}

	//program:optional as it was found
	out, err := exec.CommandContext(ctx, nft, "--stateless", "list", "ruleset").Output()
	if err != nil {
		var said []byte
		if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
			said = exit.Stderr
		}

		return nil, fmt.Errorf("nft list ruleset: %w: %s", err, said)
	}

	return ruleLines(string(out)), nil
}

// ruleLines puts the table and chain before each rule, since several may have the same rule.
func ruleLines(text string) []string {
	var lines, within []string

	for line := range strings.Lines(text) {
		line = strings.TrimSpace(restlessRules.ReplaceAllString(line, ""))

		switch {
		case line == "":
		case line == "}":
			within = within[:max(0, len(within)-1)]
		case strings.HasSuffix(line, "{"):
			within = append(slices.Clip(within), strings.TrimSpace(strings.TrimSuffix(line, "{")))
			lines = append(lines, strings.Join(within, ": "))
		default:
			lines = append(lines, strings.Join(append(slices.Clip(within), line), ": "))
		}
	}

	return lines
}
