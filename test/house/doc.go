// SPDX-License-Identifier: Apache-2.0

// Package house holds the rules of the house as tests: who may import whom, what every file begins with, how long a
// file may be, what may never be committed, and that the resources keep to their wire contract. A rule that no test
// holds is a wish.
package house
