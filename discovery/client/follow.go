// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	serverapi "github.com/seed-59268b81/talos/api/discovery/server"
	"github.com/seed-59268b81/talos/discovery/extension"
)

// errSilent is the end of a watch of a source that lives and says nothing.
var errSilent = fmt.Errorf("watch: the source has not told within %s which members it knows", watchTimeout)

// follow watches the others until the stream ends, which is an error.
func (s *Session) follow(ctx context.Context, conn *grpc.ClientConn) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)

	// It does not end as long as the source goes on telling.
	silent := time.AfterFunc(watchTimeout, func() { cancel(errSilent) })
	defer silent.Stop()

	complete := false

	err := s.receiveAll(ctx, conn, func(all bool) {
		if complete = complete || all; complete {
			silent.Stop()
		} else {
			silent.Reset(watchTimeout)
		}
	})
	if cause := context.Cause(ctx); errors.Is(cause, errSilent) {
		err = cause
	} else if cause != nil {
		return cause
	}

	// A connection that is lost says nothing about the source.
	if !complete && status.Code(err) != codes.Unavailable {
		s.unwatchable(err)
	}

	return err
}

// receiveAll calls heard after each message, with whether the source has told everything by then.
func (s *Session) receiveAll(ctx context.Context, conn *grpc.ClientConn, heard func(all bool)) error {
	stream, err := conn.NewStream(s.resume(ctx), &grpc.StreamDesc{ServerStreams: true}, serverapi.Cluster_Watch_FullMethodName)
	if err != nil {
		return fmt.Errorf("watch: %w", err)
	}

	if err := stream.SendMsg(&serverapi.WatchRequest{ClusterId: s.options.ClusterID}); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("watch: %w", err)
	}

	if err := stream.CloseSend(); err != nil {
		return fmt.Errorf("watch: %w", err)
	}

	for first := true; ; first = false {
		var raw extension.Raw

		if err := stream.RecvMsg(&raw); err != nil {
			if errors.Is(err, io.EOF) {
				err = errors.New("the source has ended it")
			}

			return fmt.Errorf("watch: %w", err)
		}

		message, err := extension.DecodeResponse(raw)
		if err != nil {
			return fmt.Errorf("watch: %w", err)
		}

		var head header

		if first {
			md, err := stream.Header()
			if err != nil {
				return fmt.Errorf("watch: %w", err)
			}

			if head, err = headerOf(md); err != nil {
				return fmt.Errorf("watch: %w", err)
			}
		}

		if ctx.Err() != nil {
			return ctx.Err()
		}

		heard(s.receive(first, head, message))
	}
}

// resume adds what the session already has.
func (s *Session) resume(ctx context.Context) context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()

	resume := ""
	if s.table.placed && s.table.complete() {
		resume = s.table.place.String()
	}

	ctx = metadata.AppendToOutgoingContext(ctx, extension.KeyResume, resume)

	// A service of another kind, and proxies before it, are spared the long header.
	if d := s.table.digest(); d != nil && s.ours {
		ctx = metadata.AppendToOutgoingContext(ctx, extension.KeyDigest, string(d.Encode()))
	}

	return ctx
}

// headerOf reads the header of a stream. That of a service that is not ours is empty.
func headerOf(md metadata.MD) (h header, err error) {
	boot, mode := md.Get(extension.KeyBoot), md.Get(extension.KeyMode)
	if len(boot) == 0 || len(mode) == 0 {
		return header{}, nil
	}

	if h.boot, err = extension.ParseBoot(boot[0]); err != nil {
		return header{}, err
	}

	switch h.mode = mode[0]; h.mode {
	case extension.ModeResume, extension.ModeEqual, extension.ModeDifference, extension.ModeSnapshot:
	default:
		return header{}, fmt.Errorf("unknown mode %q", h.mode)
	}

	if young := md.Get(extension.KeyYoung); len(young) > 0 {
		seconds, err := strconv.ParseUint(young[0], 10, 16)
		if err != nil {
			return header{}, fmt.Errorf("%s: %w", extension.KeyYoung, err)
		}

		h.young = time.Duration(seconds) * time.Second
	}

	return h, nil
}

// receive takes a message. It reports whether the source has told everything.
func (s *Session) receive(first bool, head header, m extension.Response) (all bool) {
	s.mu.Lock()
	defer s.mu.Unlock()

	if !s.watch {
		return false
	}

	now := time.Now()

	if first {
		// A member is kept for its TTL at most.
		head.young = min(head.young, s.options.TTL)
		s.table.begin(head, now)
	}

	changed := s.table.apply(m, now)

	s.status.LastContact = now

	if state := StateWatching; s.table.complete() && s.status.State != state {
		s.status.State, s.fresh, s.watchErr = state, true, nil
		changed = true

		s.expireMissing()
	}

	if changed {
		s.touch()
	}

	s.view = nil

	return s.table.complete()
}
