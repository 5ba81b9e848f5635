// SPDX-License-Identifier: Apache-2.0

package mount_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/sys/mount"
)

func TestStanding(t *testing.T) {
	table, err := mount.ParseTable([]byte(`20 1 7:0 / / ro - squashfs /dev/loop0 ro
21 20 0:30 / /run rw - tmpfs tmpfs rw
22 20 0:31 / /var rw - tmpfs tmpfs rw
23 22 254:5 / /var rw - xfs /dev/vda5 rw
24 20 254:4 / /system/state rw - xfs /dev/vda4 rw
25 23 0:40 / /var/lib/kubelet/pods/1/volumes/token rw - tmpfs tmpfs rw
26 21 0:41 / /run/containerd/1/rootfs rw - overlay overlay rw,lowerdir=/var/lib/containerd/1/fs,upperdir=/var/lib/containerd/2/fs
27 26 0:42 / /run/containerd/1/rootfs/dev rw - tmpfs tmpfs rw
28 20 254:5 /lib/cni /etc/cni rw - xfs /dev/vda5 rw
29 21 0:43 / /run/other rw - overlay overlay rw,lowerdir=/various/x
`))
	if err != nil {
		t.Fatal(err)
	}

	for target, want := range map[string][]string{
		"/var": {
			"/etc/cni", "/run/containerd/1/rootfs/dev", "/run/containerd/1/rootfs",
			"/var/lib/kubelet/pods/1/volumes/token", "/var",
		},
		"/system/state": {"/system/state"},
		"/elsewhere":    nil,
	} {
		var got []string
		for _, e := range mount.Standing(table, target) {
			got = append(got, e.Target)
		}

		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", target, diff)
		}
	}
}
