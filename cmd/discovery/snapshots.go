// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/seed-59268b81/talos/discovery/metrics"
	"github.com/seed-59268b81/talos/discovery/server"
)

const (
	// soon is how long after a change the file is written, at the earliest; share how many times longer than the writing took.
	soon  = 10 * time.Second
	share = 20
	// unsaved stands for the number of changes after a failure.
	unsaved = -1
)

// snapshots keep the members of a service in a file. It is written some seconds after a change, so that a service that is killed has
// forgotten little, and from time to time, because of the refreshes.
type snapshots struct {
	options options
	service *server.Server
	counted *metrics.Metrics
	log     *slog.Logger

	saved   time.Time
	took    time.Duration
	changes int64
}

func (s *snapshots) load() {
	if !s.options.snapshots {
		return
	}

	start := time.Now()
	n, err := s.service.Load(s.options.snapshot)
	s.counted.Snapshot("load", n, time.Since(start), err)

	if err != nil {
		// Machines publish themselves again.
		s.log.Warn("the snapshot is not loaded, or in part", "error", err)
	} else {
		s.log.Info("loaded the snapshot", "path", s.options.snapshot, "clusters", n.Clusters, "affiliates", n.Affiliates)
	}

	s.saved, s.changes = time.Now(), s.service.Changes()
}

func (s *snapshots) save() error {
	if !s.options.snapshots {
		return nil
	}

	changes, start := s.service.Changes(), time.Now()
	n, err := s.service.Save(s.options.snapshot)

	if err != nil {
		changes = unsaved
	}

	s.saved, s.took, s.changes = time.Now(), time.Since(start), changes
	s.counted.Snapshot("save", n, s.took, err)

	return err
}

// due reports whether to write the file.
func (s *snapshots) due(now time.Time) bool {
	old := now.Sub(s.saved)

	return old >= s.options.snapshotInterval || s.service.Changes() != s.changes && old >= max(soon, share*s.took)
}

func (s *snapshots) run(ctx context.Context) error {
	if !s.options.snapshots {
		return nil
	}

	tick := time.NewTicker(time.Second)
	defer tick.Stop()

	for {
		select {
		case <-ctx.Done():
			return nil
		case now := <-tick.C:
			if !s.due(now) {
				continue
			}

			if err := s.save(); err != nil {
				s.log.Error("the snapshot is not saved", "error", err)
			}
		}
	}
}
