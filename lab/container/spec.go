// SPDX-License-Identifier: Apache-2.0

//go:build linux

package container

// Spec describes a machine to the stage.
type Spec struct {
	// Name is the host name until DHCP sets another.
	Name string   `json:"name"`
	Init string   `json:"init"`
	Env  []string `json:"env"`
	// Root is mounted read-only at NewRoot, an empty folder, which becomes "/".
	Root    string `json:"root"`
	NewRoot string `json:"newRoot"`
	// State and Ephemeral are the folders of the volumes of that name.
	State      string `json:"state"`
	Ephemeral  string `json:"ephemeral"`
	ImageCache string `json:"imageCache,omitempty"`
	// Console is a named pipe, the machine's /dev/console.
	Console string        `json:"console"`
	Cgroups []CgroupMount `json:"cgroups"`
	// Taps is how many descriptors of /dev/net/tun to pass.
	Taps          int  `json:"taps"`
	UserNamespace bool `json:"userNamespace"`
	// Probe ends the stage before it executes Init.
	Probe bool `json:"probe,omitempty"`
	// Remove is a folder to remove; the stage then does nothing else.
	Remove string `json:"remove,omitempty"`
}

// CgroupMount is a mount of the cgroup file system in a machine.
type CgroupMount struct {
	// Dir is a folder of /sys/fs/cgroup, or "" for that one itself.
	Dir string `json:"dir"`
	// Type is "cgroup" or "cgroup2".
	Type string `json:"type"`
	// Options are those of the mount, such as "cpu,cpuacct".
	Options string `json:"options"`
	// Links are other names of the folder.
	Links []string `json:"links,omitempty"`
}

// answer is the stage's answer to the lab: with the descriptors if it has no error.
type answer struct {
	Error string `json:"error,omitempty"`
}

// messageLimit bounds the messages between the lab and the stage.
const messageLimit = 64 << 10
