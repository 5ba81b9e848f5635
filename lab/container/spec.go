// SPDX-License-Identifier: Apache-2.0

//go:build linux

package container

// Spec tells the stage what to make.
type Spec struct {
	// Name is the first host name; DHCP gives another.
	Name string   `json:"name"`
	Init string   `json:"init"`
	Env  []string `json:"env"`
	// Root is shown read-only at NewRoot, an empty folder, which becomes "/".
	Root    string `json:"root"`
	NewRoot string `json:"newRoot"`
	// State and Ephemeral are the folders of the volumes of that name.
	State      string `json:"state"`
	Ephemeral  string `json:"ephemeral"`
	ImageCache string `json:"imageCache,omitempty"`
	// Console is a named pipe, the machine's /dev/console.
	Console string        `json:"console"`
	Cgroups []CgroupMount `json:"cgroups"`
	// Taps is how many descriptors of /dev/net/tun to hand over.
	Taps          int  `json:"taps"`
	UserNamespace bool `json:"userNamespace"`
	// Probe only tries all of it, and ends instead of becoming Init.
	Probe bool `json:"probe,omitempty"`
	// Remove is a folder to remove, and nothing else is done.
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

// answer is what the stage tells the lab: with the descriptors, no error when
// the machine is ready to go.
type answer struct {
	Error string `json:"error,omitempty"`
}

// messageLimit is the longest message between the lab and the stage.
const messageLimit = 64 << 10
