// SPDX-License-Identifier: Apache-2.0

package ctl

import "testing"

// TestListings compares what the commands print that need no more than an answer.
func TestListings(t *testing.T) {
	const (
		first = "-n=172.20.0.2"
		dead  = "-n=172.20.0.9,172.20.0.2"
	)

	for _, tt := range []struct {
		name string
		args []string
		exit int
	}{
		{name: "mounts", args: []string{"mounts", first}},
		{name: "mounts-node-down", args: []string{"mounts", dead}, exit: 1},
		{name: "mounts-json", args: []string{"mounts", "-o", "json", first}},
		{name: "mounts-yaml", args: []string{"mounts", "-o", "yaml", first}},
		{name: "mounts-jsonpath", args: []string{"mounts", "-o", "jsonpath={.node} {.mountedOn} {.size}", first}},
		{name: "mounts-output", args: []string{"mounts", "-o", "xml", first}, exit: 1},
		{name: "diskfree", args: []string{"diskfree", first}},
		{name: "diskfree-bytes", args: []string{"diskfree", "/var/lib", "-b", first}},
		{name: "disks", args: []string{"disks", first}},
		{name: "processes", args: []string{"processes", first}},
		{name: "processes-cpu", args: []string{"ps", "-s", "cpu", first}},
		{name: "processes-sort", args: []string{"ps", "-s", "name", first}, exit: 1},
		{name: "containers", args: []string{"containers", "-k", first}},
		{name: "containers-json", args: []string{"containers", "-k", "-o", "json", first}},
		{name: "stats", args: []string{"stats", first}},
		{name: "time", args: []string{"time", first}},
		{name: "time-check", args: []string{"time", "--check", "192.0.2.1", "-o", "yaml", first}},
		{name: "netstat", args: []string{"netstat", first}},
		{name: "netstat-all", args: []string{"netstat", "-avxpok", first}},
		{name: "netstat-pod", args: []string{"netstat", "kube-system/dns", first}},
		{name: "netstat-pod-unknown", args: []string{"netstat", "kube-system/none", first}, exit: 1},
		{name: "list", args: []string{"list", "/etc", first}, exit: 1},
		{name: "list-long", args: []string{"ls", "-l", "/etc", first}, exit: 1},
		{name: "list-type", args: []string{"ls", "-t", "x", first}, exit: 1},
		{name: "usage", args: []string{"usage", "/var", first}},
		{name: "usage-humanize", args: []string{"du", "-H", "/var", first}},
		{name: "read", args: []string{"read", "/etc/hosts", first}},
		{name: "read-many", args: []string{"read", "/etc/hosts", dead}, exit: 1},
		{name: "etcd-members", args: []string{"etcd", "members", first}},
		{name: "etcd-members-json", args: []string{"etcd", "members", "-o", "json", first}},
		{name: "etcd-status", args: []string{"etcd", "status", dead}, exit: 1},
		{name: "etcd-alarm-list", args: []string{"etcd", "alarm", "list", first}},
		{name: "etcd-alarm-disarm", args: []string{"etcd", "alarm", "disarm", first}},
		{name: "confirm", args: []string{"confirm", "k3q7zd", first}},
		{name: "etcd-defrag", args: []string{"etcd", "defrag", first}, exit: 1},
		{name: "etcd-forfeit", args: []string{"etcd", "forfeit-leadership", first}},
		{name: "etcd-downgrade", args: []string{"etcd", "downgrade", "validate", "3.5", first}},
		{name: "etcd-remove-unknown", args: []string{"etcd", "remove-member", "three", first}, exit: 1},
		{name: "image-list", args: []string{"image", "list", first}},
		{name: "image-list-namespace", args: []string{"image", "list", "--namespace", "inmem", first}, exit: 1},
		{name: "image-pull", args: []string{"image", "pull", "busybox:1", first}},
		{name: "image-verify", args: []string{"image", "verify", "busybox:1", first}},
		{name: "inspect-dependencies", args: []string{"inspect", "dependencies", first}},
		{name: "inspect-dependencies-resources", args: []string{"inspect", "dependencies", "--with-resources", first}},
		{name: "meta-delete", args: []string{"meta", "delete", "0x0b", first}, exit: 1},
		{name: "meta-key", args: []string{"meta", "write", "256", "x", first}, exit: 1},
		{name: "debug", args: []string{"debug", "busybox:1", first}, exit: 1},
		{name: "upgrade", args: []string{"upgrade", "-i", "installer:1", "--wait=false", first}, exit: 1},
		{name: "reset-mode", args: []string{"reset", "--wipe-mode", "some", first}, exit: 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := talosctl(t, startCluster(t), tt.args...)
			if r.exit != tt.exit {
				t.Errorf("got exit status %d, want %d", r.exit, tt.exit)
			}

			golden(t, tt.name, r)
		})
	}
}
