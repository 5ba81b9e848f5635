// SPDX-License-Identifier: Apache-2.0

// Package budgets checks the limits of the system: how large it is, how long it boots, how much memory it takes.
// A commit that raises a limit gives the reason. make budgets prints all of them; every test run checks the sizes.
package budgets
