// SPDX-License-Identifier: Apache-2.0

// Package files holds the controllers of the few files in /etc that change while the machine runs.
package files
