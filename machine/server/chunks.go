// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

// chunks reads what a caller sends in chunks.
type chunks struct {
	// next returns the next chunk, and io.EOF at the end.
	next func() ([]byte, error)
	rest []byte
}

// Read implements io.Reader.
func (r *chunks) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		chunk, err := r.next()
		if err != nil {
			return 0, err
		}

		r.rest = chunk
	}

	n := copy(p, r.rest)
	r.rest = r.rest[n:]

	return n, nil
}
