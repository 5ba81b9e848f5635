// SPDX-License-Identifier: Apache-2.0

// Package e2e tests the whole system in virtual machines: what was built is booted, configured and used as its users
// do, and the power is cut. Without a build the tests are skipped; make e2e builds first, and then nothing is.
package e2e
