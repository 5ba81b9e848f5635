// SPDX-License-Identifier: Apache-2.0

package session

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"slices"
)

// Lines writes whole lines from several nodes, each with the name of its node in front.
type Lines struct{ written *Documents }

// NewLines returns Lines that writes to w.
func NewLines(w io.Writer) *Lines { return &Lines{NewDocuments(w, "")} }

// maxLine is how many bytes of a line are buffered until its end is read.
const maxLine = 256 << 10

// Copy writes every line of r. A last line without an end gets one. A line longer than maxLine is split.
func (l *Lines) Copy(node string, r io.Reader) error {
	prefix := []byte(node + ": ")

	for in := bufio.NewReaderSize(r, maxLine); ; {
		line, err := in.ReadSlice('\n')

		if len(line) > 0 {
			if err := l.write(prefix, bytes.TrimSuffix(line, []byte("\n"))); err != nil {
				return err
			}
		}

		switch {
		case err == nil, errors.Is(err, bufio.ErrBufferFull):
		case err == io.EOF:
			return nil
		default:
			return err
		}
	}
}

// Print writes one line.
func (l *Lines) Print(node, line string) error {
	return l.write([]byte(node+": "), []byte(line))
}

// write writes the prefix, the line and its end.
func (l *Lines) write(prefix, line []byte) error {
	return l.written.Write(slices.Concat(prefix, line, []byte("\n")))
}
