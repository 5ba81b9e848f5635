// SPDX-License-Identifier: Apache-2.0

package ctl

import (
	"strings"
	"testing"
)

func lower(s string) string { return strings.ToLower(s) }

func TestOutput(t *testing.T) {
	const (
		first = "-n=172.20.0.2"
		both  = "-n=172.20.0.2,172.20.0.2"
	)

	for _, tt := range []struct {
		name string
		args []string
		exit int
	}{
		{name: "version", args: []string{"version", first}},
		{name: "version-short", args: []string{"version", first, "--short"}},
		{name: "version-without-nodes", args: []string{"version"}},
		{name: "version-node-down", args: []string{"version", "-n", "172.20.0.9,172.20.0.2"}, exit: 1},
		{name: "flags-first", args: []string{"-n", "172.20.0.2", "version", "--short"}},
		{name: "get-addresses", args: []string{"get", "addressstatus", first}},
		{name: "get-addresses-both", args: []string{"get", "addressstatus", both}},
		{name: "get-one", args: []string{"get", addressType, "lo/127.0.0.1/8", first}},
		{name: "get-rd", args: []string{"get", "rd", first}},
		{name: "get-members", args: []string{"get", "members", first}},
		{name: "get-ambiguous", args: []string{"get", "address", first}, exit: 1},
		{name: "get-unknown", args: []string{"get", "unicorns", first}, exit: 1},
		{name: "get-not-found", args: []string{"get", "member", "three", first}, exit: 1},
		{name: "get-empty", args: []string{"get", "members", "--namespace", "elsewhere", first}},
		{name: "get-yaml", args: []string{"get", "addressstatus", "-o", "yaml", first}},
		{name: "get-json", args: []string{"get", "member", "-o", "json", first}},
		{name: "get-jsonpath", args: []string{"get", "member", "-o", "jsonpath={.metadata.id} {.spec.addresses[0]} {.metadata.created}", first}},
		{name: "get-jsonpath-range", args: []string{"get", "member", "-o", `jsonpath={range .spec.addresses[*]}{@} {end}of {.metadata.id}`, both}},
		{name: "get-jsonpath-bad", args: []string{"get", "member", "-o", "jsonpath={.metadata", first}, exit: 1},
		{name: "get-output-bad", args: []string{"get", "member", "-o", "xml", first}, exit: 1},
		{name: "get-machineconfig", args: []string{"get", "mc", "v1alpha1", "-o", "yaml", first}},
		{name: "get-machineconfig-documents", args: []string{"get", "mc", "persistent", "-o", "yaml", first}},
		{name: "get-machineconfig-spec", args: []string{"get", "mc", "v1alpha1", "-o", "jsonpath={.spec}", first}},
		{name: "get-watch", args: []string{"get", "addressstatus", "-w", first}, exit: 1},
		{name: "get-watch-one", args: []string{"get", "addressstatus", "lo/127.0.0.1/8", "-w", first}, exit: 1},
		{name: "get-watch-yaml", args: []string{"get", "addressstatus", "eth1/10.0.0.1/8", "-w", "-o", "yaml", first}, exit: 1},
		{name: "services", args: []string{"services", first}},
		{name: "service", args: []string{"service", "kubelet", first}},
		{name: "service-status", args: []string{"service", "trustd", "status", first}},
		{name: "service-unknown", args: []string{"service", "sshd", first}, exit: 1},
		{name: "service-restart", args: []string{"service", "kubelet", "restart", first}},
		{name: "service-restart-unknown", args: []string{"service", "sshd", "restart", first}, exit: 1},
		{name: "service-start-unimplemented", args: []string{"service", "kubelet", "start", first}, exit: 1},
		{name: "service-bad-action", args: []string{"service", "kubelet", "kill", first}, exit: 1},
		{name: "logs", args: []string{"logs", "kubelet", first}},
		{name: "logs-tail", args: []string{"logs", "kubelet", "--tail", "1", first}},
		{name: "logs-kubernetes", args: []string{"logs", "-k", "kube-proxy", first}},
		{name: "logs-unknown", args: []string{"logs", "sshd", first}, exit: 1},
		{name: "dmesg", args: []string{"dmesg", first}},
		{name: "dmesg-tail", args: []string{"dmesg", "--tail", first}, exit: 1},
		{name: "memory", args: []string{"memory", first}},
		{name: "memory-verbose", args: []string{"memory", "-v", first}},
		{name: "events", args: []string{"events", "--tail", "-1", first}, exit: 1},
		{name: "events-actor", args: []string{"events", "--tail", "-1", "--actor-id", "actor-reboot", first}, exit: 1},
		{name: "health", args: []string{"health", first}},
		{name: "health-many", args: []string{"health", "-n", "172.20.0.2,172.20.0.3"}, exit: 1},
		{name: "context-unknown", args: []string{"version", "--context", "nowhere"}, exit: 1},
		{name: "endpoint-bad", args: []string{"version", "-e", "https://172.20.0.2", first}, exit: 1},
		{name: "endpoint-down", args: []string{"memory", "-e", "127.0.0.1:1", first}, exit: 1},
		{name: "fingerprint-secure", args: []string{"version", "--cert-fingerprint", "aa", first}, exit: 1},
		{name: "insecure-without-nodes", args: []string{"memory", "--insecure"}, exit: 1},
		{name: "reboot-mode", args: []string{"reboot", "-m", "warm", first}, exit: 1},
		{name: "flag-unknown", args: []string{"get", "--wtach"}, exit: 1},
		{name: "command-unknown", args: []string{"reboto"}, exit: 1},
		{name: "reboot", args: []string{"reboot", first}},
		{name: "reboot-no-wait", args: []string{"reboot", "--wait=false", first}},
		{name: "shutdown", args: []string{"shutdown", first}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := talosctl(t, startCluster(t), tt.args...)
			golden(t, tt.name, r)

			if r.exit != tt.exit {
				t.Errorf("got exit status %d, want %d", r.exit, tt.exit)
			}
		})
	}
}
