// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/test/cluster"
)

// TestNet runs a container on the internet and one on a site behind a NAT, each with two cards, and sets faults by
// command.
func TestNet(t *testing.T) {
	l := cluster.NewUserLab(t, "e2e-net")

	l.Create(5*time.Minute, "cluster", "create", "container", "--workers", "1", "--sites", "1", "--cards", "2", "--skip-injecting-config")

	worker := l.Open().Node(1)
	answers := func() error {
		_, _, err := l.Talosctl(time.Minute, "version", "--insecure", "--endpoints", worker.APIEndpoint())

		return err
	}

	if err := answers(); err != nil {
		t.Errorf("version of the machine behind the NAT: %v", err)
	}

	file := filepath.Join(t.TempDir(), "all.pcapng")

	for _, tt := range []struct{ command, args, want string }{
		{"cluster net show", "", `(?m)^site-1-router +internet +203\.0\.113\.254 +port-restricted +none +good$`},
		{"cluster net nat", "site-1 symmetric", `^site-1-router: NAT symmetric\n$`},
		{"cluster net block-udp", "site-1", `^site-1-router: UDP is blocked\n$`},
		{"cluster net delay", "worker-1 50ms --jitter 5ms", `^e2e-net-worker-1/0 on site-1: delay 50ms±5ms\n`},
		{"cluster net loss", "worker-1 1%", `delay 50ms±5ms loss 1%\n$`},
		{"cluster net duplicate", "worker-1 1%", `duplicate 1%\n$`},
		{"cluster net corrupt", "worker-1 0.1%", `corrupt 0\.1%\n$`},
		{"cluster net bandwidth", "worker-1 10Mbit", `bandwidth 10000000 bit/s\n$`},
		{"cluster net mtu", "worker-1 1400", `drop over 1414 bytes\n$`},
		{"cluster net dhcp", "net-2 --second --lease-time 10s", `second DHCP server leases for 10s\n$`},
		{"cluster net ntp", "site-1 --offset 1h", `^services of site-1: NTP ahead by 1h0m0s`},
		{"cluster net dns", "site-1 --delay 1s", `DNS late by 1s`},
		{"cluster net partition", "worker-1 controlplane-1 --for 1s", `as before\n$`},
		{"cluster net capture", "-o " + file + " --for 1s", `^\d.* of packets in `},
		{"cluster net unplug", "worker-1/net-2", `^card 1 of e2e-net-worker-1 .* unplugged\n$`},
		{"cluster net plug", "worker-1/net-2", `^card 1 of e2e-net-worker-1 .* plugged in\n$`},
	} {
		stdout, _, err := l.Talosctl(time.Minute, append(strings.Fields(tt.command), strings.Fields(tt.args)...)...)
		if want := regexp.MustCompile(tt.want); err != nil || !want.MatchString(stdout) {
			t.Errorf("%s: got %v, %s, want a match of %s", tt.command, err, stdout, want)
		}
	}

	if _, _, err := l.Talosctl(time.Minute, "cluster", "net", "cut", "worker-1"); err != nil {
		t.Error(err)
	}

	if answers() == nil {
		t.Error("cluster net cut: the machine still answers")
	}

	stdout, _, err := l.Talosctl(time.Minute, "cluster", "net", "heal")
	if err != nil || stdout != "all faults healed\n" {
		t.Errorf("cluster net heal: got %v, %s", err, stdout)
	}

	if err := answers(); err != nil {
		t.Errorf("after cluster net heal: %v", err)
	}
}
