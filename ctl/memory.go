// SPDX-License-Identifier: Apache-2.0

package ctl

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/api/machine"
)

func newMemoryCommand(s *connection) *cobra.Command {
	var verbose bool

	cmd := &cobra.Command{
		Use:     "memory",
		Aliases: []string{"m", "free"},
		Short:   "Show the memory of the nodes, in MiB",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !verbose || s.format != "table" {
				return list(cmd, s, memoryColumns, single(node.Memory))
			}

			answers := &documents{w: cmd.OutOrStdout()}

			return s.each(cmd, func(ctx context.Context, n node) error {
				info, err := bounded(ctx, n, node.Memory)
				if err != nil {
					return err
				}

				var b bytes.Buffer

				return errors.Join(printMeminfo(&b, n.name, info), answers.write(b.Bytes()))
			})
		},
	}

	s.flags(cmd)
	s.maintenanceFlags(cmd)
	s.outputFlag(cmd)
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "show all that the kernel tells")

	return cmd
}

var memoryColumns = []column[*machine.MemInfo]{
	{"TOTAL", func(m *machine.MemInfo) string { return mebibytes(m.GetMemtotal()) }},
	{"USED", func(m *machine.MemInfo) string {
		free := m.GetMemfree() + m.GetCached() + m.GetBuffers()

		return mebibytes(m.GetMemtotal() - min(m.GetMemtotal(), free))
	}},
	{"FREE", func(m *machine.MemInfo) string { return mebibytes(m.GetMemfree()) }},
	{"SHARED", func(m *machine.MemInfo) string { return mebibytes(m.GetShmem()) }},
	{"BUFFERS", func(m *machine.MemInfo) string { return mebibytes(m.GetBuffers()) }},
	{"CACHE", func(m *machine.MemInfo) string { return mebibytes(m.GetCached()) }},
	{"AVAILABLE", func(m *machine.MemInfo) string { return mebibytes(m.GetMemavailable()) }},
}

func mebibytes(kib uint64) string { return strconv.FormatUint(kib/1024, 10) }

// meminfoNames are the kernel's names of the fields of machine.MemInfo, in order of field number. Values are in kB,
// except for the HugePages counts.
var meminfoNames = []string{
	"MemTotal", "MemFree", "MemAvailable", "Buffers", "Cached", "SwapCached", "Active", "Inactive", "Active(anon)",
	"Inactive(anon)", "Active(file)", "Inactive(file)", "Unevictable", "Mlocked", "SwapTotal", "SwapFree", "Dirty",
	"Writeback", "AnonPages", "Mapped", "Shmem", "Slab", "SReclaimable", "SUnreclaim", "KernelStack", "PageTables",
	"NFS_Unstable", "Bounce", "WritebackTmp", "CommitLimit", "Committed_AS", "VmallocTotal", "VmallocUsed",
	"VmallocChunk", "HardwareCorrupted", "AnonHugePages", "ShmemHugePages", "ShmemPmdMapped", "CmaTotal", "CmaFree",
	"HugePages_Total", "HugePages_Free", "HugePages_Rsvd", "HugePages_Surp", "Hugepagesize", "DirectMap4k",
	"DirectMap2M", "DirectMap1G",
}

func printMeminfo(w io.Writer, node string, info *machine.MemInfo) error {
	var b strings.Builder

	fmt.Fprintf(&b, "%-18s %s\n", "NODE:", node)

	message := info.ProtoReflect()
	fields := message.Descriptor().Fields()

	for i, name := range meminfoNames {
		unit := " kB"
		if strings.HasPrefix(name, "HugePages_") {
			unit = ""
		}

		fmt.Fprintf(&b, "%-18s %d%s\n", name+":", message.Get(fields.Get(i)).Uint(), unit)
	}

	_, err := io.WriteString(w, b.String())

	return err
}
