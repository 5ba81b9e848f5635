// SPDX-License-Identifier: Apache-2.0

// Command process1 is a process 1 that does nothing, for tests of versions that cannot run. It is built with a value for ends.
package main

import "time"

// ends is how long it runs before it crashes, such as 5s. If it is empty, the process hangs.
var ends string

func main() {
	d, err := time.ParseDuration(ends)
	if err != nil {
		d = 1 << 62
	}

	time.Sleep(d)
	panic("this version cannot run")
}
