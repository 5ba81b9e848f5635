// SPDX-License-Identifier: Apache-2.0

// Package bench measures the other implementation by the work that ours is measured by in cosi/bench: the same names,
// the same sizes, the same steps. Run `go run ./compare` in test/interop for both and the ratios.
package bench
