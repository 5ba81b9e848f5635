// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"bytes"
	"sync"
)

// lineWriter splits a service's output into lines.
type lineWriter struct {
	sink LogSink
	id   string
	mu   sync.Mutex
	buf  []byte
	last string
}

// Last returns the last line that was written.
func (w *lineWriter) Last() string {
	w.mu.Lock()
	defer w.mu.Unlock()

	return w.last
}

// append logs a line; the lock is held.
func (w *lineWriter) append(line []byte) {
	w.sink.Append(w.id, line)
	w.last = string(line[:min(len(line), maxLast)])
}

// maxLast is how many bytes of the last line are part of an error.
const maxLast = 400

// maxLine is where a line without an end is cut.
const maxLine = 64 * 1024

func (w *lineWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()

	w.buf = append(w.buf, p...)

	for {
		i := bytes.IndexByte(w.buf, '\n')
		if i < 0 && len(w.buf) < maxLine {
			return len(p), nil
		}

		if i < 0 {
			w.append(w.buf)
			w.buf = w.buf[:0]

			return len(p), nil
		}

		w.append(bytes.TrimSuffix(w.buf[:i], []byte("\r")))
		w.buf = w.buf[i+1:]
	}
}

// Flush logs an unfinished last line.
func (w *lineWriter) Flush() {
	w.mu.Lock()
	defer w.mu.Unlock()

	if len(w.buf) > 0 {
		w.append(w.buf)
		w.buf = nil
	}
}
