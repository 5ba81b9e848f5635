// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// limited reads until a context ends.
type limited struct {
	ctx context.Context
	io.Reader

	wait time.Duration
}

func (l *limited) Read(b []byte) (int, error) {
	time.Sleep(l.wait)

	if err := l.ctx.Err(); err != nil {
		return 0, err
	}

	return l.Reader.Read(b)
}

// TestLateSnapshot: the error of a snapshot that takes too long says who was slow.
func TestLateSnapshot(t *testing.T) {
	const size = 3 * streamChunk

	for name, tt := range map[string]struct {
		receiver, etcd time.Duration // for each chunk
		want           string
	}{
		"in time": {time.Minute, time.Minute, ""},
		"the receiver": {6 * time.Minute, 0, "snapshot of etcd: of 10m0s it waited 12m0s for the receiver, which has taken 63488 bytes; meanwhile etcd frees no space: " +
			"receive it nearer to the node, on a faster disk"},
		"etcd":           {time.Second, 6 * time.Minute, "snapshot of etcd: etcd has sent 31744 bytes within 10m0s; see: talosctl logs etcd"},
		"etcd is silent": {0, 20 * time.Minute, "context deadline exceeded"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), etcdMaintenanceTimeout)
				defer cancel()

				var p pace

				source := &limited{ctx, bytes.NewReader(make([]byte, size)), tt.etcd}

				err := sendReader(source, p.of(func([]byte) error { time.Sleep(tt.receiver); return nil }))
				if late := p.late("snapshot of etcd", etcdMaintenanceTimeout); errors.Is(err, context.DeadlineExceeded) && late != nil {
					err = late
				}

				switch {
				case tt.want == "" && err == nil:
				case err == nil || status.Convert(err).Message() != tt.want:
					t.Errorf("got %v, want %s", err, tt.want)
				case p.sent > 0 && status.Code(err) != codes.DeadlineExceeded:
					t.Errorf("got code %s", status.Code(err))
				}
			})
		})
	}
}
