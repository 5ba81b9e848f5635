// SPDX-License-Identifier: Apache-2.0

// Package e2e tests the whole system in virtual machines and containers: it boots, configures and uses what was built, as
// users do, and cuts the power. Without a build the tests are skipped; make e2e builds first.
package e2e
