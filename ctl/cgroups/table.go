// SPDX-License-Identifier: Apache-2.0

package cgroups

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
)

// Row is the row of a group.
type Row struct {
	// Name is the name, drawn as a branch of a tree.
	Name, Path string
	Cells      []string

	columns []Column
}

// Plain returns the row as a document with the columns as keys.
func (r Row) Plain() map[string]any {
	value := map[string]any{"cgroup": r.Path}
	for i, c := range r.columns {
		value[c.Name] = r.Cells[i]
	}

	return value
}

// Rows returns the rows of a group and of all groups below it.
func (s Schema) Rows(g *Group) []Row {
	return s.rows(nil, g, nil, "", "", g.Name)
}

func (s Schema) rows(rows []Row, g, parent *Group, stem, branch, path string) []Row {
	row := Row{Name: branch + g.Name, Path: path, columns: s.Columns}
	for _, column := range s.Columns {
		row.Cells = append(row.Cells, column.cell(g, parent))
	}

	rows = append(rows, row)

	for i, child := range g.sorted() {
		fork, below := "├──", "│   "
		if i == len(g.Children)-1 {
			fork, below = "└──", "    "
		}

		rows = s.rows(rows, child, g, stem+below, stem+fork, path+"/"+child.Name)
	}

	return rows
}

// unset is shown for a file that a group does not have.
const unset = "unset"

func (c Column) cell(g, parent *Group) string {
	text, known := g.value(c.File, c.Field)

	switch {
	case c.Share != nil:
		return c.share(g, parent)
	case c.Format == Lines:
		return c.lines(g)
	case !known:
		return unset
	}

	number, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return text // not a number, such as max
	}

	switch c.Format {
	case Bytes:
		return humanize.IBytes(uint64(max(0, number)))
	case Microseconds:
		return (time.Duration(min(max(0, number), math.MaxInt64/1e3)) * time.Microsecond).String()
	default:
		return text
	}
}

func (c Column) lines(g *Group) string {
	content, known := g.Files[c.File]
	if !known {
		return unset
	}

	count := 0

	for line := range strings.Lines(content) {
		if strings.TrimSpace(line) != "" {
			count++
		}
	}

	return strconv.Itoa(count)
}

func (c Column) share(g, parent *Group) string {
	part, known := g.number(c.File, c.Field)

	var (
		whole      float64
		wholeKnown bool
	)

	switch {
	case c.Share.Of != "":
		whole, wholeKnown = g.number(c.Share.Of, "")
	case parent != nil:
		whole, wholeKnown = parent.number(c.File, c.Field)
	}

	if !known || !wholeKnown || whole == 0 {
		return "-"
	}

	return strconv.FormatFloat(part/whole*100, 'f', 2, 64) + "%"
}

func (g *Group) number(file, field string) (float64, bool) {
	text, known := g.value(file, field)
	if !known {
		return 0, false
	}

	number, err := strconv.ParseFloat(text, 64)

	return number, err == nil
}

// value returns a field of a file. The field "" is the whole file. Otherwise the first part of the field selects the line
// that begins with it, or with "*" the sum of all lines. The second part is a key in that line.
func (g *Group) value(file, field string) (string, bool) {
	content, known := g.Files[file]
	if !known {
		return "", false
	}

	key, inner, _ := strings.Cut(field, " ")

	if key == "" {
		return strings.TrimSpace(content), strings.TrimSpace(content) != ""
	}

	var (
		sum   float64
		found bool
	)

	for line := range strings.Lines(content) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if key != "*" && key != name {
			continue
		}

		text, has := rest, true
		if inner != "" {
			text, has = innerValue(rest, inner)
		}

		if !has {
			continue
		}

		if key != "*" {
			return text, true
		}

		if number, err := strconv.ParseFloat(text, 64); err == nil {
			sum, found = sum+number, true
		}
	}

	return strconv.FormatFloat(sum, 'f', -1, 64), found
}

func innerValue(line, key string) (string, bool) {
	for pair := range strings.FieldsSeq(line) {
		if name, value, ok := strings.Cut(pair, "="); ok && name == key {
			return value, true
		}
	}

	return "", false
}
