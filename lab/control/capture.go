// SPDX-License-Identifier: Apache-2.0

package control

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

const portParameter = "port"

// capture streams the output of Lab.Capture, each write at once.
func capture(lab Lab, w http.ResponseWriter, r *http.Request) {
	write, err := lab.Capture(r.URL.Query()[portParameter])
	if err != nil {
		reply(w, http.StatusConflict, failure{err.Error()})

		return
	}

	w.Header().Set("Content-Type", "application/x-pcapng")
	w.WriteHeader(http.StatusOK)

	_ = write(r.Context(), &flusher{w, http.NewResponseController(w)}) // the client or the lab has ended
}

type flusher struct {
	io.Writer
	control *http.ResponseController
}

func (f *flusher) Write(b []byte) (int, error) {
	n, err := f.Writer.Write(b)
	if err != nil {
		return n, err
	}

	return n, f.control.Flush()
}

// Capture writes the frames of the ports of names, or all frames of the lab, to w as pcapng until ctx is done or the
// lab ends.
func (c *Client) Capture(ctx context.Context, names []string, w io.Writer) error {
	frames, err := c.send(ctx, http.MethodGet, "/capture?"+url.Values{portParameter: names}.Encode(), nil)
	if err != nil {
		return fmt.Errorf("capture: %w", err)
	}
	defer frames.Close()

	written := &destination{Writer: w}
	if _, err := io.Copy(written, frames); written.err != nil {
		return fmt.Errorf("write the capture: %w", written.err)
	} else if err != nil && ctx.Err() == nil {
		return fmt.Errorf("capture: the lab ended: %w", err)
	}

	return nil
}

// destination records an error of a write, to tell it from one of a read.
type destination struct {
	io.Writer
	err error
}

func (d *destination) Write(b []byte) (n int, err error) {
	n, d.err = d.Writer.Write(b)

	return n, d.err
}
