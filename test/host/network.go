// SPDX-License-Identifier: Apache-2.0

//go:build linux

package host

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-59268b81/talos/components/hosttools"
)

func links(context.Context) ([]string, error) {
	all, err := net.Interfaces()

	var lines []string

	for _, l := range all {
		// Whether a link has a carrier is not ours to say.
		state := "down"
		if l.Flags&net.FlagUp != 0 {
			state = "up"
		}

		lines = append(lines, fmt.Sprintf("%s %s mtu %d %s", l.Name, l.HardwareAddr, l.MTU, state))
	}

	return lines, err
}

// addresses are those that somebody has set. IPv6 addresses out of router advertisements come and go.
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
			if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr().Is4() {
				lines = append(lines, l.Name+" "+a.String())
			}
		}
	}

	text, err := os.ReadFile("/proc/net/if_inet6")
	if err != nil && !errors.Is(err, os.ErrNotExist) { // a kernel without IPv6
		return nil, err
	}

	return append(lines, permanent6(string(text))...), nil
}

// permanent6 are the addresses of if_inet6 that do not expire.
func permanent6(text string) []string {
	const flagPermanent = 0x80

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

		if errors.Join(err, errHex, errBits) == nil && ok && flags&flagPermanent != 0 {
			lines = append(lines, fmt.Sprintf("%s %s/%d", words[5], address, bits))
		}
	}

	return lines
}

// routes are those of the main tables, as the kernel writes them, without its counters.
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
		if errors.Is(err, os.ErrNotExist) {
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

// route4 keeps link, destination, gateway, flags, metric and mask.
func route4(words []string) []string {
	if len(words) < 8 {
		return nil
	}

	return []string{words[0], words[1], words[2], words[3], words[6], words[7]}
}

// route6 keeps destination, gateway, metric and link of routes that somebody has set. Those that the kernel makes from
// router advertisements, for single neighbours and for local and multicast addresses come and go with what they are for.
func route6(words []string) []string {
	if len(words) != 10 {
		return nil
	}

	const byItself = 0x00040000 | 0x01000000 | 0x80000000 | 0x00200000 // RTF_ADDRCONF, RTF_CACHE, RTF_LOCAL, RTF_REJECT

	flags, err := strconv.ParseUint(words[8], 16, 32)
	if err != nil || flags&byItself != 0 || strings.HasPrefix(words[0], "ff") {
		return nil
	}

	return []string{words[0] + "/" + words[1], words[4], words[5], words[9]}
}

// restlessRules is what nft and iptables count.
var restlessRules = regexp.MustCompile(`packets \d+ bytes \d+| expires \S+`)

// firewall is the rules of nftables, and the tables of iptables where they are not kept by it.
func firewall(ctx context.Context) ([]string, error) {
	var lines []string

	for _, file := range []string{"/proc/net/ip_tables_names", "/proc/net/ip6_tables_names"} {
		if text, err := os.ReadFile(file); err == nil {
			for _, table := range strings.Fields(string(text)) {
				lines = append(lines, file+" "+table)
			}
		}
	}

	//program:optional without it nobody has made rules with it
	nft, err := hosttools.LookPath("nft")
	if err != nil || os.Geteuid() != 0 {
		return lines, nil //nolint:nilerr // see above; and only root may look
	}

	//program:optional as it was found
	out, err := exec.CommandContext(ctx, nft, "--stateless", "list", "ruleset").CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("nft list ruleset: %w: %s", err, out)
	}

	return append(lines, ruleLines(string(out))...), nil
}

// ruleLines puts the table and chain before each rule, which may stand in several.
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
