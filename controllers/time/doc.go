// SPDX-License-Identifier: Apache-2.0

// Package time holds the controllers that keep the clock right and say how right it is.
package time
