// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

// pieces reads what a caller sends in pieces.
type pieces struct {
	// next returns the next piece, and io.EOF at the end.
	next func() ([]byte, error)
	rest []byte
}

// Read implements io.Reader.
func (r *pieces) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		piece, err := r.next()
		if err != nil {
			return 0, err
		}

		r.rest = piece
	}

	n := copy(p, r.rest)
	r.rest = r.rest[n:]

	return n, nil
}
