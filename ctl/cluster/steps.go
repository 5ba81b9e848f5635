// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"io"
	"time"
)

// steps prints lines with the time since the beginning.
type steps struct {
	out   io.Writer
	start time.Time
}

func newSteps(out io.Writer) *steps { return &steps{out: out, start: time.Now()} }

func (s *steps) say(format string, args ...any) {
	fmt.Fprintf(s.out, "%7.1fs  %s\n", time.Since(s.start).Seconds(), fmt.Sprintf(format, args...))
}
