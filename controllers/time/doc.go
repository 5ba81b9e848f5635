// SPDX-License-Identifier: Apache-2.0

// Package time holds the controllers that synchronize the clock and report its state.
package time
