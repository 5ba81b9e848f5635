// SPDX-License-Identifier: Apache-2.0

// Package apid holds the controllers that decide how the API is served and keep its process running.
package apid
