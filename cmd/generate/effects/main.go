// SPDX-License-Identifier: Apache-2.0

// Command effects writes the list of configuration keys that no code reads; see package derive.
package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/seed-59268b81/talos/config/effects/derive"
)

// main runs in config/effects.
func main() {
	unread, err := derive.Unread("../..")
	if err == nil {
		err = os.WriteFile("unread.txt", []byte(strings.Join(unread, "\n")+"\n"), 0o644)
	}

	if err != nil {
		fmt.Fprintln(os.Stderr, "effects:", err)
		os.Exit(1)
	}
}
