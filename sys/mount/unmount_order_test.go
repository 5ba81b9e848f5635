// SPDX-License-Identifier: Apache-2.0

package mount_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/sys/mount"
)

func TestUnmountOrder(t *testing.T) {
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
30 20 254:3 / /system/imagecache ro - ext4 /dev/vda3 ro
31 21 7:1 / /run/layers/1 ro - erofs /dev/loop1 ro
32 21 7:2 / /run/layers/10 ro - erofs /dev/loop2 ro
33 21 0:44 / /run/2/rootfs rw - overlay overlay rw,lowerdir+=/run/layers/1,lowerdir+=/run/a,upperdir=/var/2/fs,workdir=/var/2/work
34 21 0:45 / /run/3/rootfs rw - overlay overlay rw,lowerdir=/run/a:/run/layers/10,upperdir=/var/3/fs,workdir=/var/3/work
`))
	if err != nil {
		t.Fatal(err)
	}

	for i, e := range table {
		switch e.Source {
		case "/dev/loop1":
			table[i].File = "/system/imagecache/layers/1.erofs"
		case "/dev/loop2":
			table[i].File = "/elsewhere/2.erofs"
		}
	}

	for target, want := range map[string][]string{
		"/var": {
			"/run/3/rootfs", "/run/2/rootfs",
			"/etc/cni", "/run/containerd/1/rootfs/dev", "/run/containerd/1/rootfs",
			"/var/lib/kubelet/pods/1/volumes/token", "/var",
		},
		"/system/state":      {"/system/state"},
		"/system/imagecache": {"/run/2/rootfs", "/run/layers/1", "/system/imagecache"},
		"/elsewhere":         nil,
	} {
		var got []string
		for _, e := range mount.UnmountOrder(table, target) {
			got = append(got, e.Target)
		}

		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", target, diff)
		}
	}
}
