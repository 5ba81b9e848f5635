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
	// gathering is how long the first rows wait for the rows of the other nodes, so that all of them are aligned.
	gathering = time.Second
	// maxGathered is how many rows wait at most.
	maxGathered = 10_000
)

// Table prints rows of several nodes in aligned columns. A column grows when a row needs it, and never shrinks.
type Table struct {
	mu     sync.Mutex
	w      io.Writer
	header []string
	widths []int

	// nodes are all nodes of the command. waiting are those that have not finished: the rows wait for them.
	nodes   []string
	waiting map[string]bool
	begun   bool
	rows    [][]string
	timer   *time.Timer
	err     error // of printing
}

// NewTable returns a table that prints to w, with a header if there is one.
func NewTable(w io.Writer, header ...string) *Table {
	return &Table{w: w, header: header}
}

// Reserve sets the least width of the first columns, for rows that are printed one by one.
func (t *Table) Reserve(widths ...int) *Table {
	t.widths = widths

	return t
}

// SetHeader sets the header of a table whose columns are known only with its first rows.
func (t *Table) SetHeader(header ...string) { t.header = header }

// expect makes the table wait a moment for the rows of these nodes. The first cell of a row is its node.
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

// answered records that a node has finished or failed.
func (t *Table) answered(n Node) error {
	t.mu.Lock()
	defer t.mu.Unlock()

	delete(t.waiting, n.Name)

	if len(t.waiting) == 0 {
		t.release()
	}

	return t.err
}

// Print prints rows, after the header if these are the first. Rows of nodes that answer at about the same time are sorted by node.
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

// release prints the rows that wait. Later rows are printed at once.
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

// place returns the position of the node of a row among all nodes.
func (t *Table) place(row []string) int {
	if len(t.nodes) == 0 {
		return 0
	}

	return slices.Index(t.nodes, row[0])
}
