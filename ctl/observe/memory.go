// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/ctl/session"
)

func newMemoryCommand(s *session.Session) *cobra.Command {
	var verbose bool

	cmd := s.OutputFlag(s.MaintenanceFlags(&cobra.Command{
		Use:     "memory",
		Aliases: []string{"m", "free"},
		Short:   "Show the memory of the nodes, in MiB",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !verbose || s.Format != session.TableFormat {
				return session.List(s, cmd, memoryColumns, session.Single(session.Node.Memory))
			}

			return s.Report(cmd, writeMeminfo)
		},
	}))

	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "show all values of the kernel")

	return cmd
}

var memoryColumns = []session.Column[*machine.MemInfo]{
	session.Col("TOTAL", func(m *machine.MemInfo) string { return mebibytes(m.GetMemtotal()) }),
	session.Col("USED", func(m *machine.MemInfo) string {
		free := m.GetMemfree() + m.GetCached() + m.GetBuffers()

		return mebibytes(m.GetMemtotal() - min(m.GetMemtotal(), free))
	}),
	session.Col("FREE", func(m *machine.MemInfo) string { return mebibytes(m.GetMemfree()) }),
	session.Col("SHARED", func(m *machine.MemInfo) string { return mebibytes(m.GetShmem()) }),
	session.Col("BUFFERS", func(m *machine.MemInfo) string { return mebibytes(m.GetBuffers()) }),
	session.Col("CACHE", func(m *machine.MemInfo) string { return mebibytes(m.GetCached()) }),
	session.Col("AVAILABLE", func(m *machine.MemInfo) string { return mebibytes(m.GetMemavailable()) }),
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

func writeMeminfo(ctx context.Context, n session.Node, w io.Writer) error {
	info, err := session.Bounded(ctx, n, session.Node.Memory)
	if err != nil {
		return err
	}

	fmt.Fprintf(w, "%-18s %s\n", "NODE:", n.Name)

	message := info.ProtoReflect()
	fields := message.Descriptor().Fields()

	for i, name := range meminfoNames {
		unit := " kB"
		if strings.HasPrefix(name, "HugePages_") {
			unit = ""
		}

		fmt.Fprintf(w, "%-18s %d%s\n", name+":", message.Get(fields.Get(i)).Uint(), unit)
	}

	return nil
}
