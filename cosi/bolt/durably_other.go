// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package bolt

import "os"

// durably is the flag of a file whose writes return when they are on the disk.
const durably = os.O_SYNC
