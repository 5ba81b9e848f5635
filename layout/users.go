// SPDX-License-Identifier: Apache-2.0

package layout

// Users that programs run as. Each has a group of its own with the same id.
const (
	UserAPID   = 50
	UserTrustd = 51
	UserEtcd   = 60
	// UserNobody is the user of pods that do not set one.
	UserNobody            = 65534
	UserAPIServer         = 65534
	UserControllerManager = 65535
	UserScheduler         = 65536
)

// GroupTTY owns terminals.
const GroupTTY = 5

// User is a user with a name.
type User struct {
	Name string
	ID   int
}

// Users are the users in the root image's /etc/passwd besides root.
var Users = []User{{"apid", UserAPID}, {"trustd", UserTrustd}, {"etcd", UserEtcd}}
