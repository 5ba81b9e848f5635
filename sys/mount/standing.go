// SPDX-License-Identifier: Apache-2.0

package mount

import (
	"slices"
	"strings"
)

// Standing returns the mounts that must go before the file system mounted at target is free, and that mount itself, in
// the order in which to unmount them: those below it, other mounts of the same file system, file systems in a file of it, and
// overlays with a layer on it, each with what is below them in turn. Of several mounts at the target, the last is meant.
func Standing(table []Entry, target string) []Entry {
	device := ""

	for _, e := range table {
		if e.Target == target {
			device = e.Device
		}
	}

	needed := make([]bool, len(table))

	// Parents and lower file systems are mounted first, so one pass in order finds all; an overlay may have been moved,
	// so passes go on while something is found.
	for again := true; again; {
		again = false

		for i, e := range table {
			if !needed[i] && (e.Device == device || stands(e, table, needed)) {
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

// stands tells whether a mount is below, in a file of, or an overlay of, one that is to go.
func stands(e Entry, table []Entry, going []bool) bool {
	for i, g := range table {
		if !going[i] {
			continue
		}

		if e.Parent == g.ID || strings.HasPrefix(e.File, g.Target+"/") || e.FSType == "overlay" && overlays(e.SuperOptions, g.Target) {
			return true
		}
	}

	return false
}

// overlays tells whether the options of an overlay name a folder or one below it as a layer. Newer kernels show one lowerdir+
// for each.
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
