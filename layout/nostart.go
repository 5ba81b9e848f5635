// SPDX-License-Identifier: Apache-2.0

package layout

// DoesNotStart begins the line of the kernel's log with which a system that cannot start ends. The firmware keeps it, and the next boot reads it.
const DoesNotStart = "the system does not start: "
