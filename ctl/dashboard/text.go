// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/charmbracelet/x/ansi"
)

// Colours are the terminal's own, so that they suit its background.
var (
	bold    = ansi.Style{}.Bold()
	faint   = ansi.Style{}.Faint()
	marked  = ansi.Style{}.Reverse(true)
	good    = ansi.Style{}.ForegroundColor(ansi.Green)
	bad     = ansi.Style{}.Bold().ForegroundColor(ansi.Red)
	warning = ansi.Style{}.ForegroundColor(ansi.Yellow)
	heading = ansi.Style{}.Bold().ForegroundColor(ansi.Cyan)
)

// clean removes what would control the terminal: escape sequences and control characters. Tabs become spaces.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r):
			return -1
		default:
			return r
		}
	}, ansi.Strip(s))
}

// fit cuts or pads the text to a width in cells.
func fit(s string, width int) string {
	if width <= 0 {
		return ""
	}

	if ansi.StringWidth(s) > width {
		s = ansi.Truncate(s, width, "…")
	}

	return s + strings.Repeat(" ", max(0, width-ansi.StringWidth(s)))
}

// box cuts or pads lines to a width and a height.
func box(lines []string, width, height int) []string {
	out := make([]string, 0, max(0, height))

	for i := range height {
		line := ""
		if i < len(lines) {
			line = lines[i]
		}

		out = append(out, fit(line, width))
	}

	return out
}

// beside joins blocks of lines of the same height side by side.
func beside(gap string, blocks ...[]string) []string {
	var out []string

	for i := range blocks[0] {
		parts := make([]string, len(blocks))
		for j, b := range blocks {
			parts[j] = b[i]
		}

		out = append(out, strings.Join(parts, gap))
	}

	return out
}

// table returns rows below headings in aligned columns. The last column is not padded.
func table(head []string, rows [][]string) []string {
	widths := make([]int, len(head))

	for _, row := range append([][]string{head}, rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], ansi.StringWidth(cell))
		}
	}

	line := func(row []string) string {
		var b strings.Builder

		for i, cell := range row {
			if i < len(row)-1 {
				cell = fit(cell, widths[i]) + "  "
			}

			b.WriteString(cell)
		}

		return b.String()
	}

	out := []string{heading.Styled(line(head))}
	for _, row := range rows {
		out = append(out, line(row))
	}

	return out
}

// bar draws a share of a whole.
func bar(share float64, width int) string {
	full := min(width, max(0, int(share*float64(width)+0.5)))
	style := good

	switch {
	case share >= 0.9:
		style = bad
	case share >= 0.7:
		style = warning
	}

	return style.Styled(strings.Repeat("█", full)) + faint.Styled(strings.Repeat("░", width-full))
}

// spark draws the last shares as a line of small bars.
func spark(shares []float64, width int) string {
	const levels = "▁▂▃▄▅▆▇█"

	shares = shares[max(0, len(shares)-width):]
	runes := []rune(levels)

	var b strings.Builder
	for _, s := range shares {
		b.WriteRune(runes[min(len(runes)-1, max(0, int(s*float64(len(runes)))))])
	}

	return strings.Repeat(" ", width-len(shares)) + b.String()
}

func bytesText(n uint64) string {
	const unit = 1024
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}

	value, exp := float64(n)/unit, 0
	for value >= unit && exp < 4 {
		value /= unit
		exp++
	}

	return fmt.Sprintf("%.1f %ciB", value, "KMGTP"[exp])
}

func sinceText(d time.Duration) string {
	d = d.Round(time.Second)

	switch {
	case d < 0:
		return "0s"
	case d >= 24*time.Hour:
		return fmt.Sprintf("%dd%dh", d/(24*time.Hour), d%(24*time.Hour)/time.Hour)
	case d >= time.Hour:
		return fmt.Sprintf("%dh%dm", d/time.Hour, d%time.Hour/time.Minute)
	case d >= time.Minute:
		return fmt.Sprintf("%dm%ds", d/time.Minute, d%time.Minute/time.Second)
	default:
		return d.String()
	}
}
