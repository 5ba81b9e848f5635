// SPDX-License-Identifier: Apache-2.0

// Package cgroups prints tables of what the control groups of a machine use.
//
// The node sends the kernel's files as an archive. A schema, a list of columns in YAML, defines what is shown; the presets are schemas too.
// A column names a file of the group, and a field if the file has several:
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
// Formats are text (the default), bytes, microseconds and lines (the number of lines). A file that a group does not have is shown as
// unset.
package cgroups
