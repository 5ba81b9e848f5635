// SPDX-License-Identifier: Apache-2.0

package mount

import (
	"slices"
	"strings"
)

// UnmountOrder returns the mounts to unmount so that the file system mounted at target is not in use any more, in that order, with that
// mount itself. They are the mounts below it, other mounts of the same file system, file systems in a file on it, overlays with a
// layer on it, and all mounts below these. Of several mounts at the target the last one counts.
func UnmountOrder(table []Entry, target string) []Entry {
	device := ""

	for _, e := range table {
		if e.Target == target {
			device = e.Device
		}
	}

	needed := make([]bool, len(table))

	// Parents and lower file systems are mounted first, so that one pass usually finds all. An overlay may have been moved, so the
	// passes are repeated until one finds nothing.
	for again := true; again; {
		again = false

		for i, e := range table {
			if !needed[i] && (e.Device == device || uses(e, table, needed)) {
				needed[i], again = true, true
			}
		}
	}

	var out []Entry

	for i, e := range slices.Backward(table) {
		if needed[i] {
			out = append(out, e)
		}
	}

	return out
}

// uses reports whether a mount is below a mount that is to be removed, in a file on it, or an overlay with a layer on it.
func uses(e Entry, table []Entry, removed []bool) bool {
	for i, g := range table {
		if !removed[i] {
			continue
		}

		if e.Parent == g.ID || strings.HasPrefix(e.File, g.Target+"/") || e.FSType == "overlay" && overlays(e.SuperOptions, g.Target) {
			return true
		}
	}

	return false
}

// overlays reports whether the options of an overlay name a folder, or a folder below it, as a layer. Newer kernels show one lowerdir+
// for each layer.
func overlays(options, target string) bool {
	for option := range strings.SplitSeq(options, ",") {
		name, layers, _ := strings.Cut(option, "=")
		if name != "lowerdir" && name != "lowerdir+" && name != "upperdir" {
			continue
		}

		for layer := range strings.SplitSeq(layers, ":") {
			if layer == target || strings.HasPrefix(layer, target+"/") {
				return true
			}
		}
	}

	return false
}
