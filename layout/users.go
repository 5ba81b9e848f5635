// SPDX-License-Identifier: Apache-2.0

package layout

// Users that programs run as. Each has a group of its own with the same id.
const (
	UserAPID       = 50
	UserTrustd     = 51
	UserDiscoveryd = 52
	UserEtcd       = 60
	// UserNobody is the user of pods that do not set one.
	UserNobody            = 65534
	UserAPIServer         = 65534
	UserControllerManager = 65535
	UserScheduler         = 65536
)

// GroupTTY owns terminals.
const GroupTTY = 5

// DeviceGroups own the devices of their kind, by the rules of udev. The ids are Debian's, where it has fixed ones.
var DeviceGroups = []User{
	{"tty", GroupTTY},
	{"disk", 6},
	{"lp", 7},
	{"kmem", 15},
	{"dialout", 20},
	{"cdrom", 24},
	{"tape", 26},
	{"audio", 29},
	{"video", 44},
	{"input", 104},
	{"render", 105},
	{"kvm", 106},
	{"sgx", 107},
}

// User is a user or a group with a name.
type User struct {
	Name string
	ID   int
}

// Users are the users in the root image's /etc/passwd besides root.
var Users = []User{{"apid", UserAPID}, {"trustd", UserTrustd}, {"discoveryd", UserDiscoveryd}, {"etcd", UserEtcd}}
