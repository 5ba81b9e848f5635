// SPDX-License-Identifier: Apache-2.0

// Package client publishes this machine to one discovery source and watches the others.
package client
