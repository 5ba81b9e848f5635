// SPDX-License-Identifier: Apache-2.0

//go:build linux

package container

import (
	"bytes"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/moby/sys/mountinfo"
)

// hierarchy is one of this computer's cgroup file systems.
type hierarchy struct {
	// mount is where it is mounted.
	mount string
	// controllers are those of a v1 hierarchy. One without controllers has a name instead ("name=systemd").
	controllers []string
	v2          bool
	// own is the folder of this process's cgroup.
	own string
}

// hierarchies returns the hierarchies with this process's cgroups.
func hierarchies() ([]hierarchy, error) {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("find the cgroups: %w", err)
	}

	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil, fmt.Errorf("find the cgroups: %w", err)
	}

	return parseHierarchies(mounts, own)
}

// parseHierarchies reads proc_pid_mountinfo(5) and the file /proc/PID/cgroup of cgroups(7).
func parseHierarchies(mounts, own []byte) ([]hierarchy, error) {
	all, err := mountinfo.GetMountsFromReader(bytes.NewReader(mounts), func(m *mountinfo.Info) (skip, stop bool) {
		return m.FSType != "cgroup" && m.FSType != "cgroup2", false
	})
	if err != nil {
		return nil, fmt.Errorf("find the cgroups: %w", err)
	}

	var found []hierarchy

	for line := range strings.Lines(string(own)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) != 3 {
			return nil, fmt.Errorf("find the cgroups: %q: want number, controllers and path", line)
		}

		h := hierarchy{v2: fields[0] == "0" && fields[1] == ""}
		if !h.v2 {
			h.controllers = strings.Split(fields[1], ",")
		}

		i := slices.IndexFunc(all, func(m *mountinfo.Info) bool { return h.mountedAs(m) })
		if i < 0 {
			continue // it is not mounted, so it is not used
		}

		h.mount = all[i].Mountpoint
		h.own = h.mount

		// The mount may show only a part of the hierarchy, without this process's cgroup.
		if rest, inside := strings.CutPrefix(path.Join(fields[2], "/"), strings.TrimSuffix(all[i].Root, "/")); inside {
			h.own = path.Join(h.mount, path.Clean("/"+rest))
		}

		found = append(found, h)
	}

	if len(found) == 0 {
		return nil, fmt.Errorf("find the cgroups: none are mounted; mount them with: mount -t cgroup2 cgroup2 %s", cgroupRoot)
	}

	return found, nil
}

func (h *hierarchy) mountedAs(m *mountinfo.Info) bool {
	if h.v2 || m.FSType == "cgroup2" {
		return h.v2 && m.FSType == "cgroup2"
	}

	options := strings.Split(m.VFSOptions, ",")

	return !slices.ContainsFunc(h.controllers, func(c string) bool { return !slices.Contains(options, c) })
}

// whole reports whether cgroup v2 has all controllers.
func whole(all []hierarchy) bool { return len(all) == 1 && all[0].v2 }

// in returns a machine's mount of the hierarchy.
func (h *hierarchy) in() CgroupMount {
	m := CgroupMount{Type: "cgroup2"}

	if h.mount != cgroupRoot {
		m.Dir = path.Base(h.mount)
	}

	if h.v2 {
		return m
	}

	m.Type, m.Options = "cgroup", strings.Join(h.controllers, ",")

	if named := strings.HasPrefix(m.Options, "name="); named {
		m.Options = "none," + m.Options
	} else if len(h.controllers) > 1 {
		m.Links = slices.DeleteFunc(slices.Clone(h.controllers), func(c string) bool { return c == m.Dir })
	}

	return m
}
