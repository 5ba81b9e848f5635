// SPDX-License-Identifier: Apache-2.0

// Package kernel holds the controllers of the kernel's parameters and modules: the hardened defaults, what the machine
// configuration adds, and the modules that the hardware asks for.
package kernel
