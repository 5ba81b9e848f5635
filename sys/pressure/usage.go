// SPDX-License-Identifier: Apache-2.0

package pressure

import (
	"os"
	"path/filepath"
	"time"
)

// Usage is the memory and the pressure of the cgroups of a class: the sums of their values.
type Usage struct {
	Pressure           Pressure
	Current, Peak, Max uint64
}

// groups are the cgroups of a class. Guaranteed pods have no folder of their own.
var groups = map[Class][]string{
	BestEffort: {"kubepods/besteffort"}, Burstable: {"kubepods/burstable"}, Guaranteed: {"kubepods/pod*"}, PodRuntime: {"podruntime"},
	System: {"init", "system"},
}

// Usages returns the usage of each class in the tree of cgroups that is mounted at a folder. A cgroup that does not exist uses nothing.
func Usages(cgroups string) map[Class]Usage {
	out := map[Class]Usage{}

	for class, patterns := range groups {
		var sum Usage

		for _, pattern := range patterns {
			folders, _ := filepath.Glob(filepath.Join(cgroups, pattern)) // the patterns are valid
			for _, folder := range folders {
				sum.add(folder)
			}
		}

		out[class] = sum
	}

	return out
}

func (u *Usage) add(folder string) {
	memory := memoryOf(folder)

	for _, value := range []struct {
		sum, one *uint64
	}{{&u.Current, memory.Current}, {&u.Peak, memory.Peak}, {&u.Max, memory.Max}} {
		if value.one != nil {
			*value.sum += *value.one
		}
	}

	text, err := os.ReadFile(filepath.Join(folder, "memory.pressure"))
	if err != nil {
		return
	}

	if p, err := parse(string(text)); err == nil {
		u.Pressure.Some.add(p.Some)
		u.Pressure.Full.add(p.Full)
	}
}

func (s *Stall) add(other Stall) {
	s.Avg10, s.Avg60, s.Avg300 = s.Avg10+other.Avg10, s.Avg60+other.Avg60, s.Avg300+other.Avg300
	s.Total = time.Duration(min(uint64(s.Total)+uint64(other.Total), 1<<62))
}
