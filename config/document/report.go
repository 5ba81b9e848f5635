// SPDX-License-Identifier: Apache-2.0

package document

import (
	"fmt"
	"strings"
)

// Finding is one thing that is wrong.
type Finding struct {
	Path string // LinkConfig[eth0].mtu, machine.network.interfaces[0].mtu
	Text string // what is wrong and what to do
}

func (f Finding) Error() string { return f.Path + ": " + f.Text }

// Findings is everything that is wrong.
type Findings []Finding

func (fs Findings) Error() string {
	if len(fs) == 1 {
		return "the machine configuration is not valid: " + fs[0].Error()
	}

	lines := make([]string, len(fs))
	for i, f := range fs {
		lines[i] = "\n  * " + f.Error()
	}

	return fmt.Sprintf("the machine configuration is not valid, %d problems:%s", len(fs), strings.Join(lines, ""))
}

// Report collects findings and warnings about one document. Paths are relative to it.
type Report struct {
	at       string
	Findings Findings
	Warnings []string
}

// NewReport returns an empty report about a document.
func NewReport(d Document) *Report { return &Report{at: Path(d)} }

// Path names a document: its kind, and its name in brackets if it has one.
func Path(d Document) string {
	if d.Name() == "" {
		return d.Kind()
	}

	return fmt.Sprintf("%s[%s]", d.Kind(), d.Name())
}

func (r *Report) path(path string) string {
	switch {
	case path == "":
		return r.at
	case r.at == "":
		return path
	default:
		return r.at + "." + path
	}
}

// Wrong adds a finding: what is wrong and what to do. An empty path is the document as a whole.
func (r *Report) Wrong(path, format string, args ...any) {
	r.Findings = append(r.Findings, Finding{r.path(path), fmt.Sprintf(format, args...)})
}

// Warn adds a warning.
func (r *Report) Warn(path, format string, args ...any) {
	r.Warnings = append(r.Warnings, r.path(path)+": "+fmt.Sprintf(format, args...))
}

// Validator is a document with rules beyond those of its fields.
type Validator interface {
	Validate(r *Report)
}
