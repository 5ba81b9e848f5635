// SPDX-License-Identifier: Apache-2.0

// Package bench measures package cosi by the work that another implementation is measured by in test/interop/bench:
// the same names, the same sizes, the same steps. `make bench-cosi` runs both and prints the ratios.
package bench
