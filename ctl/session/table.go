// SPDX-License-Identifier: Apache-2.0

package session

import (
	"cmp"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

const (
	// columnGap is the number of spaces between columns.
	columnGap = 3
	// gathering is how long the first rows wait for those of the other nodes, so that all of them are aligned. A node that
	// is slower, or dead, is not waited for.
	gathering = time.Second
	// maxGathered rows wait.
	maxGathered = 10_000
)

// Table prints rows in aligned columns, from several nodes at once. The rows of one call are aligned with each other
// and with all before them: a column grows when it has to, and never shrinks.
type Table struct {
	mu     sync.Mutex
	w      io.Writer
	header []string
	widths []int

	// nodes that are asked, and those of them that may have more to say; rows wait for these.
	nodes   []string
	waiting map[string]bool
	begun   bool
	rows    [][]string
	timer   *time.Timer
	err     error // of printing
}

// NewTable returns a table that is printed to w, with a header if there is one.
func NewTable(w io.Writer, header ...string) *Table {
	return &Table{w: w, header: header}
}

// Reserve makes the first columns at least that wide, for rows that come one by one.
func (t *Table) Reserve(widths ...int) *Table {
	t.widths = widths

	return t
}

// SetHeader is for tables whose columns are known only when the first rows are.
func (t *Table) SetHeader(header ...string) { t.header = header }

// expect has the table wait a moment for the rows of several nodes, whose first cell is the node.
func (t *Table) expect(nodes []Node) {
	if len(nodes) < 2 {
		return
	}

	t.waiting = make(map[string]bool, len(nodes))

	for _, n := range nodes {
		t.nodes = append(t.nodes, n.Name)
		t.waiting[n.Name] = true
	}
}

// answered tells that a node has no more to say, be it because it failed.
func (t *Table) answered(n Node) error {
	t.mu.Lock()
	defer t.mu.Unlock()

	delete(t.waiting, n.Name)

	if len(t.waiting) == 0 {
		t.release()
	}

	return t.err
}

// Print writes rows, the header first if these are the first rows. Those of nodes that answer at about the same time
// are written together, in the order of the nodes.
func (t *Table) Print(rows ...[]string) error {
	t.mu.Lock()
	defer t.mu.Unlock()

	t.begun = true
	t.rows = append(t.rows, rows...)

	switch {
	case len(t.waiting) == 0, len(t.rows) > maxGathered:
		t.release()
	case t.timer == nil:
		t.timer = time.AfterFunc(gathering, func() {
			t.mu.Lock()
			defer t.mu.Unlock()

			t.release()
		})
	}

	return t.err
}

// release writes the rows that are there. Those that come later wait no more.
func (t *Table) release() {
	t.waiting = nil

	if t.timer != nil {
		t.timer.Stop()
	}

	if !t.begun || t.err != nil || t.header == nil && len(t.rows) == 0 {
		return
	}

	slices.SortStableFunc(t.rows, func(a, b []string) int { return cmp.Compare(t.place(a), t.place(b)) })

	rows := t.rows
	if t.header != nil {
		rows = slices.Insert(rows, 0, t.header)
	}

	t.header, t.rows = nil, nil

	for _, row := range rows {
		for i, cell := range row {
			if i == len(t.widths) {
				t.widths = append(t.widths, 0)
			}

			t.widths[i] = max(t.widths[i], utf8.RuneCountInString(cell))
		}
	}

	var b strings.Builder

	for _, row := range rows {
		for i, cell := range row {
			b.WriteString(cell)

			if i < len(row)-1 {
				b.WriteString(strings.Repeat(" ", t.widths[i]-utf8.RuneCountInString(cell)+columnGap))
			}
		}

		b.WriteByte('\n')
	}

	_, t.err = io.WriteString(t.w, b.String())
}

// place of the node that a row is of, among those that are asked.
func (t *Table) place(row []string) int {
	if len(t.nodes) == 0 {
		return 0
	}

	return slices.Index(t.nodes, row[0])
}
