// SPDX-License-Identifier: Apache-2.0

package ctl

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/api/machine"
)

func newMemoryCommand() *cobra.Command {
	var (
		connection connection
		verbose    bool
	)

	cmd := &cobra.Command{
		Use:     "memory",
		Aliases: []string{"m", "free"},
		Short:   "Show the memory of the nodes, in MiB",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			out := cmd.OutOrStdout()
			rows := newTable(out, "NODE", "TOTAL", "USED", "FREE", "SHARED", "BUFFERS", "CACHE", "AVAILABLE")

			var mu sync.Mutex

			return connection.each(cmd.Context(), func(ctx context.Context, n node) error {
				info, err := n.Memory(ctx)
				if err != nil {
					return err
				}

				if !verbose {
					return rows.print(memoryRow(n.name, info))
				}

				mu.Lock()
				defer mu.Unlock()

				return printMeminfo(out, n.name, info)
			})
		},
	}

	connection.flags(cmd)
	connection.maintenanceFlags(cmd)
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "show all that the kernel tells")

	return cmd
}

func memoryRow(node string, info *machine.MemInfo) []string {
	used := int64(info.GetMemtotal()) - int64(info.GetMemfree()) - int64(info.GetCached()) - int64(info.GetBuffers())
	row := []string{node}

	for _, kib := range []int64{
		int64(info.GetMemtotal()), used, int64(info.GetMemfree()), int64(info.GetShmem()),
		int64(info.GetBuffers()), int64(info.GetCached()), int64(info.GetMemavailable()),
	} {
		row = append(row, strconv.FormatInt(kib/1024, 10))
	}

	return row
}

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
