// SPDX-License-Identifier: Apache-2.0

// Package house has the rules of the code base as tests: which package may import which, the first line of a file, its
// maximum length, its language, texts that must not be committed, and the wire contract of resources. A rule without a
// test would not last.
package house
