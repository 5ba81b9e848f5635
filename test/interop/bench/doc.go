// SPDX-License-Identifier: Apache-2.0

// Package bench has the benchmarks of cosi/bench for the reference implementation: the same names, the same sizes, the same
// steps. Run `go run ./compare` in test/interop for both and the ratios.
package bench
