// SPDX-License-Identifier: Apache-2.0

package ctl

import (
	"bufio"
	"io"
	"sync"
)

// lines writes whole lines from several nodes, each with its node in front.
type lines struct {
	mu sync.Mutex
	w  io.Writer
}

// copy writes every line of r. Lines have any length; one without an end gets one.
func (l *lines) copy(node string, r io.Reader) error {
	prefix := []byte(node + ": ")

	for in := bufio.NewReaderSize(r, 64<<10); ; {
		line, err := in.ReadBytes('\n')

		if len(line) > 0 {
			if line[len(line)-1] != '\n' {
				line = append(line, '\n')
			}

			if err := l.write(prefix, line); err != nil {
				return err
			}
		}

		if err == io.EOF {
			return nil
		}

		if err != nil {
			return err
		}
	}
}

// print writes one line.
func (l *lines) print(node, line string) error {
	return l.write([]byte(node+": "), []byte(line+"\n"))
}

func (l *lines) write(prefix, line []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()

	_, err := l.w.Write(append(prefix[:len(prefix):len(prefix)], line...))

	return err
}
