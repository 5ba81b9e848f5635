// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// item is a part of the run and its duration.
type item struct {
	name string
	took time.Duration
}

// spent is where the time went. Packages run in parallel, so their sum is more than the time that passed.
type spent struct{ phases, packages, tests []item }

// slowest is how many items are shown; items shorter than noticeable are not.
const (
	slowest    = 10
	noticeable = time.Second
)

// test records a test, and the steps of one whose package is shown line by line.
func (s *spent) test(e event, live bool) {
	depth := 0
	if live {
		depth = 1
	}

	if strings.Count(e.Test, "/") <= depth {
		s.tests = append(s.tests, item{short(e.Package) + " " + e.Test, time.Duration(e.Elapsed * float64(time.Second))})
	}
}

// print shows where the time went.
func (s *spent) print(out io.Writer) {
	table(out, "where the time went", s.phases)
	table(out, "slowest packages", longest(s.packages))
	table(out, "slowest tests", longest(s.tests))
}

func longest(items []item) []item {
	items = slices.DeleteFunc(slices.Clone(items), func(i item) bool { return i.took < noticeable })
	slices.SortFunc(items, func(a, b item) int { return cmp.Or(cmp.Compare(b.took, a.took), strings.Compare(a.name, b.name)) })

	return items[:min(slowest, len(items))]
}

func table(out io.Writer, title string, items []item) {
	if len(items) == 0 {
		return
	}

	fmt.Fprintf(out, "%s:\n", title)

	for _, i := range items {
		fmt.Fprintf(out, "%8.1fs  %s\n", i.took.Seconds(), i.name)
	}
}
