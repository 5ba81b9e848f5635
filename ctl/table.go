// SPDX-License-Identifier: Apache-2.0

package ctl

import (
	"io"
	"strings"
	"sync"
	"unicode/utf8"
)

// columnGap is the number of spaces between columns.
const columnGap = 3

// table prints rows in aligned columns as they come, from several nodes at once. The rows of one call are aligned with
// each other and with all before them: a column grows when it has to, and never shrinks.
type table struct {
	mu     sync.Mutex
	w      io.Writer
	header []string
	widths []int
}

func newTable(w io.Writer, header ...string) *table {
	return &table{w: w, header: header}
}

// reserve makes the first columns at least that wide, for rows that come one by one.
func (t *table) reserve(widths ...int) *table {
	t.widths = widths

	return t
}

// print writes rows, the header first if these are the first rows.
func (t *table) print(rows ...[]string) error {
	t.mu.Lock()
	defer t.mu.Unlock()

	if t.header != nil {
		rows = append([][]string{t.header}, rows...)
		t.header = nil
	}

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

	_, err := io.WriteString(t.w, b.String())

	return err
}
