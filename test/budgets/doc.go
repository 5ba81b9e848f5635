// SPDX-License-Identifier: Apache-2.0

// Package budgets holds the limits of the system: how large it is, how long it boots, how much memory it takes.
// Raising one takes a reason in the same commit. make budgets prints them all; the sizes are held by every test run.
package budgets
