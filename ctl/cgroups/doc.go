// SPDX-License-Identifier: Apache-2.0

// Package cgroups makes tables of what the control groups of a machine use.
//
// The groups come as an archive of the kernel's files. What is shown of them is said by a schema, a list of columns in
// YAML; the presets are schemas too. A column names a file of the group, and a field in it where it has several:
//
//	columns:
//	  - name: CpuUser          # a flat file: "user_usec 123"
//	    file: cpu.stat
//	    field: user_usec
//	    format: microseconds
//	  - name: MemSome          # a nested file: "some avg10=0.00 avg60=..."
//	    file: memory.pressure
//	    field: some avg10
//	  - name: Read             # all lines of a nested file added up: "254:0 rbytes=1 ..."
//	    file: io.stat
//	    field: "* rbytes"
//	    format: bytes
//	  - name: Peak/Low         # a share, of another file or, with parent, of the same in the group above
//	    file: memory.peak
//	    share: {of: memory.low}
//
// Formats are text (the default), bytes, microseconds and lines (how many there are). A file that a group does not have
// is shown as unset.
package cgroups
