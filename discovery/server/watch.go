// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"
	"strconv"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	serverapi "github.com/seed-59268b81/talos/api/discovery/server"
	"github.com/seed-59268b81/talos/discovery/extension"
	"github.com/seed-59268b81/talos/discovery/registry"
)

const (
	// maxWhole is the largest message that existing clients accept, less some room. It holds 5,000 members of usual size.
	maxWhole = 4<<20 - 4<<10

	// A cluster has settled when no member was new for quietTime. A watch does not wait longer than maxSettle for that.
	quietTime = time.Second
	maxSettle = 8 * time.Second
)

// errLost is what existing clients know: they watch again.
var errLost = status.Error(codes.Aborted, "subscription canceled: lost update")

// Watch implements the service.
func (s *Server) Watch(in *serverapi.WatchRequest, stream grpc.ServerStreamingServer[serverapi.WatchResponse]) error {
	if err := checkCluster(in.GetClusterId()); err != nil {
		return err
	}

	ctx := stream.Context()

	if err := s.admit(ctx, in.GetClusterId()); err != nil {
		return err
	}

	if addr := s.options.Trust.caller(ctx); s.options.Admit == nil && addr.IsValid() {
		leave, err := s.limiter.watch(addr)
		if err != nil {
			return err
		}
		defer leave()
	}

	c, done := s.clusters.hold(in.GetClusterId())
	defer done()

	s.watches.Add(1)
	defer s.watches.Add(-1)

	c.watch(+1)
	defer c.watch(-1)

	return quiet(ctx, s.watch(ctx, stream, c))
}

// quiet returns no error for a client that has left.
func quiet(ctx context.Context, err error) error {
	if ctx.Err() != nil || errors.Is(err, context.Canceled) || status.Code(err) == codes.Canceled {
		return nil
	}

	return err
}

func (c *cluster) watch(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()

	c.watchers += n
}

func (s *Server) watch(ctx context.Context, stream grpc.ServerStream, c *cluster) error {
	b, err := s.begin(ctx, stream, c)
	if err != nil {
		return err
	}

	for {
		for _, message := range b.Messages {
			if err := stream.SendMsg(message); err != nil {
				return err
			}
		}

		next, wake, ok := c.since(b.Sequence)

		switch {
		case !ok:
			// Ten minutes behind: a client of ours resumes, another one starts again.
			return errLost
		case len(next.Messages) > 0:
			b = next

			continue
		}

		b = next

		select {
		case <-wake:
		case <-s.closing:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (c *cluster) since(after uint64) (b registry.Batch, wake <-chan struct{}, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()

	if !c.log.Reaches(after) {
		return registry.Batch{}, nil, false
	}

	return c.log.Since(time.Now(), after), c.wake, true
}

// request is what a client of ours says about itself.
type request struct {
	ours   bool
	place  extension.Place
	digest *extension.Digest
}

func requestOf(ctx context.Context) (r request, err error) {
	md, _ := metadata.FromIncomingContext(ctx)

	resume := md.Get(extension.KeyResume)
	if len(resume) == 0 {
		return request{}, nil
	}

	r.ours = true

	if resume[0] != "" {
		if r.place, err = extension.ParsePlace(resume[0]); err != nil {
			return r, invalid(err.Error())
		}
	}

	if raw := md.Get(extension.KeyDigest); len(raw) > 0 {
		d, err := extension.DecodeDigest([]byte(raw[0]))
		if err != nil {
			return r, invalid(err.Error())
		}

		r.digest = &d
	}

	return r, nil
}

// begin returns the first messages of a watch, and sends the header that says what they are.
func (s *Server) begin(ctx context.Context, stream grpc.ServerStream, c *cluster) (registry.Batch, error) {
	r, err := requestOf(ctx)
	if err != nil {
		return registry.Batch{}, err
	}

	now := time.Now()
	c.expire(now)

	if !r.ours {
		c.mu.Lock()
		defer c.mu.Unlock()

		// Existing clients replace what they have with the first message, and add the others to it.
		return c.log.Whole(now, maxWhole), nil
	}

	if young := s.young(now); r.digest != nil && r.place.Boot != s.boot && young > 0 {
		if err := s.settle(ctx, c, r.digest.Sum); err != nil {
			return registry.Batch{}, err
		}
	}

	mode, b := c.first(s.boot, r)

	header := metadata.Pairs(extension.KeyBoot, s.boot.String(), extension.KeyMode, mode)
	if young := s.young(now); young > 0 {
		header.Set(extension.KeyYoung, strconv.Itoa(int(young/time.Second)+1))
	}

	return b, stream.SendHeader(header)
}

// first returns what a client of ours has to be told, and how.
func (c *cluster) first(boot extension.Boot, r request) (mode string, b registry.Batch) {
	c.mu.Lock()
	defer c.mu.Unlock()

	now := time.Now()
	c.present(now)

	switch {
	case r.place.Boot == boot && c.log.Reaches(r.place.Sequence):
		b = c.log.Since(now, r.place.Sequence)

		return extension.ModeResume, registry.Batch{Sequence: b.Sequence, Messages: append(b.Messages[:len(b.Messages):len(b.Messages)], end(b.Sequence))}
	case r.digest != nil && r.digest.Sum == c.log.Sum():
		return extension.ModeEqual, registry.Batch{Sequence: c.log.Sequence(), Messages: []extension.Raw{end(c.log.Sequence())}}
	case r.digest != nil:
		return extension.ModeDifference, c.log.Difference(now, *r.digest)
	default:
		return extension.ModeSnapshot, c.log.Snapshot(now)
	}
}

func end(sequence uint64) extension.Raw {
	return extension.AppendTrailer(nil, extension.Trailer{Sequence: sequence, End: true})
}

// settle waits until the members that a client has are here again, or no more come.
func (s *Server) settle(ctx context.Context, c *cluster, sum uint64) error {
	deadline := time.Now().Add(maxSettle)

	for {
		rest, wake := c.settled(time.Now(), sum)
		if rest = min(rest, time.Until(deadline)); rest <= 0 {
			return nil
		}

		timer := time.NewTimer(rest)

		select {
		case <-wake:
		case <-timer.C:
		case <-s.closing:
			timer.Stop()

			return status.Error(codes.Unavailable, "the service ends")
		case <-ctx.Done():
			timer.Stop()

			return ctx.Err()
		}

		timer.Stop()
	}
}

// settled returns how long the cluster must stay unchanged to have settled.
func (c *cluster) settled(now time.Time, sum uint64) (time.Duration, <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()

	if c.log.Sum() == sum {
		return 0, nil
	}

	return c.log.Changed().Add(quietTime).Sub(now), c.wake
}
