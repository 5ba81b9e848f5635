// SPDX-License-Identifier: Apache-2.0

package ctl

import (
	"slices"

	"github.com/spf13/cobra"
)

// groups are the commands by what they are for, as the help lists them.
var groups = []struct {
	title    string
	commands []string
}{
	{"Look at the nodes", []string{"cgroups", "containers", "dashboard", "diskfree", "disks", "dmesg", "events", "explain", "get", "health", "inspect", "list", "logs", "memory", "mounts", "netstat", "pcap", "processes", "read", "copy", "service", "stats", "support", "time", "usage", "version"}},
	{"Configure the nodes", []string{"apply-config", "edit", "meta", "patch"}},
	{"Begin, restart and end", []string{"bootstrap", "reboot", "reset", "restart", "rollback", "shutdown", "upgrade", "wipe"}},
	{"etcd, Kubernetes and images", []string{"debug", "etcd", "image", "kubeconfig"}},
	{"Prepare, without a node", []string{"cluster", "completion", "config", "gen", "machineconfig", "validate"}},
}

// group sorts the commands into their groups.
func group(root *cobra.Command) {
	for _, g := range groups {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title + ":"})

		for _, cmd := range root.Commands() {
			if slices.Contains(g.commands, cmd.Name()) {
				cmd.GroupID = g.title
			}
		}
	}

	root.SetCompletionCommandGroupID(groups[len(groups)-1].title)
}
