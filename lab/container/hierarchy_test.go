// SPDX-License-Identifier: Apache-2.0

//go:build linux

package container

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	hybridMounts = `30 29 0:26 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
31 30 0:27 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct
32 30 0:28 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
33 30 0:29 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,xattr,name=systemd
34 30 0:30 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
`
	hybridOwn = `9:name=systemd:/user.slice
4:memory:/jobs/a
3:cpu,cpuacct:/
2:hugetlb:/
0::/user.slice/x.scope
`
	wholeMounts = "30 29 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
	partMounts  = "30 29 0:26 /box /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n"
)

func TestParseHierarchies(t *testing.T) {
	tests := []struct {
		name, mounts, own string
		want              map[string]CgroupMount // by the process's own folder
		v1                bool
	}{
		{"hybrid", hybridMounts, hybridOwn, map[string]CgroupMount{
			"/sys/fs/cgroup/systemd/user.slice":         {Dir: "systemd", Type: "cgroup", Options: "none,name=systemd"},
			"/sys/fs/cgroup/memory/jobs/a":              {Dir: "memory", Type: "cgroup", Options: "memory"},
			"/sys/fs/cgroup/cpu,cpuacct":                {Dir: "cpu,cpuacct", Type: "cgroup", Options: "cpu,cpuacct", Links: []string{"cpu", "cpuacct"}},
			"/sys/fs/cgroup/unified/user.slice/x.scope": {Dir: "unified", Type: "cgroup2"},
		}, true},
		{"v2 whole", wholeMounts, "0::/user.slice/x.scope\n", map[string]CgroupMount{"/sys/fs/cgroup/user.slice/x.scope": {Type: "cgroup2"}}, false},
		{"a part of v2", partMounts, "0::/box/inner\n", map[string]CgroupMount{"/sys/fs/cgroup/inner": {Type: "cgroup2"}}, false},
		{"outside of the part", partMounts, "0::/../other\n", map[string]CgroupMount{"/sys/fs/cgroup": {Type: "cgroup2"}}, false},
	}

	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			all, err := parseHierarchies([]byte(tt.mounts), []byte(tt.own))
			if err != nil {
				t.Fatal(err)
			}

			got := map[string]CgroupMount{}
			for _, h := range all {
				got[h.own] = h.in()
			}

			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}

			if got := !whole(all); got != tt.v1 {
				t.Errorf("got v1 %v, want %v", got, tt.v1)
			}
		})
	}
}

func FuzzParseHierarchies(f *testing.F) {
	f.Add([]byte(hybridMounts), []byte(hybridOwn))
	f.Add([]byte(wholeMounts), []byte("0::/a\n"))
	f.Add([]byte(partMounts), []byte("1:\n"))

	f.Fuzz(func(t *testing.T, mounts, own []byte) {
		all, err := parseHierarchies(mounts, own)
		if err == nil && len(all) == 0 {
			t.Error("no hierarchy and no error")
		}
	})
}
