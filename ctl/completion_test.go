// SPDX-License-Identifier: Apache-2.0

package ctl

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/client/clienttest"
	"github.com/seed-59268b81/talos/ctl/session"
)

func TestCompletion(t *testing.T) {
	for _, tt := range []struct {
		args []string // the last is being typed
		want []string // are offered
		not  []string
	}{
		{args: []string{"mou"}, want: []string{"mounts"}},
		{args: []string{"mounts", "-n", ""}, want: []string{"one", "two", "172.20.0.2", "fd00::2"}},
		{args: []string{"mounts", "-n", "one,"}, want: []string{"one,two"}},
		{args: []string{"mounts", "--context", ""}, want: []string{"test"}},
		{args: []string{"mounts", "-e", ""}, want: []string{"127.0.0.1:"}},
		{args: []string{"mounts", "-o", ""}, want: []string{"json", "yaml", "jsonpath="}},
		{args: []string{"get", ""}, want: []string{"members", addressType, "mc"}},
		{args: []string{"get", "mem"}, want: []string{"member"}, not: []string{"mc"}},
		{args: []string{"get", "members", ""}, want: []string{"one", "two"}},
		{args: []string{"get", "unicorns", ""}, not: []string{"one"}},
		{args: []string{"service", ""}, want: []string{"kubelet", "etcd"}},
		{args: []string{"service", "kubelet", ""}, want: []string{"restart"}},
		{args: []string{"restart", "-k", ""}, want: []string{"kube-system/dns"}},
		{args: []string{"logs", "-k", ""}, want: []string{"kube-system/dns"}},
		{args: []string{"image", "remove", ""}, want: []string{"registry.k8s.io/etcd:v3.6.16"}},
		{args: []string{"etcd", "remove-member", ""}, want: []string{"0000000000000abc\tone"}},
		{args: []string{"ls", "/etc/h"}, want: []string{"/etc/hosts"}, not: []string{"/etc/resolv.conf"}},
		{args: []string{"pcap", "-i", ""}, want: []string{"lo", "eth0"}},
		{args: []string{"netstat", ""}, want: []string{"kube-system/dns"}},
		{args: []string{"patch", ""}, want: []string{"machineconfig"}},
		{args: []string{"cgroups", "--preset", ""}, want: []string{"memory", "psi"}},
		{args: []string{"reset", "--wipe-mode", ""}, want: []string{"system-disk"}},
		{args: []string{"config", "rename", ""}, want: []string{"test"}},
	} {
		t.Run(strings.Join(tt.args, " "), func(t *testing.T) {
			useContext(t, startCluster(t))

			// On a busy machine a node may take longer than the timeout of a completion.
			r := runRoot(t.Context(), newRoot(&session.Session{CompletionTimeout: time.Minute}), append([]string{"__complete"}, tt.args...)...)
			offered := strings.Split(r.stdout, "\n")

			for _, want := range tt.want {
				if !slices.ContainsFunc(offered, func(word string) bool { return strings.HasPrefix(word, want) }) {
					t.Errorf("got %q, want %q in it", offered, want)
				}
			}

			for _, not := range tt.not {
				if slices.Contains(offered, not) {
					t.Errorf("got %q, do not want %q in it", offered, not)
				}
			}
		})
	}
}

// TestCompletionOfDeadNode: a completion returns nothing after its timeout, without an error message.
func TestCompletionOfDeadNode(t *testing.T) {
	hanging := newNode("172.20.0.2")
	hanging.Scripts[machineService+"Containers"] = clienttest.Script{Hang: true}
	s := clienttest.Start(t, map[string]*clienttest.Node{"": hanging})

	if r := talosctl(t, s, "__complete", "restart", ""); r.exit != 0 || !strings.HasPrefix(r.stdout, ":") {
		t.Errorf("got %+v", r)
	}

	s.Context.Endpoints = []string{"127.0.0.1:1"}

	if r := talosctl(t, s, "__complete", "get", ""); r.exit != 0 || !strings.HasPrefix(r.stdout, ":") {
		t.Errorf("got %+v", r)
	}
}

func TestCompletionScripts(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if r := run(t.Context(), "completion", shell); r.exit != 0 || !strings.Contains(r.stdout, "__complete") {
			t.Errorf("%s: got exit status %d and %d bytes", shell, r.exit, len(r.stdout))
		}
	}
}
