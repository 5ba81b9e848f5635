// SPDX-License-Identifier: Apache-2.0

package bolt

import "syscall"

// durably is the flag of a file whose writes return when the data is on the disk. The time of the change may be written later.
const durably = syscall.O_DSYNC
