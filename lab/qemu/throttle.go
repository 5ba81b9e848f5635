// SPDX-License-Identifier: Apache-2.0

package qemu

import (
	"context"
	"fmt"

	"github.com/seed-59268b81/talos/lab/machine"
)

// SetDisk makes the disks slow.
func (m *Machine) SetDisk(ctx context.Context, disk machine.Disk) error {
	const op = "limit the disks of"

	r := m.run.Load()
	if r == nil {
		return fmt.Errorf("%s %s: %w", op, m.cfg.Name, machine.ErrOff)
	}

	for i := range m.cfg.Disks {
		if err := r.monitor.do(ctx, qmpCommand{Name: "block_set_io_throttle", Arguments: map[string]any{
			"device": diskID(i), "bps": 0, "bps_rd": 0, "bps_wr": 0, "iops": 0, "iops_rd": 0, "iops_wr": disk.Writes,
		}}); err != nil {
			return fmt.Errorf("%s %s: %w", op, m.cfg.Name, err)
		}
	}

	return nil
}
